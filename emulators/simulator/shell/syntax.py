"""The syntax tree of a command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class ShellSyntaxError(ValueError):
    """The text is no command line; the message is what the shell prints."""


# --- words ---------------------------------------------------------------------------------------------------------


class Text(NamedTuple):
    text: str
    quoted: bool


class Parameter(NamedTuple):
    """`$name`, `${name}` or `${name<operator><argument>}`; operator "#name" is the length."""

    name: str
    operator: str
    argument: Word | None
    quoted: bool


class Substitution(NamedTuple):
    """`$(script)` or backquotes."""

    script: Script
    quoted: bool


class Arithmetic(NamedTuple):
    """`$((expression))`."""

    expression: Word
    quoted: bool


Part = Text | Parameter | Substitution | Arithmetic


class Word(NamedTuple):
    parts: tuple[Part, ...]

    def literal(self) -> str | None:
        """Return the text if the word is one unquoted piece of it (a possible reserved word)."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text) and not self.parts[0].quoted:
            return self.parts[0].text
        return None


# --- commands ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Redirect:
    """`[fd]<operator>target`; for a here-document the target is its body, filled in when it is read."""

    fd: int
    operator: str
    target: Word


class Simple(NamedTuple):
    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


class If(NamedTuple):
    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script


class For(NamedTuple):
    name: str
    words: tuple[Word, ...] | None
    """None: the positional parameters."""
    body: Script


class While(NamedTuple):
    condition: Script
    body: Script
    until: bool


class Case(NamedTuple):
    subject: Word
    branches: tuple[tuple[tuple[Word, ...], Script], ...]


class Subshell(NamedTuple):
    body: Script


class Group(NamedTuple):
    body: Script


Body = If | For | While | Case | Subshell | Group


class Compound(NamedTuple):
    body: Body
    redirects: tuple[Redirect, ...]


Command = Simple | Compound


class Pipeline(NamedTuple):
    commands: tuple[Command, ...]
    negated: bool


class AndOr(NamedTuple):
    """Pipelines joined by && and ||, from left to right."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...]
    background: bool


Script = tuple[AndOr, ...]
