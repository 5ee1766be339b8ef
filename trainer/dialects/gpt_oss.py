"""GPT-OSS's tool calls in the harmony format: one message for each call, addressed to a function.

    <|channel|>analysis<|message|>thought<|end|>
    <|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>{..}<|call|>

Source: OpenAI's harmony guide. `<|start|>assistant` of the first message is part of the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from rlfactory.envs.api.types import ToolResult
from rlfactory.trainer.dialects import json_calls
from rlfactory.trainer.dialects.dialect import ParseError
from rlfactory.trainer.dialects.tools import Signature, ToolDialect, Written

START, CHANNEL, MESSAGE = "<|start|>", "<|channel|>", "<|message|>"
ENDS: Final = ("<|end|>", "<|call|>", "<|return|>")
_END: Final = re.compile("|".join(map(re.escape, ENDS)))
_TO: Final = re.compile(r"to=functions\.([^\s<]+)")
_TYPES: Final = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}


class HarmonySyntax:
    """Messages with channels."""

    def prompt(self, signatures: Sequence[Signature]) -> str:
        declared = "\n\n".join(_declaration(each) for each in signatures)
        return f"# Tools\n\n## functions\n\nnamespace functions {{\n\n{declared}\n\n}} // namespace functions"

    def write(self, thought: str, calls: Sequence[Written]) -> str:
        messages = [f"{CHANNEL}analysis{MESSAGE}{thought}<|end|>"] if thought else []
        messages += [
            f"{CHANNEL}commentary to=functions.{name} <|constrain|>json{MESSAGE}{json_calls.dump(arguments)}<|call|>"
            for name, arguments in calls
        ]
        return f"{START}assistant".join(messages)

    def read(self, text: str) -> tuple[str, list[Written]]:
        thought, calls = "", []
        for message in _END.split(text):
            header, found, body = message.partition(MESSAGE)
            if not found:
                if message.strip():
                    raise ParseError(f"a message is {CHANNEL}..{MESSAGE}.. and its end, not {message.strip()[:40]!r}")
                continue
            address = _TO.search(header)
            if address is None:
                thought = "\n".join(part for part in (thought, body.strip()) if part)
            else:
                calls.append((address[1], json_calls.arguments_of(json_calls.decode_all(body))))
        if not calls:
            raise ParseError(f"no call in your message; write {CHANNEL}commentary to=functions.NAME ..<|call|>")
        if not text.rstrip().endswith(ENDS):
            raise ParseError("the last call is not closed by <|call|>")
        return thought, calls

    def answers(self, results: Sequence[ToolResult]) -> str:
        return "\n".join(f"functions.{each.name}: {json_calls.answer(each)}" for each in results)

    def complaint(self, text: str) -> str:
        return text


def _declaration(signature: Signature) -> str:
    """Return a tool as a TypeScript type, as harmony shows it to the model."""
    parameters: Any = signature["parameters"]
    properties = parameters.get("properties", {})
    lines = [f"// {signature['description']}"]
    if not properties:
        return "\n".join([*lines, f"type {signature['name']} = () => any;"])
    required = parameters.get("required", [])
    lines.append(f"type {signature['name']} = (_: {{")
    for name, schema in properties.items():
        if "description" in schema:
            lines.append(f"// {schema['description']}")
        lines.append(f"{name}{'' if name in required else '?'}: {_type(schema)},")
    return "\n".join([*lines, "}) => any;"])


def _type(schema: Any) -> str:
    if "enum" in schema:
        return " | ".join(json_calls.dump(each) for each in schema["enum"])
    if schema.get("type") == "array":
        return f"{_type(schema.get('items', {}))}[]"
    return _TYPES.get(str(schema.get("type")), "any")


GPT_OSS: Final = ToolDialect(name="gpt_oss", syntax=HarmonySyntax(), special_tokens=True)
