"""What the families that write calls as JSON share: reading one object strictly, with words a model can act on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import JSON, ToolResult, ToolSchema, ToolStatus
from rlfactory.trainer.dialects.dialect import ParseError

_DECODER: Final = json.JSONDecoder()


_MARKER: Final = re.compile(r"<(?=/?tool_call>|/?think>|\||｜|/s>)|\[(?=TOOL_CALLS\]|ARGS\])")
"""Where a string inside a call begins what some family would take for the end of the call."""


def dump(value: JSON | Mapping[str, JSON]) -> str:
    """Return JSON in which no family's markers occur: in strings their first character is escaped."""
    return _MARKER.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def decode(text: str, start: int = 0) -> tuple[Any, int]:
    """Return the JSON value that begins at `start`, white space skipped, and where it ends.

    Raises: ParseError: there is none.
    """
    while start < len(text) and text[start].isspace():
        start += 1
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise ParseError(f"the call is not valid JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ParseError("the call is nested too deeply") from None
    return value, end


def decode_all(text: str) -> Any:
    """Return the one JSON value that the text is. Raises: ParseError."""
    value, end = decode(text)
    if text[end:].strip():
        raise ParseError(f"nothing may follow the JSON of the call, but {text[end : end + 20].strip()!r} does")
    return value


def call_of(value: Any, *, key: str) -> tuple[str, dict[str, Any]]:
    """Return (name, arguments) of {"name": .., key: {..}}. Raises: ParseError: it is something else."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ParseError(f'a call must be {{"name": <function-name>, "{key}": <args-json-object>}}')
    return value["name"], arguments_of(value.get(key, {}), key=key)


def arguments_of(value: Any, *, key: str = "arguments") -> dict[str, Any]:
    """Return the value, which must be an object. Raises: ParseError."""
    if not isinstance(value, dict):
        raise ParseError(f'"{key}" must be a JSON object')
    return value


def answer(result: ToolResult) -> str:
    """Return what a tool said; a failure says so first."""
    return result.text if result.status is ToolStatus.OK else f"{result.status.value}: {result.text}"


def signature(schema: ToolSchema) -> dict[str, JSON]:
    """Return a tool as function-calling models are told of it."""
    return {"name": schema.name, "description": schema.description, "parameters": dict(schema.parameters)}
