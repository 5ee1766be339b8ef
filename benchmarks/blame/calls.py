"""Draws what no sensible model would write: calls of every tool, as they arrive on the wire."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.hostile_sql import DUCKDB, POSTGRES, SQLITE, quick
from rlfactory.envs.api.types import JSON

WORDS: Final = (
    *("SELECT", "FROM", "item", "'", '"', "`", "--", "/*", "*/", "(", ")", ";", "$1", "?", ":a", "@x", "%s", "{", "}"),
    *("\x00", "\ud83d", "\udfff", "é", "𝔘", "\u202e", "\ufeff", "\u2028", "1e9", "1e999", "-0", "0x", "NaN", "NULL"),
    *(
        "::json",
        "::int",
        "[",
        "]",
        "\\",
        "\r\n",
        "\t",
        "```",
        "```sql\n",
        "<|im_end|>",
        "</tool_call>",
        "True",
        "lambda",
    ),
)
FUNCTIONS: Final = (
    *(
        "abs",
        "substr",
        "printf",
        "json",
        "json_extract",
        "hex",
        "zeroblob",
        "randomblob",
        "strftime",
        "replace",
        "round",
    ),
    *("group_concat", "total", "char", "unicode", "instr", "like", "glob", "quote", "nullif", "iif", "unhex", "ltrim"),
    *(
        "to_json",
        "regexp_replace",
        "split_part",
        "to_char",
        "chr",
        "ascii",
        "format",
        "repeat",
        "lpad",
        "encode",
        "xmlparse",
    ),
    *("generate_series", "unnest", "list_value", "struct_pack", "to_timestamp", "date_trunc", "jsonb_path_query"),
)
NUMBERS: Final = (
    "0",
    "-1",
    "1.5",
    "9223372036854775808",
    "1e308",
    "-1e-320",
    "NULL",
    "1/0",
    "x'ff'",
    "''",
    "'a'",
    "TRUE",
)
STATEMENTS: Final = tuple(quick((*SQLITE, *DUCKDB, *POSTGRES)))
CODES: Final = (
    *(
        "1/0",
        "x = 1",
        "x",
        "print('\\ud800')",
        "'\\udfff' * 3",
        "raise SystemExit(3)",
        "raise BaseException",
        "import nothing",
    ),
    *(
        "def f(): return f()\nf()",
        "(" * 500 + ")" * 500,
        "exec('1' + '+1' * 3000)",
        "print('y' * 100_000)",
        "input()",
        "del print",
    ),
    *("import sys; sys.stdout.close()", "import sys; sys.stdout = None; print(1)", "import sys; sys.stderr = 7; 1/0"),
    *("class A:\n  def __repr__(self): raise KeyError\nA()", "class A(Exception):\n  def __str__(self): 1/0\nraise A"),
    *(
        "import os; os._exit(0)",
        "import os; os.close(1)",
        "import os; os.write(3, b'ok 1\\n')",
        "globals().clear()",
        "\x00",
        "\ufeffx",
    ),
    *(
        "import threading; threading.Thread(target=lambda: 1/0).start()",
        "import signal; signal.alarm(1)",
        "await x",
        "yield",
        "return",
    ),
    *(
        "import atexit; atexit.register(lambda: 1/0)",
        "while False: pass",
        "@",
        "f'{",
        "'''",
        "print(end='\\x1b[2J\\x07')",
        "\t\n x",
    ),
    *(
        "import sys; sys.setrecursionlimit(50)",
        "import builtins; del builtins.repr\n1",
        "__builtins__ = None\n1",
        "import gc; gc.freeze()",
    ),
)
ACTIONS: Final = (
    "tap",
    "double_tap",
    "long_press",
    "swipe",
    "drag",
    "scroll",
    "type",
    "key",
    "open_app",
    "wait",
    "fly",
    "",
)
NAMES: Final = (
    *(
        "action",
        "coordinate",
        "coordinate2",
        "seconds",
        "direction",
        "distance",
        "text",
        "key",
        "app",
        "expression",
        "query",
    ),
    *("code", "answer", "status", "city", "day", "origin", "destination", "", "\ud800", "__class__", "x" * 300),
)


def text(rng: random.Random) -> str:
    """Draw text of many alphabets and sizes."""
    match rng.randrange(6):
        case 0:
            return "".join(chr(rng.choice((rng.randrange(1, 128), rng.randrange(0x110000)))) for _ in range(20))
        case 1 | 2:
            return " ".join(rng.choices(WORDS, k=rng.randrange(12)))
        case 3:
            return rng.choice(WORDS) * rng.choice((1, 100, 1900))
        case 4:
            return "".join(rng.choices("()[]{}*/+-1,.'x|&^%!~<>=:; \n", k=30))
        case _:
            return rng.choice(("(", "[", "{", "-", "not ", "1+", "f(", '{"a":')) * rng.randrange(1, 1200)


def value(rng: random.Random, depth: int = 0) -> JSON:
    """Draw any JSON."""
    match rng.randrange(6 if depth < 4 else 3):
        case 0:
            return rng.choice((None, True, False, 0, -1, 2**63, 10**400, 1e308, 5e-324, float("nan"), float("inf")))
        case 1 | 2:
            return text(rng)
        case 3:
            return rng.uniform(-2000, 2000)
        case 4:
            return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
        case _:
            return {rng.choice((*NAMES, text(rng))): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def sql(rng: random.Random) -> str:
    """Draw a statement: hostile, mutated, or of functions with strange arguments."""
    match rng.randrange(4):
        case 0:
            return rng.choice(STATEMENTS)
        case 1:
            told = list(rng.choice(STATEMENTS))
            for _ in range(rng.randrange(1, 4)):
                told.insert(rng.randrange(len(told) + 1), rng.choice(WORDS))
            return "".join(told)
        case 2:
            arguments = ", ".join(
                rng.choice((*NUMBERS, f"{rng.choice(FUNCTIONS)}({rng.choice(NUMBERS)})")) for _ in range(3)
            )
            return f"SELECT {rng.choice(FUNCTIONS)}({arguments}) AS a, {rng.choice(NUMBERS)} FROM item LIMIT 3"
        case _:
            return f"SELECT {text(rng)}"


def code(rng: random.Random) -> str:
    """Draw code that harms nothing but its own interpreter."""
    return rng.choice(CODES) if rng.randrange(3) else f"x = {text(rng)!r}\nx[{rng.randrange(-3, 9)}:]"


def expression(rng: random.Random) -> str:
    """Draw a sum."""
    if rng.randrange(2):
        return text(rng)
    parts = (
        "1",
        "2.5",
        "9**9",
        "sqrt(2)",
        "factorial(20)",
        "comb(9, 3)",
        "max(1, 2)",
        "(1+2)",
        "-3",
        "1e300",
        "0",
        "pi",
    )
    return rng.choice(("+", "*", "/", "**", "%", "//", "-")).join(rng.choices(parts, k=rng.randrange(1, 6)))


def touch(rng: random.Random) -> dict[str, JSON]:
    """Draw an act on a phone."""
    where: JSON = [rng.randrange(-50, 2500), rng.uniform(-50, 2500)] if rng.randrange(4) else value(rng)
    drawn: dict[str, JSON] = {"action": rng.choice(ACTIONS), "coordinate": where, "coordinate2": [1, 1], "seconds": 0.1}
    drawn |= {
        "text": text(rng)[:200],
        "key": rng.choice(("HOME", "BACK", text(rng))),
        "app": rng.choice(("Settings", text(rng))),
    }
    drawn |= {"direction": rng.choice(("up", "down", "in")), "distance": rng.choice(("short", "far"))}
    wanted = {"tap": ("coordinate",), "type": ("text",), "key": ("key",), "open_app": ("app",), "wait": ("seconds",)}
    names = wanted.get(str(drawn["action"]), tuple(drawn)[1:])
    return {"action": drawn["action"]} | {name: drawn[name] for name in names if rng.randrange(8)}


ARGUMENTS: Final[Mapping[str, Callable[[random.Random], dict[str, JSON]]]] = {
    "calculator": lambda rng: {"expression": expression(rng)},
    "nap": lambda rng: {"key": text(rng)[:50], "chars": rng.choice((0, 10, 30_000, -1))},
    "sql": lambda rng: {"query": sql(rng)},
    "duckdb": lambda rng: {"query": sql(rng)},
    "postgres": lambda rng: {"query": sql(rng)},
    "python": lambda rng: {"code": code(rng)},
    "search": lambda rng: {"query": text(rng)},
    "phone": touch,
    "finish": lambda rng: {
        "status": rng.choice(("success", "failure", text(rng))),
        "answer": rng.choice((sql(rng), text(rng))),
    },
}
"""Arguments of the right names for each tool."""


def arguments_json(rng: random.Random, tool: str) -> str:
    """Draw the arguments of a call as a model wrote them: mostly JSON, mostly of names that the tool knows."""
    match rng.randrange(8):
        case 0:
            return text(rng).encode("utf-8", "replace").decode()
        case 1:
            return json.dumps(value(rng))
        case 2:
            return json.dumps({rng.choice(NAMES): value(rng) for _ in range(rng.randrange(4))})
        case 3:
            return json.dumps(dict.fromkeys(made(rng, tool), value(rng)))
        case _:
            return json.dumps(made(rng, tool))


def made(rng: random.Random, tool: str) -> dict[str, JSON]:
    """Draw arguments of this tool's names; any for a tool that is not known."""
    return ARGUMENTS[tool](rng) if tool in ARGUMENTS else {rng.choice(NAMES): value(rng)}
