"""Shell patterns (`*`, `?`, `[...]`) for texts and file names. Time is at most quadratic, whatever the pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rlfactory.emulators.simulator.machine.filesystem import FileTree

Piece = tuple[str, bool]
"""(text, quoted): quoted characters stand for themselves."""

_CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
    "punct": lambda char: char.isprintable() and not char.isalnum() and not char.isspace(),
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
    "blank": lambda char: char in " \t",
}

_Matcher = Callable[[str], bool]


class Pattern:
    """A compiled pattern."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        chars = [(char, quoted) for text, quoted in pieces for char in text]
        self._tokens: list[str | _Matcher | None] = []
        """A character, a test of one character, or None for `*`."""
        position = 0
        while position < len(chars):
            char, quoted = chars[position]
            position += 1
            if quoted or char not in "*?[":
                self._tokens.append(char)
            elif char == "*":
                if not self._tokens or self._tokens[-1] is not None:
                    self._tokens.append(None)
            elif char == "?":
                self._tokens.append(lambda _: True)
            else:
                bracket = _bracket(chars, position)
                if bracket is None:
                    self._tokens.append("[")
                else:
                    matcher, position = bracket
                    self._tokens.append(matcher)

    @property
    def first(self) -> str:
        """The character that a match has to begin with, "" if any will do."""
        return self._tokens[0] if self._tokens and isinstance(self._tokens[0], str) else ""

    def matches(self, text: str) -> bool:
        tokens = self._tokens
        at = index = 0
        star, retry = -1, 0
        while at < len(text):
            token = tokens[index] if index < len(tokens) else ""
            if token is None:
                star, retry = index, at
                index += 1
            elif index < len(tokens) and (token == text[at] if isinstance(token, str) else token(text[at])):
                index += 1
                at += 1
            elif star >= 0:
                retry += 1
                index, at = star + 1, retry
            else:
                return False
        while index < len(tokens) and tokens[index] is None:
            index += 1
        return index == len(tokens)


def has_magic(pieces: Sequence[Piece]) -> bool:
    """Tell whether anything in the word is special to file name expansion."""
    return any(not quoted and not {"*", "?", "["}.isdisjoint(text) for text, quoted in pieces)


def expand_files(pieces: Sequence[Piece], files: FileTree, cwd: str, limit: int) -> list[str]:
    """Return the names that a word with magic stands for, sorted; none if nothing matches."""
    text = "".join(piece for piece, _ in pieces)
    found = ["/"] if text.startswith("/") else [""]
    segments = _segments(pieces)
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        extended: list[str] = []
        for prefix in found:
            extended += _expand_segment(prefix, segment, files, cwd, last=last)
            if len(extended) > limit:
                break
        found = extended[:limit]
    if text.endswith("/"):
        found = [name + "/" for name in found if files.is_dir(files.resolve(name, cwd))]
    return sorted(found)


def _expand_segment(prefix: str, segment: list[Piece], files: FileTree, cwd: str, *, last: bool) -> list[str]:
    folder = files.resolve(prefix or ".", cwd)
    suffix = "" if last else "/"
    if not has_magic(segment):
        name = "".join(text for text, _ in segment)
        at = files.resolve(prefix + name, cwd)
        exists = files.exists(at) if last else files.is_dir(at)
        return [prefix + name + suffix] if exists else []
    if not files.is_dir(folder):
        return []
    pattern = Pattern(segment)
    names = [name for name in files.list(folder) if pattern.matches(name)]
    if pattern.first != ".":
        names = [name for name in names if not name.startswith(".")]
    return [prefix + name + suffix for name in names if last or files.is_dir(files.resolve(prefix + name, cwd))]


def _segments(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Split at slashes; runs of slashes count once."""
    segments: list[list[Piece]] = [[]]
    for text, quoted in pieces:
        first, *others = text.split("/")
        if first:
            segments[-1].append((first, quoted))
        for part in others:
            segments.append([(part, quoted)] if part else [])
    return [segment for segment in segments if segment]


def _bracket(chars: Sequence[tuple[str, bool]], start: int) -> tuple[_Matcher, int] | None:
    """Compile `[...]` whose opening bracket stands before `start`; None if it is not closed."""
    position = start
    negated = position < len(chars) and chars[position] in {("!", False), ("^", False)}
    position += negated
    singles: set[str] = set()
    ranges: list[tuple[str, str]] = []
    classes: list[_Matcher] = []
    first = True
    while position < len(chars):
        char, quoted = chars[position]
        if char == "]" and not quoted and not first:
            break
        first = False
        named = _named_class(chars, position)
        if named:
            classes.append(named[0])
            position = named[1]
        elif position + 2 < len(chars) and chars[position + 1] == ("-", False) and chars[position + 2] != ("]", False):
            ranges.append((char, chars[position + 2][0]))
            position += 3
        else:
            singles.add(char)
            position += 1
    else:
        return None

    def matches(char: str) -> bool:
        hit = char in singles or any(low <= char <= high for low, high in ranges) or any(c(char) for c in classes)
        return hit != negated

    return matches, position + 1


def _named_class(chars: Sequence[tuple[str, bool]], position: int) -> tuple[_Matcher, int] | None:
    """Read `[:name:]`."""
    text = "".join(char for char, _ in chars[position : position + 12])
    if not text.startswith("[:"):
        return None
    name, closed, _ = text[2:].partition(":]")
    if not closed or name not in _CLASSES:
        return None
    return _CLASSES[name], position + len(name) + 4
