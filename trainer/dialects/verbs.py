"""A family's actions as a table: every verb beside what it is to the session, read and written by the same row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rlfactory.envs.api.types import JSON
from rlfactory.trainer.dialects.dialect import ParseError, Unrenderable

PHONE, FINISH = "phone", "finish"
REQUIRED: Final = object()


class Unfit(Exception):
    """The value is not of the kind that the argument takes."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What values an argument takes. Both ways raise `Unfit` for a value that is none of them."""

    hint: str
    """What a message about a wrong value ends with: an example, or the choice there is."""
    read: Callable[[Any], Any]
    """From the family's value to the session's."""
    write: Callable[[Any], Any]


def same(like: str, fits: Callable[[Any], bool]) -> Kind:
    """Return a kind whose values the family and the session write alike."""

    def checked(value: Any) -> Any:
        if not fits(value):
            raise Unfit
        return value

    return Kind(f", as in {like}" if like else "", checked, checked)


def choice(session_of: Mapping[str, str]) -> Kind:
    """Return a kind of so many words, each with the session's word for it."""

    def looked_up(table: Mapping[str, str]) -> Callable[[Any], str]:
        def find(value: Any) -> str:
            if not isinstance(value, str) or value not in table:
                raise Unfit
            return table[value]

        return find

    back = {word: name for name, word in session_of.items()}
    return Kind(f"; choose one of {', '.join(session_of)}", looked_up(session_of), looked_up(back))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _point(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(_number, value))


ANYTHING: Final = same("", lambda _: True)
TEXT: Final = same('"a text"', lambda value: isinstance(value, str))
WORDS: Final = same('"words"', lambda value: isinstance(value, str) and value != "")
NUMBER: Final = same("a number", _number)
POINT: Final = same("[x,y]", _point)
DIRECTION: Final = choice({each: each for each in ("up", "down", "left", "right")})
SWIPED: Final = choice({"up": "down", "down": "up", "left": "right", "right": "left"})
"""A swipe names where the finger goes, the session's scroll what is to be seen."""
DISTANCE: Final = choice({each: each for each in ("short", "medium", "long")})


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a verb."""

    key: str
    """The family's name for it."""
    of: str
    """The session's."""
    kind: Kind = ANYTHING
    default: Any = REQUIRED
    """The session's value where the argument is left out; None: the session is told nothing of it."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One action of a family."""

    name: str
    tool: str
    fixed: Mapping[str, JSON]
    """What the verb tells the session by itself."""
    accepted: tuple[Argument, ...]

    def takes(self, values: Mapping[str, Any]) -> bool:
        return all(argument.key in values for argument in self.accepted if argument.default is REQUIRED)

    def read(self, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        arguments: dict[str, Any] = dict(self.fixed)
        for argument in self.accepted:
            if argument.key not in values and argument.default is not REQUIRED:
                arguments |= {} if argument.default is None else {argument.of: argument.default}
                continue
            try:
                arguments[argument.of] = argument.kind.read(values[argument.key])
            except (Unfit, KeyError):
                raise ParseError(f"{self.name} needs {argument.key!r}{argument.kind.hint}") from None
        if self.tool == FINISH and not arguments.get("answer"):
            arguments.pop("answer", None)
        return self.tool, arguments

    def write(self, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Raises: Unfit: the verb cannot say this."""
        left = dict(arguments)
        if any(left.pop(key, None) != value for key, value in self.fixed.items()):
            raise Unfit
        written: dict[str, Any] = {}
        for argument in self.accepted:
            value = left.pop(argument.of, argument.default)
            if value is REQUIRED:
                raise Unfit
            if value is not None:
                written[argument.key] = argument.kind.write(value)
        if left:
            raise Unfit
        return written


def act(name: str, action: str, *accepted: Argument, **fixed: JSON) -> Verb:
    """Return a verb for an action of the phone."""
    return Verb(name, PHONE, {"action": action, **fixed}, accepted)


def end(name: str, *accepted: Argument, **fixed: JSON) -> Verb:
    """Return a verb that ends the episode."""
    return Verb(name, FINISH, fixed, accepted)


class Verbs:
    """The verbs of one family. Of two that say a call, the first does. In reading, further arguments are no mistake."""

    def __init__(self, *verbs: Verb) -> None:
        self._verbs = verbs
        self.names = tuple(dict.fromkeys(verb.name for verb in verbs))

    def keys(self, name: str) -> Sequence[str]:
        """Return what the first verb of this name takes, in order. Raises: ParseError: there is none."""
        return [argument.key for argument in self._named(name)[0].accepted]

    def read(self, name: object, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the session's tool and its arguments. Raises: ParseError: an unknown verb, or a wrong value."""
        named = self._named(name)
        return next((verb for verb in named if verb.takes(values)), named[0]).read(values)

    def write(self, tool: str, arguments: Mapping[str, JSON]) -> tuple[str, dict[str, Any]]:
        """Return the verb and its values for a call of the session. Raises: Unrenderable: none can say it."""
        if tool == FINISH:
            arguments = {"status": "success", **{key: value for key, value in arguments.items() if value != ""}}
        for verb in self._verbs:
            if verb.tool == tool:
                try:
                    return verb.name, verb.write(arguments)
                except Unfit:
                    continue
        raise Unrenderable(f"none of {', '.join(self.names)} says {tool}({dict(arguments)})")

    def _named(self, name: object) -> list[Verb]:
        found = [verb for verb in self._verbs if verb.name == name]
        if not found:
            raise ParseError(f"no action {name!r}; choose one of {', '.join(self.names)}")
        return found
