"""Options of commands that several commands share, or that a file can give, as the fields of a dataclass."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any


def takes_options(function: Callable[..., None]) -> Callable[..., None]:
    """Make a Typer command of a function: for a parameter that is a dataclass, its fields become options."""
    hints = typing.get_type_hints(function, include_extras=True)
    kinds: dict[str, type] = {}
    parameters = []
    for each in inspect.signature(function).parameters.values():
        kind = hints[each.name]
        if is_dataclass(kind):
            kinds[each.name] = typing.cast("type", kind)
            fields_hints = typing.get_type_hints(kind, include_extras=True)
            named = [(field.name, field.default, fields_hints[field.name]) for field in fields(kind)]
        else:
            named = [(each.name, each.default, kind)]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
            for name, default, hint in named
        ]

    def run(**values: Any) -> None:
        made = {
            name: kind(**{field.name: values.pop(field.name) for field in fields(kind)}) for name, kind in kinds.items()
        }
        function(**values, **made)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run
