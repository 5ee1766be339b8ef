"""Qwen's text models: Hermes tool calls, in Qwen3 after a thinking block. Source: their chat templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rlfactory.envs.api.types import ToolResult
from rlfactory.trainer.dialects import hermes, thinking
from rlfactory.trainer.dialects.tools import Signature, ToolDialect, Written


@dataclass(frozen=True, kw_only=True, slots=True)
class HermesSyntax:
    """JSON between `<tool_call>` tags."""

    thinks: bool

    def prompt(self, signatures: Sequence[Signature]) -> str:
        return hermes.system_prompt(signatures)

    def write(self, thought: str, calls: Sequence[Written]) -> str:
        written = "\n".join(hermes.render(name, arguments) for name, arguments in calls)
        if self.thinks:
            return thinking.render(thought) + written
        return f"{thought}\n{written}" if thought else written

    def read(self, text: str) -> tuple[str, list[Written]]:
        thought, rest = thinking.split(text) if self.thinks else ("", text)
        said, calls = hermes.split(rest)
        return thinking.join(thought, said), calls

    def answers(self, results: Sequence[ToolResult]) -> str:
        return hermes.responses(results, silent=frozenset())

    def complaint(self, text: str) -> str:
        return f"<tool_response>\n{text}\n</tool_response>"


QWEN3: Final = ToolDialect(name="qwen3", syntax=HermesSyntax(thinks=True))
QWEN2_5: Final = ToolDialect(name="qwen2_5", syntax=HermesSyntax(thinks=False))
