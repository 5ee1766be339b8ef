"""The Hermes way to write tool calls: one JSON object between `<tool_call>` tags. Shared by the Qwen families."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rlfactory.envs.api.types import JSON, ToolResult, ToolStatus
from rlfactory.trainer.dialects import json_calls
from rlfactory.trainer.dialects.dialect import ParseError

OPEN, CLOSE = "<tool_call>", "</tool_call>"


def system_prompt(signatures: Sequence[Mapping[str, JSON]]) -> str:
    """Return Qwen's tool prompt for these function signatures."""
    listed = "\n".join(json.dumps({"type": "function", "function": signature}) for signature in signatures)
    return (
        "You are a helpful assistant.\n\n# Tools\n\n"
        "You may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n"
        f"<tools>\n{listed}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within "
        f"{OPEN}{CLOSE} XML tags:\n{OPEN}\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n'
        f"{CLOSE}"
    )


def render(name: str, arguments: Mapping[str, JSON]) -> str:
    return f"{OPEN}\n{json_calls.dump({'name': name, 'arguments': dict(arguments)})}\n{CLOSE}"


def split(text: str) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """Return the text before the first call and the (name, arguments) of each call.

    Raises: ParseError: no call, an unclosed one, or one whose content is not the JSON object it has to be.
    """
    thought, *pieces = text.split(OPEN)
    if not pieces:
        raise ParseError(f"no {OPEN} in your message; write one call between {OPEN} and {CLOSE}")
    return thought.strip(), [_call(piece) for piece in pieces]


def _call(piece: str) -> tuple[str, dict[str, Any]]:
    body, closed, after = piece.partition(CLOSE)
    if not closed:
        raise ParseError(f"{OPEN} is not closed by {CLOSE}")
    if after.strip():
        raise ParseError(f"nothing may follow {CLOSE} but another {OPEN}")
    return json_calls.call_of(json_calls.decode_all(body), key="arguments")


def responses(results: Sequence[ToolResult], *, silent: frozenset[str]) -> str:
    """Return the answers of the calls as Hermes tool responses; of `silent` tools only what went wrong."""
    told = [item for item in results if item.status is not ToolStatus.OK or item.name not in silent]
    return "\n".join(f"<tool_response>\n{json_calls.answer(item)}\n</tool_response>" for item in told)
