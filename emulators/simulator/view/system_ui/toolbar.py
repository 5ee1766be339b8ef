"""The actions that float over selected text: cut, copy, paste."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rlfactory.emulators.simulator.view import editing
from rlfactory.emulators.simulator.view.widgets import Button, Row, Text, TextField, Widget

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone


def text_toolbar(phone: Phone, field: Widget) -> Widget:
    """Return the actions on selected text."""
    has_text = isinstance(field, TextField) and bool(field.value)
    actions: list[tuple[str, Callable[[Phone], None]]] = []
    if has_text:
        actions += [("Cut", lambda p: editing.copy(p, cut=True)), ("Copy", editing.copy)]
    if phone.state.clipboard:
        actions.append(("Paste", editing.paste))
    if has_text:
        actions.append(("Select all", editing.open_toolbar))
    items = tuple(
        Button(text=text, kind="text", on_tap=lambda action=action: action(phone), min_height=44)  # type: ignore[misc]
        for text, action in actions
    )
    shown = items or (Text(text="Nothing to paste", style="body_medium", padding=(16, 12, 16, 12)),)
    return Row(
        key="floating_toolbar",
        children=shown,
        background="surface_container_lowest",
        radius=22,
        elevation=3,
        padding=(4, 0, 4, 0),
    )
