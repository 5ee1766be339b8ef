"""POSIX regular expressions (basic and extended) as Python's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_MAX_CHARS: Final = 2048
_CLASSES: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
    "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e",
    "graph": r"\x21-\x7e",
}


class BadPatternError(ValueError):
    """Not a regular expression."""


@lru_cache(maxsize=128)
def compiled(pattern: str, *, extended: bool, ignore_case: bool = False) -> re.Pattern[str]:
    """Compile a POSIX pattern. Raises: BadPatternError."""
    if len(pattern) > _MAX_CHARS:
        raise BadPatternError(f"pattern longer than {_MAX_CHARS} characters")
    try:
        return re.compile(_translated(pattern, extended=extended), re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPatternError(f"bad regex '{pattern}': {error}") from None


def _translated(pattern: str, *, extended: bool) -> str:
    out: list[str] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        following = pattern[position + 1 : position + 2]
        if char == "[":
            text, position = _bracket(pattern, position)
            out.append(text)
            continue
        if char == "\\":
            out.append(_escaped(following, extended=extended))
            position += 2
            continue
        position += 1
        out.append(_plain(char, pattern, position - 1, extended=extended))
    return "".join(out)


def _escaped(following: str, *, extended: bool) -> str:
    if not following:
        return r"\\"
    if following in "wWsSbB" or following.isdigit():
        return "\\" + following
    if following in "<>":
        return r"\b"
    if following in {"n", "t"}:
        return "\\" + following
    if not extended and following in "(){}+?|":
        return following
    return re.escape(following)


def _plain(char: str, pattern: str, at: int, *, extended: bool) -> str:
    if extended:
        starts = at == 0 or pattern[at - 1] in "(|"
        if char in "*+?" and starts:
            return re.escape(char)
        if char == "{" and not re.match(r"\{\d*(,\d*)?\}", pattern[at:]):
            return r"\{"
        return char if char in ".*+?()|{}^$" else re.escape(char)
    starts = at == 0 or pattern[max(0, at - 2) : at] in {"\\(", "\\|"}
    ends = at == len(pattern) - 1 or pattern[at + 1 : at + 3] in {"\\)", "\\|"}
    literal = {"*": starts or pattern[:at] == "^", "^": not starts, "$": not ends, ".": False}.get(char, True)
    return re.escape(char) if literal else char


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    """Translate `[...]`; returns the text and the position after it."""
    position = start + 1
    negated = pattern[position : position + 1] == "^"
    position += negated
    parts: list[str] = []
    first = True
    while position < len(pattern):
        char = pattern[position]
        if char == "]" and not first:
            return f"[{'^' if negated else ''}{''.join(parts)}]", position + 1
        first = False
        if pattern.startswith("[:", position):
            end = pattern.find(":]", position)
            name = pattern[position + 2 : end] if end > 0 else ""
            if name not in _CLASSES:
                raise BadPatternError(f"bad regex '{pattern}': unknown class")
            parts.append(_CLASSES[name])
            position = end + 2
            continue
        parts.append("\\" + char if char in "\\[]^&~|" else char)
        position += 1
    raise BadPatternError(f"bad regex '{pattern}': missing ]")
