"""The syntax tree of a command line."""

from __future__ import annotations

from dataclasses import dataclass


class ShellSyntaxError(ValueError):
    """The text is no command line; the message is what the shell prints."""


# --- words ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name`, `${name}` or `${name<operator><argument>}`; operator "#name" is the length."""

    name: str
    operator: str
    argument: Word | None
    quoted: bool


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(script)` or backquotes."""

    script: Script
    quoted: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((expression))`."""

    expression: Word
    quoted: bool


Part = Text | Parameter | Substitution | Arithmetic


@dataclass(frozen=True, slots=True)
class Word:
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


@dataclass(frozen=True, slots=True)
class Simple:
    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class If:
    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script


@dataclass(frozen=True, slots=True)
class For:
    name: str
    words: tuple[Word, ...] | None
    """None: the positional parameters."""
    body: Script


@dataclass(frozen=True, slots=True)
class While:
    condition: Script
    body: Script
    until: bool


@dataclass(frozen=True, slots=True)
class Case:
    subject: Word
    branches: tuple[tuple[tuple[Word, ...], Script], ...]


@dataclass(frozen=True, slots=True)
class Subshell:
    body: Script


@dataclass(frozen=True, slots=True)
class Group:
    body: Script


Body = If | For | While | Case | Subshell | Group


@dataclass(frozen=True, slots=True)
class Compound:
    body: Body
    redirects: tuple[Redirect, ...]


Command = Simple | Compound


@dataclass(frozen=True, slots=True)
class Pipeline:
    commands: tuple[Command, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines joined by && and ||, from left to right."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...]
    background: bool


Script = tuple[AndOr, ...]
