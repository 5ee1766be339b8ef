"""A screen in another language: widgets whose fixed texts are replaced. What somebody typed or named stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

from rlfactory.emulators.simulator.view.widgets import Value

SAID: Final = frozenset({"text", "title", "subtitle", "hint", "label", "description"})
"""Fields of widgets that people read; the value of a text field is not among them."""
T = TypeVar("T")


def translated(value: T, words: Mapping[str, str]) -> T:
    """Return a widget, or a tuple of them, with the texts that `words` knows replaced; itself if it has none."""
    return _translated(value, words)  # type: ignore[no-any-return]


def _translated(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, tuple):
        parts = tuple(_translated(part, words) for part in value)
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    if not isinstance(value, Value):
        return value
    changes = {}
    for field in fields(value):  # type: ignore[arg-type]
        old = getattr(value, field.name)
        new = words.get(old, old) if field.name in SAID and isinstance(old, str) else _translated(old, words)
        if new is not old:
            changes[field.name] = new
    return replace(value, **changes) if changes else value  # type: ignore[type-var]
