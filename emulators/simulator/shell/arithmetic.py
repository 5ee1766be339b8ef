"""`$((...))`: C-like integer expressions of 64 bits."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Final


class ArithmeticSyntaxError(ValueError):
    """Not an expression, or a division by zero."""


_TOKEN: Final = re.compile(r"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>!~&|^()?:])")
_MAX_DEPTH: Final = 32
_MAX_CHARS: Final = 4096


def _wrapped(value: int) -> int:
    return (int(value) + 2**63) % 2**64 - 2**63


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise ArithmeticSyntaxError("divide by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_LEVELS: Final[tuple[Mapping[str, Callable[[int, int], int]], ...]] = (
    {"||": lambda a, b: bool(a) or bool(b)},
    {"&&": lambda a, b: bool(a) and bool(b)},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    {"<<": lambda a, b: a << (b % 64), ">>": lambda a, b: a >> (b % 64)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _divided, "%": lambda a, b: a - _divided(a, b) * b},
)
"""Operators of two operands, the loosest first."""


def evaluate(expression: str, variable: Callable[[str], str]) -> int:
    """Return the value; `variable` gives the text of a name. Raises: ArithmeticSyntaxError."""
    if len(expression) > _MAX_CHARS:
        raise ArithmeticSyntaxError(f"expression longer than {_MAX_CHARS} characters")
    return _Evaluator(_tokens(expression), variable).run()


def _tokens(expression: str) -> list[str]:
    tokens, position = [], 0
    stripped = expression.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise ArithmeticSyntaxError(f"{expression.strip()}: unexpected '{stripped[position:].strip()[:1]}'")
        tokens.append(match.group(1))
        position = match.end()
    return tokens


class _Evaluator:
    def __init__(self, tokens: list[str], variable: Callable[[str], str]) -> None:
        self._tokens = tokens
        self._position = 0
        self._variable = variable
        self._depth = 0

    def run(self) -> int:
        if not self._tokens:
            return 0
        value = self._ternary()
        if self._position < len(self._tokens):
            raise ArithmeticSyntaxError(f"unexpected '{self._peek()}'")
        return value

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._position += 1
        return token

    def _ternary(self) -> int:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ArithmeticSyntaxError("expression nested too deep")
        value = self._binary(0)
        if self._peek() == "?":
            self._take()
            yes = self._ternary()
            if self._take() != ":":
                raise ArithmeticSyntaxError("missing ':'")
            no = self._ternary()
            value = yes if value else no
        self._depth -= 1
        return value

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        value = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            value = _wrapped(_LEVELS[level][self._take()](value, self._binary(level + 1)))
        return value

    def _unary(self) -> int:
        signs: list[str] = []
        while self._peek() in {"-", "+", "!", "~"}:
            signs.append(self._take())
        value = self._primary()
        for sign in reversed(signs):
            value = {"-": -value, "+": value, "!": int(not value), "~": ~value}[sign]
        return _wrapped(value)

    def _primary(self) -> int:
        token = self._take()
        if token == "(":
            value = self._ternary()
            if self._take() != ")":
                raise ArithmeticSyntaxError("missing ')'")
            return value
        if token[:1].isdigit():
            return _number(token)
        if token[:1].isalpha() or token[:1] == "_":
            text = self._variable(token).strip() or "0"
            sign = -1 if text.startswith("-") else 1
            digits = text.lstrip("+-")
            if not digits[:1].isdigit():
                raise ArithmeticSyntaxError(f"{token}: unexpected '{text[:20]}'")
            return sign * _number(digits)
        raise ArithmeticSyntaxError(f"unexpected '{token or 'end of expression'}'")


def _number(text: str) -> int:
    try:
        if text[:2].lower() == "0x":
            return _wrapped(int(text, 16))
        return _wrapped(int(text, 8) if len(text) > 1 and text.startswith("0") else int(text))
    except ValueError:
        raise ArithmeticSyntaxError(f"{text[:20]}: bad number") from None
