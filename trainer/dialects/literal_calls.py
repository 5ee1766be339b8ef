"""Calls written like Python's, `name(1, "text", key=[2, 3])`, with literals only. Nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlfactory.trainer.dialects.dialect import ParseError

Literal = str | int | float | list["Literal"]

MAX_DEPTH: Final = 4
_NAME: Final = re.compile(r"\s*([A-Za-z_]\w*)")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"' r"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPED: Final[Mapping[str, str]] = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN: Final[Mapping[str, str]] = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}


@dataclass(frozen=True, slots=True)
class LiteralCall:
    """A call as it was written."""

    name: str
    positional: tuple[Literal, ...]
    named: Mapping[str, Literal]


def write_literal(value: Literal, *, quote: str) -> str:
    """Return a value as it stands in a call."""
    if isinstance(value, list):
        return f"[{','.join(write_literal(each, quote=quote) for each in value)}]"
    if not isinstance(value, str):
        return str(value)
    inner = "".join(_ESCAPED.get(char, char) for char in value).replace(quote, f"\\{quote}")
    return f"{quote}{inner}{quote}"


def read_call(text: str) -> LiteralCall:
    """Return the call that the text is. Raises: ParseError: it is none, or something follows it."""
    reader = _Reader(text)
    call = reader.call()
    if rest := text[reader.at :].strip():
        raise ParseError(f"nothing may follow the action, but {rest[:30]!r} does")
    return call


class _Reader:
    """Reads from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def call(self) -> LiteralCall:
        name = _NAME.match(self.text)
        if name is None:
            raise ParseError(f"an action is name(..), not {self.text.strip()[:30]!r}")
        self.at = name.end()
        self._expect("(")
        positional: list[Literal] = []
        named: dict[str, Literal] = {}
        while not self._take(")"):
            if positional or named:
                self._expect(",")
            key = _NAME.match(self.text, self.at)
            if key is None:
                positional.append(self._value(MAX_DEPTH))
                continue
            self.at = key.end()
            self._expect("=")
            named[key[1]] = self._value(MAX_DEPTH)
        return LiteralCall(name[1], tuple(positional), named)

    def _value(self, depth: int) -> Literal:
        self._skip()
        if found := _STRING.match(self.text, self.at):
            self.at = found.end()
            inner = found[1] if found[1] is not None else found[2]
            return re.sub(r"\\(.)", lambda escape: _PLAIN.get(escape[1], escape[0]), inner, flags=re.DOTALL)
        if found := _NUMBER.match(self.text, self.at):
            self.at = found.end()
            return _number(found[0])
        if depth and self._take("["):
            values: list[Literal] = []
            while not self._take("]"):
                if values:
                    self._expect(",")
                values.append(self._value(depth - 1))
            return values
        raise ParseError(f"expected a text in quotes, a number or a list at {self.text[self.at : self.at + 30]!r}")

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _take(self, mark: str) -> bool:
        self._skip()
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            raise ParseError(f"expected {mark!r} at {self.text[self.at : self.at + 30]!r}")


def _number(text: str) -> int | float:
    if len(text) > 300:
        raise ParseError("a number is too long")
    return float(text) if "." in text else int(text)
