"""How text is entered: cut into pieces that `input text` can take, pieces that it cannot, and Enter keys. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keystrokes:
    """Printable ASCII that Android's `input text` enters as it stands."""

    text: str

    @property
    def command(self) -> str:
        """The shell command; `input` reads `%s` as a blank."""
        return f"input text {shlex.quote(self.text.replace(' ', '%s'))}"


@dataclass(frozen=True, slots=True)
class Paste:
    """Text that `input text` cannot enter: beyond ASCII, or with a literal `%s`."""

    text: str


@dataclass(frozen=True, slots=True)
class Enter:
    """The Enter key."""


def plan_typing(text: str) -> tuple[Keystrokes | Paste | Enter, ...]:
    """Return the pieces of `text` in order; newlines become Enter, other control characters are left out."""
    pieces: list[Keystrokes | Paste | Enter] = []
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")):
        if number:
            pieces.append(Enter())
        printable = "".join(character for character in line if character.isprintable())
        if printable:
            plain = printable.isascii() and "%s" not in printable
            pieces.append(Keystrokes(printable) if plain else Paste(printable))
    return tuple(pieces)
