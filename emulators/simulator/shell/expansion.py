"""Words -> arguments: parameters, substitutions, field splitting, file names, quote removal (POSIX 2.6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.shell.arithmetic import evaluate
from rlfactory.emulators.simulator.shell.patterns import Pattern, Piece, expand_files, has_magic
from rlfactory.emulators.simulator.shell.streams import ShellLimitError
from rlfactory.emulators.simulator.shell.syntax import Arithmetic, Parameter, Part, Substitution, Text, Word

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.shell.interpreter import Shell

MAX_FIELDS: Final = 65_536
_MAX_TRIMMED_CHARS: Final = 16_384
_BLANKS: Final = " \t\n"


class ExpansionError(ValueError):
    """An expansion that ends the command line, such as `${name?message}`."""


def expand_words(shell: Shell, words: tuple[Word, ...]) -> list[str]:
    """Return the arguments that words stand for."""
    arguments: list[str] = []
    for word in words:
        literal = word.literal()
        if literal is not None and literal[0] != "~" and not {"*", "?", "["} & set(literal):
            arguments.append(literal)
            continue
        for field in _fields(shell, word):
            if has_magic(field):
                matches = expand_files(field, shell.files, shell.cwd, MAX_FIELDS)
                arguments += matches or [_text(field)]
            else:
                arguments.append(_text(field))
        if len(arguments) > MAX_FIELDS:
            raise ShellLimitError(f"stopped: more than {MAX_FIELDS} arguments")
    return arguments


def expand_text(shell: Shell, word: Word) -> str:
    """Return a word's text without field splitting or file names (assignments, redirections, here-documents)."""
    return _text(_pieces(shell, word))


def expand_pattern(shell: Shell, word: Word) -> Pattern:
    return Pattern(_pieces(shell, word))


def _text(pieces: list[Piece]) -> str:
    return "".join(text for text, _ in pieces)


def _pieces(shell: Shell, word: Word) -> list[Piece]:
    pieces: list[Piece] = []
    for number, part in enumerate(word.parts):
        if isinstance(part, Text):
            pieces.append((_tilde(shell, part, number), part.quoted))
        elif isinstance(part, Parameter) and part.name in {"@", "*"} and not part.operator:
            pieces.append((" ".join(shell.positional), part.quoted))
        else:
            pieces.append((_value(shell, part), part.quoted))
    return pieces


def _tilde(shell: Shell, part: Text, number: int) -> str:
    if number == 0 and not part.quoted and (part.text == "~" or part.text.startswith("~/")):
        return shell.variables.get("HOME", "/") + part.text[1:]
    return part.text


class _Splitter:
    """Builds fields from pieces; unquoted expansions are split at IFS."""

    def __init__(self, separators: str) -> None:
        self.fields: list[list[Piece]] = []
        self._current: list[Piece] | None = None
        self._blanks = "".join(char for char in separators if char in _BLANKS)
        self._others = "".join(char for char in separators if char not in _BLANKS)

    def add(self, text: str, *, quoted: bool) -> None:
        if self._current is None:
            self._current = []
        self._current.append((text, quoted))

    def end_field(self) -> None:
        if self._current is not None:
            self.fields.append(self._current)
            self._current = None

    def split(self, text: str) -> None:
        """Add the result of an unquoted expansion."""
        blank, other = re.escape(self._blanks), re.escape(self._others)
        if not blank and not other:
            if text:
                self.add(text, quoted=False)
            return
        space = f"[{blank}]" if blank else "(?!)"
        separator = re.compile(f"{space}*[{other}]{space}*|{space}+" if other else f"{space}+")
        position = 0
        for match in separator.finditer(text):
            if match.start() > position:
                self.add(text[position : match.start()], quoted=False)
            visible = bool(match.group().strip(self._blanks)) if self._blanks else True
            if visible and self._current is None:
                self.add("", quoted=False)
            self.end_field()
            position = match.end()
        if position < len(text):
            self.add(text[position:], quoted=False)


def _fields(shell: Shell, word: Word) -> list[list[Piece]]:
    splitter = _Splitter(shell.variables.get("IFS", _BLANKS))
    _add_parts(shell, word, splitter, quoted_context=False)
    splitter.end_field()
    return splitter.fields


