"""Callbacks that write fields: a screen is a value, so most events do nothing but change what it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlfactory.emulators.simulator.view import widgets as ui


def setter(target: object, **values: Any) -> ui.Callback:
    """Return a callback that writes these fields of `target`, which it has to have."""

    def write() -> None:
        for name, value in values.items():
            assert hasattr(target, name), f"{type(target).__name__} has no field {name}"
            setattr(target, name, value)

    return write


def writer(target: object, name: str) -> Callable[[Any], None]:
    """Return a callback that writes its argument to one field of `target`: what a text field or a tab bar calls."""
    return lambda value: setter(target, **{name: value})()
