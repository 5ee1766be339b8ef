"""What a docstring says of a function and its arguments, in Google's or reStructuredText's way."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Final

_HEADINGS: Final = {
    "args",
    "arguments",
    "parameters",
    "returns",
    "return",
    "raises",
    "yields",
    "example",
    "examples",
    "note",
}
_ARGUMENTS: Final = {"args", "arguments", "parameters"}
_GOOGLE: Final = re.compile(r"^\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)$")
_REST: Final = re.compile(r"^:param(?:\s+[\w\[\], .|]+)?\s+(\w+):\s*(.*)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    summary: str = ""
    """Everything before the first section, as one line."""
    arguments: dict[str, str] = field(default_factory=dict)


def described(thing: object) -> Described:
    """Return what a function's or class's own docstring says."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    summary: list[str] = []
    arguments: dict[str, str] = {}
    section, argument, indent = "", "", 0
    for line in text.splitlines():
        stripped = line.strip()
        heading = stripped.removesuffix(":").casefold()
        if stripped.endswith(":") and heading in _HEADINGS and not line.startswith(" "):
            section, argument = heading, ""
        elif rest := _REST.match(stripped):
            section, argument = "args", rest[1]
            arguments[argument], indent = rest[2], 0
        elif stripped.startswith(":") and line == stripped and stripped.count(":") > 1:
            section, argument = "returns", ""
        elif not section:
            summary.append(stripped)
        elif section in _ARGUMENTS and stripped:
            depth = len(line) - len(line.lstrip())
            found = _GOOGLE.match(stripped) if not argument or depth <= indent else None
            if found:
                argument, indent = found[1], depth
                arguments[argument] = found[2]
            elif argument:
                arguments[argument] = f"{arguments[argument]} {stripped}".strip()
    return Described(summary=" ".join(" ".join(summary).split()), arguments=arguments)
