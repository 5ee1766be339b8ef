"""test, [, expr, true, false."""

from __future__ import annotations

import operator as op
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from rlfactory.emulators.simulator.machine.filesystem import FileEntry
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError
from rlfactory.emulators.simulator.shell.commands.text.regular import BadPatternError, compiled

table = CommandTable()
_MAX_DEPTH: Final = 32
_Value = TypeVar("_Value")


@table.command("true")
def _true(context: Context) -> None:
    pass


@table.command("false")
def _false(context: Context) -> int:
    return 1


def _integer(text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise UsageError(f"{text}: bad number") from None


def _of_integers(compare: Callable[[int, int], bool]) -> Callable[[str, str], bool]:
    return lambda left, right: compare(_integer(left), _integer(right))


_BINARY: Final[Mapping[str, Callable[[str, str], bool]]] = {
    **{"=": op.eq, "==": op.eq, "!=": op.ne, "<": op.lt, ">": op.gt},
    **{f"-{name}": _of_integers(getattr(op, name)) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
}
_FILE_TESTS: Final[Mapping[str, Callable[[FileEntry], bool]]] = {
    **dict.fromkeys(("-a", "-e", "-r", "-w"), lambda entry: True),
    "-d": lambda entry: entry.is_dir,
    "-f": lambda entry: not entry.is_dir,
    "-s": lambda entry: entry.is_dir or bool(entry.data),
    "-x": lambda entry: entry.is_dir or bool(entry.mode & 0o111),
}
_FILE_COMPARISONS: Final = frozenset({"-nt", "-ot", "-ef"})
_UNARY: Final = frozenset("-" + letter for letter in "abcdefghkLnprsStuwxz")


class _Words:
    """The words of an expression, read from left to right."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._position = 0
        self._depth = 0

    def _peek(self, ahead: int = 0) -> str | None:
        at = self._position + ahead
        return self._words[at] if at < len(self._words) else None

    def _parenthesized(self, inside: Callable[[], _Value], unclosed: str) -> _Value:
        """Return the value of `(`, which is the next word, and what belongs to it."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise UsageError("nested too deep")
        self._position += 1
        value = inside()
        if self._peek() != ")":
            raise UsageError(unclosed)
        self._position += 1
        self._depth -= 1
        return value


class _Test(_Words):
    """Evaluates one expression by POSIX' rules for argument counts, extended by -a, -o and parentheses."""

    def __init__(self, context: Context, words: list[str]) -> None:
        super().__init__(words)
        self._context = context

    def run(self) -> bool:
        if not self._words:
            return False
        if len(self._words) == 1:
            return bool(self._words[0])
        if len(self._words) == 3 and self._is_binary(self._words[1]):
            return self._binary(*self._words)
        if len(self._words) == 4 and self._words[0] == "!" and self._is_binary(self._words[2]):
            return not self._binary(*self._words[1:])
        value = self._or()
        if self._position < len(self._words):
            raise UsageError(f"{self._peek()}: unexpected operator")
        return value

    def _is_binary(self, word: str | None) -> bool:
        return word in _BINARY or word in _FILE_COMPARISONS

    def _or(self) -> bool:
        value = self._and()
        while self._peek() == "-o":
            self._position += 1
            value = self._and() or value
        return value

    def _and(self) -> bool:
        value = self._not()
        while self._peek() == "-a":
            self._position += 1
            value = self._not() and value
        return value

    def _not(self) -> bool:
        negations = 0
        while self._peek() == "!" and self._peek(1) is not None:
            self._position += 1
            negations += 1
        return self._primary() != bool(negations % 2)

    def _primary(self) -> bool:
        word = self._peek()
        if word is None:
            raise UsageError("argument expected")
        if self._is_binary(self._peek(1)) and self._peek(2) is not None:
            operator, right = self._words[self._position + 1], self._words[self._position + 2]
            self._position += 3
            return self._binary(word, operator, right)
        if word == "(" and self._peek(1) is not None:
            return self._parenthesized(self._or, "missing )")
        following = self._peek(1)
        if word in _UNARY and following is not None:
            self._position += 2
            return self._unary(word, following)
        self._position += 1
        return bool(word)

    def _binary(self, left: str, operator: str, right: str) -> bool:
        if operator in _BINARY:
            return _BINARY[operator](left, right)
        files = self._context.files
        first, second = self._context.path(left), self._context.path(right)
        if operator == "-ef":
            return files.resolve(first) == files.resolve(second)
        ages = [files.stat(path).modified_ns if files.exists(path) else -1 for path in (first, second)]
        return ages[0] > ages[1] if operator == "-nt" else ages[0] < ages[1]

    def _unary(self, operator: str, operand: str) -> bool:
        if operator == "-n":
            return bool(operand)
        if operator == "-z":
            return not operand
        if operator == "-t":
            return False
        files, path = self._context.files, self._context.path(operand)
        check = _FILE_TESTS.get(operator)
        return bool(operand) and check is not None and files.exists(path) and check(files.stat(path))


@table.command("test", "[")
def _test(context: Context) -> int:
    words = list(context.args)
    if context.name == "[" and (not words or words.pop() != "]"):
        return context.fail("missing ]", 2)
    try:
        return 0 if _Test(context, words).run() else 1
    except UsageError as error:
        return context.fail(str(error), 2)


# --- expr ----------------------------------------------------------------------------------------------------------

_LEVELS: Final = (("|",), ("&",), ("=", "==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"), (":",))


class _Expression(_Words):
    """Evaluates the words of expr; values are texts."""

    def run(self) -> str:
        value = self._level(0)
        if self._position < len(self._words):
            raise UsageError("syntax error")
        return value

    def _level(self, level: int) -> str:
        if level == len(_LEVELS):
            return self._primary()
        value = self._level(level + 1)
        while self._peek() in _LEVELS[level]:
            operator = self._words[self._position]
            self._position += 1
            value = _applied(value, operator, self._level(level + 1))
        return value

    def _primary(self) -> str:
        word = self._peek()
        if word is None:
            raise UsageError("syntax error")
        if word == "(":
            return self._parenthesized(lambda: self._level(0), "syntax error")
        self._position += 1
        return word


def _applied(left: str, operator: str, right: str) -> str:
    nothing = {"", "0"}
    match operator:
        case "|":
            return left if left not in nothing else right
        case "&":
            return left if left not in nothing and right not in nothing else "0"
        case ":":
            return _matched(left, right)
        case "+" | "-" | "*" | "/" | "%":
            return _computed(_integer(left), operator, _integer(right))
        case _:
            return _compared(left, operator, right)


def _matched(text: str, pattern: str) -> str:
    match = compiled(pattern, extended=False).match(text)
    if match is None:
        return "" if r"\(" in pattern else "0"
    return (match.group(1) or "") if match.re.groups else str(match.end())


def _compared(left: str, operator: str, right: str) -> str:
    numeric = all(re.fullmatch(r"-?\d+", text) for text in (left, right))
    comparison = {"=": "-eq", "==": "-eq", "!=": "-ne", "<": "-lt", "<=": "-le", ">": "-gt", ">=": "-ge"}[operator]
    if numeric:
        return str(int(_BINARY[comparison](left, right)))
    order = (left > right) - (left < right)
    return str(int(_BINARY[comparison](str(order), "0")))


def _computed(left: int, operator: str, right: int) -> str:
    if operator in {"/", "%"} and right == 0:
        raise UsageError("division by zero")
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1) if right else 0
    values = {"+": left + right, "-": left - right, "*": left * right, "/": quotient, "%": left - quotient * right}
    return str(values[operator])


@table.command("expr")
def _expr(context: Context) -> int:
    try:
        value = _Expression(list(context.args)).run()
    except (UsageError, BadPatternError) as error:
        return context.fail(str(error), 2)
    context.line(value)
    return 0 if value not in {"", "0"} else 1
