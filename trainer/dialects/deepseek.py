"""DeepSeek's tool calls, between special tokens of full-width bars. Source: the chat templates of V3, R1 and V3.1.

V3 and R1 write `function`, a separator, the name, and JSON in a Markdown fence; V3.1 the name, a separator, and bare
JSON. Each is written as its own generation writes it; both readers accept either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rlfactory.envs.api.types import ToolResult
from rlfactory.trainer.dialects import json_calls, thinking
from rlfactory.trainer.dialects.dialect import ParseError
from rlfactory.trainer.dialects.tools import Signature, ToolDialect, Written

CALLS_BEGIN, CALLS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL_BEGIN, CALL_END, SEPARATOR = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"
OUTPUT_BEGIN, OUTPUT_END = "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"
END: Final = "<｜end▁of▁sentence｜>"
FENCE, FENCE_END = "\n```json\n", "\n```"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeepSeekSyntax:
    """Calls between special tokens."""

    fenced: bool
    """JSON in a Markdown fence, as V3 and R1 write it."""

    def prompt(self, signatures: Sequence[Signature]) -> str:
        listed = "\n\n".join(
            f"### {each['name']}\nDescription: {each['description']}\n\nParameters: "
            f"{json_calls.dump(each['parameters'])}"
            for each in signatures
        )
        example = self._call("<function-name>", "<args-json-object>")
        return (
            f"## Tools\nYou have access to the following tools:\n\n{listed}\n\n"
            f"IMPORTANT: ALWAYS adhere to this exact format for tool use:\n{CALLS_BEGIN}{example}{CALLS_END}"
        )

    def write(self, thought: str, calls: Sequence[Written]) -> str:
        joint = "\n" if self.fenced else ""
        written = joint.join(self._call(name, json_calls.dump(arguments)) for name, arguments in calls)
        return f"{thinking.render(thought)}{CALLS_BEGIN}{written}{CALLS_END}"

    def read(self, text: str) -> tuple[str, list[Written]]:
        thought, rest = thinking.split(text.rstrip().removesuffix(END))
        said, found, body = rest.partition(CALLS_BEGIN)
        if not found:
            raise ParseError(f"no {CALLS_BEGIN} in your message; call a tool")
        body, closed, after = body.rpartition(CALLS_END)
        if not closed:
            raise ParseError(f"{CALLS_BEGIN} is not closed by {CALLS_END}")
        if after.strip():
            raise ParseError(f"nothing may follow {CALLS_END}")
        before, *pieces = body.split(CALL_BEGIN)
        if before.strip() or not pieces:
            raise ParseError(f"after {CALLS_BEGIN} comes {CALL_BEGIN}")
        return thinking.join(thought, said), [_call(piece) for piece in pieces]

    def answers(self, results: Sequence[ToolResult]) -> str:
        return "\n".join(f"{OUTPUT_BEGIN}{json_calls.answer(each)}{OUTPUT_END}" for each in results)

    def complaint(self, text: str) -> str:
        return f"{OUTPUT_BEGIN}{text}{OUTPUT_END}"

    def _call(self, name: str, arguments: str) -> str:
        inner = (
            f"function{SEPARATOR}{name}{FENCE}{arguments}{FENCE_END}"
            if self.fenced
            else f"{name}{SEPARATOR}{arguments}"
        )
        return f"{CALL_BEGIN}{inner}{CALL_END}"


def _call(piece: str) -> Written:
    inner, closed, after = piece.rpartition(CALL_END)
    head, separated, tail = inner.partition(SEPARATOR)
    if not closed or not separated or after.strip():
        raise ParseError(f"a call is {CALL_BEGIN}name{SEPARATOR}JSON{CALL_END}")
    name, fenced, body = tail.partition(FENCE)
    if fenced and head.strip() == "function":
        body = body.rstrip().removesuffix(FENCE_END.strip())
    else:
        name, body = head, tail
    if not name.strip():
        raise ParseError("the call names no function")
    return name.strip(), json_calls.arguments_of(json_calls.decode_all(body))


DEEPSEEK_V3: Final = ToolDialect(name="deepseek_v3", syntax=DeepSeekSyntax(fenced=True), special_tokens=True)
DEEPSEEK_V3_1: Final = ToolDialect(name="deepseek_v3_1", syntax=DeepSeekSyntax(fenced=False), special_tokens=True)
