"""Reading a call's arguments with words a model can act on."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TypeGuard

from rlfactory.envs.api.types import JSON, ToolSchema
from rlfactory.envs.tools.tool import Rejected

Arguments = Mapping[str, JSON]


def object_schema(
    name: str, description: str, properties: Mapping[str, JSON], *, required: Sequence[str] | None = None
) -> ToolSchema:
    """Return the schema of a tool that takes these arguments and no others; with `required`, these it must have."""
    needed: dict[str, JSON] = {} if required is None else {"required": list(required)}
    return ToolSchema(
        name=name,
        description=description,
        parameters={"type": "object", "properties": dict(properties), **needed, "additionalProperties": False},
    )


def refuse_unknown(arguments: Arguments, known: Collection[str]) -> None:
    """Raises: Rejected: an argument has a name that the tool does not know."""
    unknown = sorted(arguments.keys() - set(known))
    if unknown:
        raise Rejected(f"unknown argument {', '.join(map(repr, unknown))}; known: {', '.join(sorted(known))}")


def read_choice(arguments: Arguments, name: str, choices: Collection[str], default: str | None = None) -> str:
    """Return one of the choices. Raises: Rejected: missing without a default, or none of them."""
    value = arguments.get(name, default)
    if value is None:
        raise Rejected(f"{name!r} is missing; choose one of {', '.join(choices)}")
    if not isinstance(value, str) or value not in choices:
        raise Rejected(f"{name!r} is {_shown(value)}; choose one of {', '.join(choices)}")
    return value


def read_text(arguments: Arguments, name: str, *, max_chars: int, default: str | None = None) -> str:
    """Return a string. Raises: Rejected: missing without a default, not a string, or too long."""
    value = arguments.get(name, default)
    if value is None:
        raise Rejected(f"{name!r} is missing; it must be a string")
    if not isinstance(value, str):
        raise Rejected(f"{name!r} is {_shown(value)}; it must be a string")
    if len(value) > max_chars:
        raise Rejected(f"{name!r} has {len(value)} characters; at most {max_chars} are allowed")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise Rejected(f"{name!r} holds half a surrogate pair, which is no character")
    return value


def read_seconds(arguments: Arguments, name: str, *, default: float, maximum: float) -> float:
    """Return a duration. Raises: Rejected: not a number within 0..maximum."""
    value = arguments.get(name, default)
    if not _is_number(value) or not 0 <= value <= maximum:
        raise Rejected(f"{name!r} is {_shown(value)}; it must be a number from 0 to {maximum:g} (seconds)")
    return float(value)


def read_point(arguments: Arguments, name: str, sides: tuple[int, int]) -> tuple[float, float]:
    """Return [x, y] with 0 <= x < sides[0] and 0 <= y < sides[1].

    Raises: Rejected: missing, not two numbers, or off the screen.
    """
    value = arguments.get(name)
    if value is None:
        raise Rejected(f"{name!r} is missing; it must be [x, y]")
    if not isinstance(value, list) or len(value) != 2:
        raise Rejected(f"{name!r} is {_shown(value)}; it must be [x, y]")
    x, y = value
    if not (_is_number(x) and _is_number(y)):
        raise Rejected(f"{name!r} is {_shown(value)}; x and y must be numbers")
    if not (0 <= x < sides[0] and 0 <= y < sides[1]):
        raise Rejected(
            f"{name!r} is {_shown(value)}, which is off the screen: x goes from 0 to {sides[0] - 1}, "
            f"y from 0 to {sides[1] - 1}"
        )
    return float(x), float(y)


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
