"""Llama 3's tool calls: bare JSON, `{"name": .., "parameters": {..}}`. Source: Llama 3.1's model card and template.

Several calls are joined by semicolons, as vLLM's `llama3_json` parser reads them; words before calls end in
`<|python_tag|>`, which the model writes itself when it mixes the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlfactory.envs.api.types import ToolResult
from rlfactory.trainer.dialects import json_calls
from rlfactory.trainer.dialects.dialect import ParseError
from rlfactory.trainer.dialects.tools import Signature, ToolDialect, Written

TAG: Final = "<|python_tag|>"
ENDS: Final = ("<|eot_id|>", "<|eom_id|>")


class LlamaSyntax:
    """Bare JSON with "parameters"."""

    def prompt(self, signatures: Sequence[Signature]) -> str:
        listed = "\n\n".join(
            json_calls.dump({"type": "function", "function": dict(signature)}) for signature in signatures
        )
        return (
            "You have access to the following functions. To call a function, please respond with JSON for a function "
            'call. Respond in the format {"name": function name, "parameters": dictionary of argument name and its '
            "value}; to call several, put a semicolon between them. Do not use variables.\n\n" + listed
        )

    def write(self, thought: str, calls: Sequence[Written]) -> str:
        written = "; ".join(json_calls.dump({"name": name, "parameters": arguments}) for name, arguments in calls)
        return f"{thought}{TAG}{written}" if thought else written

    def read(self, text: str) -> tuple[str, list[Written]]:
        for end in ENDS:
            text = text.rstrip().removesuffix(end)
        thought, tagged, body = text.partition(TAG)
        if not tagged:
            thought, body = "", text
        if not body.strip().startswith("{"):
            raise ParseError('no call in your message; answer with {"name": .., "parameters": {..}} alone')
        calls, position = [], 0
        while True:
            value, position = json_calls.decode(body, position)
            calls.append(json_calls.call_of(value, key="parameters"))
            rest = body[position:].lstrip()
            if not rest:
                return thought.strip(), calls
            if not rest.startswith(";"):
                raise ParseError(f"only a semicolon may stand between calls, not {rest[:20]!r}")
            position = len(body) - len(rest) + 1

    def answers(self, results: Sequence[ToolResult]) -> str:
        return "\n".join(json_calls.dump({"name": each.name, "output": json_calls.answer(each)}) for each in results)

    def complaint(self, text: str) -> str:
        return json_calls.dump({"output": text})


LLAMA3: Final = ToolDialect(name="llama3", syntax=LlamaSyntax(), special_tokens=True)
