"""Mistral's tool calls: `[TOOL_CALLS]` and a JSON list, or since v11 `[TOOL_CALLS]name[ARGS]{..}` for each call.

Written as the list; both are read. Source: mistral-common's instruct tokenizers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rlfactory.envs.api.types import ToolResult
from rlfactory.trainer.dialects import json_calls
from rlfactory.trainer.dialects.dialect import ParseError
from rlfactory.trainer.dialects.tools import Signature, ToolDialect, Written

CALLS, ARGS, END = "[TOOL_CALLS]", "[ARGS]", "</s>"


class MistralSyntax:
    """A JSON list after one marker."""

    def prompt(self, signatures: Sequence[Signature]) -> str:
        listed: list[Any] = [{"type": "function", "function": dict(signature)} for signature in signatures]
        return (
            f"[AVAILABLE_TOOLS]{json_calls.dump(listed)}[/AVAILABLE_TOOLS]\n"
            f'Call tools by {CALLS}[{{"name": <function-name>, "arguments": <args-json-object>}}].'
        )

    def write(self, thought: str, calls: Sequence[Written]) -> str:
        listed: list[Any] = [{"name": name, "arguments": arguments} for name, arguments in calls]
        return f"{thought}{CALLS}{json_calls.dump(listed)}"

    def read(self, text: str) -> tuple[str, list[Written]]:
        thought, found, body = text.rstrip().removesuffix(END).partition(CALLS)
        if not found:
            raise ParseError(f"no {CALLS} in your message; call a tool")
        if body.lstrip().startswith("["):
            listed = json_calls.decode_all(body)
            if not listed:
                raise ParseError(f"the list after {CALLS} is empty; call a tool")
            return thought.strip(), [json_calls.call_of(each, key="arguments") for each in listed]
        return thought.strip(), [_named(piece) for piece in body.split(CALLS)]

    def answers(self, results: Sequence[ToolResult]) -> str:
        return "\n".join(f"[TOOL_RESULTS]{_content(each)}[/TOOL_RESULTS]" for each in results)

    def complaint(self, text: str) -> str:
        return f"[TOOL_RESULTS]{json_calls.dump({'content': text})}[/TOOL_RESULTS]"


def _content(result: ToolResult) -> str:
    return json_calls.dump({"name": result.name, "content": json_calls.answer(result)})


def _named(piece: str) -> Written:
    name, found, body = piece.partition(ARGS)
    if not found or not name.strip():
        raise ParseError(f"after {CALLS} comes a JSON list, or a name, {ARGS} and a JSON object")
    return name.strip(), json_calls.arguments_of(json_calls.decode_all(body))


MISTRAL: Final = ToolDialect(name="mistral", syntax=MistralSyntax(), special_tokens=True)
