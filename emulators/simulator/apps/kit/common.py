"""Rows, pages and dialogs that several apps share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.view.widgets import (
    Action,
    AppBar,
    Avatar,
    Callback,
    Column,
    Dialog,
    Icon,
    IconButton,
    ListItem,
    Radio,
    Row,
    Scaffold,
    Scroll,
    Spacer,
    Switch,
    Text,
    TextField,
    Widget,
)

SIDE = 24.0
"""The margin of list content that has no icon, in dp."""


def page(
    system: System,
    title: str,
    children: Sequence[Widget],
    *,
    actions: tuple[Widget, ...] = (),
    large: bool = True,
    fab: Widget | None = None,
) -> Scaffold:
    """Return a page with a back arrow over a scrolling list."""
    return Scaffold(
        app_bar=AppBar(title=title, on_back=system.back, large=large, actions=actions),
        body=Scroll(key="content", children=(*children, Spacer(height=24)), height="fill"),
        fab=fab,
    )


def row(
    key: str,
    title: str,
    *,
    subtitle: str = "",
    icon: str = "",
    on_tap: Callback | None = None,
    enabled: bool = True,
    trailing: Widget | None = None,
) -> ListItem:
    """Return a list row with an optional plain icon."""
    return ListItem(
        key=key,
        title=title,
        subtitle=subtitle,
        leading=Icon(icon=icon) if icon else None,
        trailing=trailing,
        on_tap=on_tap,
        enabled=enabled,
    )


def round_row(key: str, title: str, *, subtitle: str, icon: str, color: str, on_tap: Callback) -> ListItem:
    """Return a list row whose icon stands on a coloured disc."""
    return ListItem(
        key=key, title=title, subtitle=subtitle, leading=Avatar(icon=icon, color=color, size=40), on_tap=on_tap
    )


def switch_row(
    key: str,
    title: str,
    checked: bool,
    on_change: Callable[[bool], None],
    *,
    subtitle: str = "",
    icon: str = "",
    enabled: bool = True,
) -> ListItem:
    """Return a list row that ends in a switch."""
    switch = Switch(key=f"{key}_switch", description=title, checked=checked, on_change=on_change, enabled=enabled)
    return row(key, title, subtitle=subtitle, icon=icon, enabled=enabled, trailing=switch)


def main_switch(key: str, title: str, checked: bool, on_change: Callable[[bool], None]) -> Widget:
    """Return the pill at the top of a Settings page that turns the whole page's feature on and off."""
    switch = Switch(key=f"{key}_switch", description=title, checked=checked, on_change=on_change)
    bar = Row(
        key=key,
        children=(Text(text=title, style="title_medium", weight=1), switch),
        padding=(24, 16, 20, 16),
        background="primary_container" if checked else "surface_container_high",
        radius=28,
        on_tap=lambda: on_change(not checked),
        width="fill",
    )
    return Column(children=(bar,), padding=(16, 8, 16, 8))


def section(title: str) -> Text:
    """Return the heading of a group of rows."""
    return Text(text=title, style="title_small", color="primary", padding=(SIDE, 20, SIDE, 8))


def note(text: str, *, icon: str = "information-outline") -> Widget:
    """Return an explanatory paragraph, as at the foot of a Settings page."""
    return Column(
        children=(Icon(icon=icon), Text(text=text, style="body_medium", color="on_surface_variant")),
        gap=16,
        align="start",
        padding=(SIDE, 20, SIDE, 20),
    )


def empty_state(icon: str, title: str, subtitle: str = "") -> Widget:
    """Return what a list shows when it has nothing to show."""
    return Column(
        children=(
            Icon(icon=icon, size=72, color="outline_variant"),
            Text(text=title, style="title_medium", color="on_surface_variant", text_align="center"),
            *((Text(text=subtitle, color="on_surface_variant", text_align="center"),) if subtitle else ()),
        ),
        gap=16,
        align="center",
        justify="center",
        width="fill",
        padding=(32, 120, 32, 32),
    )


def search_bar_title(hint: str, value: str, on_change: Callable[[str], None], on_back: Callback) -> Widget:
    """Return an app bar that holds a search field."""
    field = TextField(
        key="search_src_text", value=value, on_change=on_change, hint=hint, kind="plain", autofocus=True, weight=1
    )
    back = IconButton(key="search_back", icon="arrow-left", description="Back", on_tap=on_back)
    clear = IconButton(key="search_clear", icon="close", description="Clear search", on_tap=lambda: on_change(""))
    children: tuple[Widget, ...] = (back, field, clear) if value else (back, field)
    return Row(children=children, padding=(4, 8, 8, 8), gap=4, width="fill", height=64)


def choice_dialog(
    title: str, options: Sequence[tuple[str, str]], current: str, on_choose: Callable[[str], None], on_cancel: Callback
) -> Dialog:
    """Return a dialog of radio rows; `options` are (value, label)."""
    rows = tuple(
        Row(
            key=f"choice_{value}",
            children=(Radio(checked=value == current), Text(text=label, weight=1)),
            gap=12,
            padding=(0, 4, 0, 4),
            height=48,
            width="fill",
            on_tap=_choose(on_choose, value),
        )
        for value, label in options
    )
    return Dialog(
        title=title,
        body=Column(children=rows),
        actions=(Action(text="Cancel", on_tap=on_cancel),),
        on_dismiss=on_cancel,
    )


def _choose(on_choose: Callable[[str], None], value: str) -> Callback:
    return lambda: on_choose(value)


def confirm_dialog(title: str, message: str, *, yes: str, on_yes: Callback, on_no: Callback) -> Dialog:
    """Return a question with two buttons."""
    body = Text(text=message, style="body_medium", color="on_surface_variant") if message else None
    return Dialog(
        title=title,
        body=body,
        actions=(Action(text="Cancel", on_tap=on_no), Action(text=yes, on_tap=on_yes)),
        on_dismiss=on_no,
    )


def prompt_dialog(
    title: str,
    value: str,
    *,
    on_change: Callable[[str], None],
    on_ok: Callback,
    on_cancel: Callback,
    key: str = "edit",
    hint: str = "",
    ok: str = "OK",
    enabled: bool = True,
    password: bool = False,
) -> Dialog:
    """Return a dialog with one text field; Enter is the same as the OK button."""
    field = TextField(
        key=key,
        value=value,
        on_change=on_change,
        on_submit=on_ok if enabled else None,
        hint=hint,
        autofocus=True,
        password=password,
        width="fill",
    )
    return Dialog(
        title=title,
        body=field,
        actions=(Action(text="Cancel", on_tap=on_cancel), Action(text=ok, on_tap=on_ok, enabled=enabled)),
        on_dismiss=on_cancel,
    )


def slug(text: str) -> str:
    """Return a text as part of a resource-id: lower case, with underscores."""
    return "_".join("".join(c.lower() if c.isascii() and c.isalnum() else " " for c in text).split())


def format_size(size_bytes: int) -> str:
    """Return a file size as Android writes it (powers of 1000)."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size_bytes} B" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"