def _add_parts(shell: Shell, word: Word, splitter: _Splitter, *, quoted_context: bool) -> None:
    all_parameters = any(isinstance(part, Parameter) and part.name == "@" and part.quoted for part in word.parts)
    for number, part in enumerate(word.parts):
        if isinstance(part, Text):
            # "$@" without parameters is no field at all, not an empty one.
            if not (all_parameters and not part.text and part.quoted):
                splitter.add(_tilde(shell, part, number), quoted=part.quoted or quoted_context)
        elif isinstance(part, Parameter) and part.name in {"@", "*"} and not part.operator:
            _add_positional(shell, part, splitter)
        elif isinstance(part, Parameter) and not part.quoted and part.operator and _uses_argument(shell, part):
            assert part.argument is not None
            _assign_default(shell, part)
            for piece in part.argument.parts:
                if isinstance(piece, Text) and not piece.quoted:
                    splitter.split(piece.text)
                else:
                    _add_parts(shell, Word((piece,)), splitter, quoted_context=False)
        elif part.quoted:
            splitter.add(_value(shell, part), quoted=True)
        else:
            splitter.split(_value(shell, part))


def _add_positional(shell: Shell, part: Parameter, splitter: _Splitter) -> None:
    if part.quoted and part.name == "*":
        separators = shell.variables.get("IFS", _BLANKS)
        splitter.add(separators[:1].join(shell.positional), quoted=True)
        return
    for number, value in enumerate(shell.positional):
        if number:
            splitter.end_field()
        if part.quoted:
            splitter.add(value, quoted=True)
        else:
            splitter.split(value)


# --- values --------------------------------------------------------------------------------------------------------


def _value(shell: Shell, part: Part) -> str:
    match part:
        case Text():
            return part.text
        case Substitution():
            output = shell.capture(part.script)
            return output.replace(b"\0", b"").decode("utf-8", "surrogateescape").rstrip("\n")
        case Arithmetic():
            return str(evaluate(expand_text(shell, part.expression), lambda name: shell.parameter(name) or ""))
        case Parameter():
            return _parameter(shell, part)


def _uses_argument(shell: Shell, part: Parameter) -> bool:
    """Tell whether `${name<operator>word}` stands for the word."""
    value = shell.parameter(part.name)
    missing = value is None or (part.operator.startswith(":") and not value)
    return missing if part.operator[-1] in "-=" else (part.operator[-1] == "+" and not missing)


def _assign_default(shell: Shell, part: Parameter) -> None:
    if part.operator[-1] == "=":
        assert part.argument is not None
        shell.assign(part.name, expand_text(shell, part.argument))


def _parameter(shell: Shell, part: Parameter) -> str:
    value = " ".join(shell.positional) if part.name in {"@", "*"} else shell.parameter(part.name)
    if value is None and shell.options.nounset and (part.argument is None or part.operator[-1] in "#%"):
        raise ExpansionError(f"{part.name}: parameter not set")
    if part.operator == "length":
        return str(len(value or ""))
    if not part.operator:
        return value or ""
    assert part.argument is not None
    match part.operator[-1]:
        case "-" | "=" | "+":
            if _uses_argument(shell, part):
                _assign_default(shell, part)
                return expand_text(shell, part.argument)
            return "" if part.operator[-1] == "+" else (value or "")
        case "?":
            if value is None or (part.operator == ":?" and not value):
                message = expand_text(shell, part.argument) or "parameter null or not set"
                raise ExpansionError(f"{part.name}: {message}")
            return value
        case _:
            return _trimmed(value or "", expand_pattern(shell, part.argument), part.operator)


def _trimmed(value: str, pattern: Pattern, operator: str) -> str:
    """Remove the shortest (#, %) or longest (##, %%) matching end."""
    if len(value) > _MAX_TRIMMED_CHARS:
        raise ShellLimitError(f"stopped: ${{..{operator}..}} on more than {_MAX_TRIMMED_CHARS} characters")
    lengths = range(len(value) + 1) if len(operator) == 1 else range(len(value), -1, -1)
    for length in lengths:
        if operator[0] == "#" and pattern.matches(value[:length]):
            return value[length:]
        if operator[0] == "%" and pattern.matches(value[len(value) - length :]):
            return value[: len(value) - length]
    return value
