"""Families whose calls name the session's tools as they are: one dialect class, one `Syntax` for each family.

The phone, where a session has one, is the tool `phone` with pixels of the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rlfactory.envs.api.types import JSON, CoordinateFrame, ToolCall, ToolResult, ToolSchema
from rlfactory.trainer.dialects import json_calls
from rlfactory.trainer.dialects.dialect import Parsed, ParseError

Signature = Mapping[str, JSON]
"""{"name", "description", "parameters"}"""
Written = tuple[str, dict[str, Any]]
"""The name and the arguments of a call."""


class Syntax(Protocol):
    """How a family writes tools and calls."""

    def prompt(self, signatures: Sequence[Signature]) -> str:
        """Return the system prompt that tells of the tools."""
        ...

    def write(self, thought: str, calls: Sequence[Written]) -> str:
        """Return the message that makes these calls."""
        ...

    def read(self, text: str) -> tuple[str, list[Written]]:
        """Return the thought and the calls of a message. Raises: ParseError: no call, or a malformed one."""
        ...

    def answers(self, results: Sequence[ToolResult]) -> str:
        """Return what the calls answered, as text of a user's message."""
        ...

    def complaint(self, text: str) -> str:
        """Return the user's message that says what was wrong with the last one."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolDialect:
    """One family of models for tools."""

    name: str
    syntax: Syntax
    special_tokens: bool = False
    frame: CoordinateFrame = CoordinateFrame.IMAGE_PX
    multiple_px: int = 28

    def system_prompt(self, tools: Sequence[ToolSchema], *, image_px: tuple[int, int]) -> str:
        return self.syntax.prompt([json_calls.signature(tool) for tool in tools])

    def first_message(self, goal: str) -> str:
        return goal

    def next_message(self, results: Sequence[ToolResult]) -> str:
        return self.syntax.answers(results)

    def error_message(self, error: ParseError) -> str:
        return self.syntax.complaint(f"malformed: {error}")

    def render(self, calls: Sequence[ToolCall], *, thought: str = "") -> str:
        return self.syntax.write(thought, [(call.name, dict(call.arguments)) for call in calls])

    def parse(self, text: str) -> Parsed:
        thought, calls = self.syntax.read(text)
        return Parsed(
            calls=tuple(
                ToolCall(id=str(index), name=name, arguments=arguments) for index, (name, arguments) in enumerate(calls)
            ),
            thought=thought,
        )
