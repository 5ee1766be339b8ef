"""Arithmetic without `eval`: an expression is parsed, and only what is listed here is carried out, within bounds."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from rlfactory.envs.api.types import JSON
from rlfactory.envs.tools.arguments import object_schema, read_text, refuse_unknown
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext

MAX_CHARS: Final = 1_000
MAX_BITS: Final = 8_192
"""Of a whole number, about 2,466 digits; what would be larger is refused before it is computed."""
MAX_DEPTH: Final = 60
MAX_ARGUMENTS: Final = 100

Number = int | float

_SPELLINGS: Final = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "π": "pi"})


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        if exponent < 0:
            return float(base) ** exponent
        if base.bit_length() * exponent > MAX_BITS:
            raise OverflowError
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError("the result is not a real number")  # noqa: TRY004 - a wrong value to those who call it
    assert isinstance(value, int | float)
    return value


def _factorial(n: Number) -> int:
    if not isinstance(n, int) or not 0 <= n <= 800:
        raise ValueError("factorial takes whole numbers from 0 to 800")
    return math.factorial(n)


def _comb(n: Number, k: Number) -> int:
    if not (isinstance(n, int) and isinstance(k, int) and 0 <= n <= 4_000 and k >= 0):
        raise ValueError("comb takes whole numbers from 0 to 4000")
    return math.comb(n, k)


def _gcd(*numbers: Number) -> int:
    return math.gcd(*(_whole(each) for each in numbers))


def _lcm(*numbers: Number) -> int:
    if sum(_whole(each).bit_length() for each in numbers) > MAX_BITS:
        raise OverflowError
    return math.lcm(*(_whole(each) for each in numbers))


def _whole(number: Number) -> int:
    if not isinstance(number, int):
        raise ValueError("gcd and lcm take whole numbers")  # noqa: TRY004 - a wrong value to those who call it
    return number


def _round(number: Number, digits: Number = 0) -> Number:
    if not isinstance(digits, int) or abs(digits) > 300:
        raise ValueError("round takes a whole number of digits")
    return round(number, digits) if digits else round(number)


_BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_CONSTANTS: Final[Mapping[str, float]] = {"pi": math.pi, "e": math.e, "tau": math.tau}
_OF_MATH: Final = "acos asin atan atan2 cbrt ceil cos degrees exp floor hypot log log10 log2 radians sin sqrt tan"
_OURS: Final[Mapping[str, Callable[..., Number]]] = {
    **{"abs": abs, "comb": _comb, "factorial": _factorial, "gcd": _gcd, "lcm": _lcm},
    **{"ln": math.log, "max": max, "min": min, "round": _round},
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = dict(
    sorted({**_OURS, **{name: getattr(math, name) for name in _OF_MATH.split()}}.items())
)

CALCULATOR_SCHEMA: Final = object_schema(
    "calculator",
    "Evaluate an arithmetic expression and return its value.",
    {
        "expression": {
            "type": "string",
            "maxLength": MAX_CHARS,
            "description": f"Numbers, + - * / // % ** and parentheses; {', '.join(_CONSTANTS)}; "
            f"{', '.join(_FUNCTIONS)}. Angles in radians; log is natural, log(x, base) is not.",
        }
    },
    required=["expression"],
)


def evaluate(expression: str) -> Number:
    """Return the value of an expression; `^` is a power.

    Raises: ValueError: it is no arithmetic, has no real value, or its value is out of bounds; the message says which.
    """
    source = expression.translate(_SPELLINGS).replace("^", "**").strip()
    try:
        tree = ast.parse(source, mode="eval")
        value = _value(tree.body, 0)
    except SyntaxError as error:
        raise ValueError(f"not an expression: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError("the expression is nested too deeply") from None
    except ZeroDivisionError:
        raise ValueError("division by zero") from None
    except OverflowError:
        raise ValueError("a number becomes too large") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("the result is not a finite number")
    return value


def _value(node: ast.expr, depth: int) -> Number:
    if depth > MAX_DEPTH:
        raise RecursionError
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, depth + 1)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _value(inner, depth + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left, depth + 1), _value(right, depth + 1)))
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_apply(name, [_value(each, depth + 1) for each in args[: MAX_ARGUMENTS + 1]]))
        case ast.Name(id=name):
            raise ValueError(f"{name!r} is not known")
        case ast.Call(func=ast.Name(id=name)):
            raise ValueError(f"there is no function {name!r}; there are {', '.join(_FUNCTIONS)}")
        case _:
            raise ValueError(f"only arithmetic is understood, and this holds a {type(node).__name__.lower()}")


def _apply(name: str, arguments: list[Number]) -> Number:
    if len(arguments) > MAX_ARGUMENTS:
        raise ValueError(f"{name} takes at most {MAX_ARGUMENTS} numbers")
    try:
        return _FUNCTIONS[name](*arguments)
    except TypeError:
        raise ValueError(f"{name} does not take {len(arguments)} such numbers") from None
    except ValueError as error:
        message = str(error)
        shown = ", ".join(map(written, arguments[:5]))
        raise ValueError(message if message != "math domain error" else f"{name}({shown}) has no real value") from None


def _bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise OverflowError
    return value


def written(value: Number) -> str:
    """Return a value as models read it: whole numbers exactly, others with 15 significant digits."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.15g}"
    if isinstance(value, float) and abs(value) >= 1e16:
        return f"{value:.15g}"
    return str(int(value))


class CalculatorTool(Tool):
    """Evaluates expressions. Pure, and bounded by the expression's own size: no deadline is needed."""

    schema = CALCULATOR_SCHEMA
    policy = ToolPolicy(pure=True)
    lives_on = True
    acts_outside = False

    def __init__(self, context: ToolContext) -> None:
        return

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, ("expression",))
        try:
            return written(evaluate(read_text(arguments, "expression", max_chars=MAX_CHARS)))
        except ValueError as error:
            raise Rejected(str(error)) from None

    def fork(self, context: ToolContext) -> CalculatorTool:
        return self
