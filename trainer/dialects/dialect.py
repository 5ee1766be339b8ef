"""What a dialect is: from tool schemas to a system prompt, from calls to text, and from text back to calls.

Pure: no tokens, no images, no devices. Coordinates pass through unchanged; the session is told the dialect's frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rlfactory.envs.api.types import CoordinateFrame, ToolCall, ToolResult, ToolSchema


class ParseError(Exception):
    """The text is no well-formed action. The message tells the model what was wrong and what would be right."""


class Unrenderable(Exception):
    """This family has no way to write the call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """What a model wrote."""

    calls: tuple[ToolCall, ...]
    thought: str = ""
    """The text before the first call, stripped."""


@runtime_checkable
class Dialect(Protocol):
    """How one model family writes actions."""

    @property
    def name(self) -> str: ...

    @property
    def frame(self) -> CoordinateFrame:
        """What coordinates in calls mean."""
        ...

    @property
    def multiple_px(self) -> int:
        """The sides of an image are multiples of this: patch size x merge size."""
        ...

    @property
    def special_tokens(self) -> bool:
        """Special tokens are part of how calls are written: `parse` is given the text with them."""
        ...

    def system_prompt(self, tools: Sequence[ToolSchema], *, image_px: tuple[int, int]) -> str:
        """Return what the model is told of its tools. `image_px`: sides of the screenshots; (0, 0) without."""
        ...

    def first_message(self, goal: str) -> str:
        """Return the text that follows the first screenshot."""
        ...

    def next_message(self, results: Sequence[ToolResult]) -> str:
        """Return the text that follows a later screenshot: what the last turn's calls answered."""
        ...

    def error_message(self, error: ParseError) -> str:
        """Return the text that tells the model what was wrong with its last message."""
        ...

    def render(self, calls: Sequence[ToolCall], *, thought: str = "") -> str:
        """Return the message in which a model of this family makes these calls.

        Raises: Unrenderable: the family has no way to write one of them.
        """
        ...

    def parse(self, text: str) -> Parsed:
        """Return the calls in a model's message, with ids "0", "1", ...; special tokens only if `special_tokens`.

        Raises: ParseError: it holds no call, or a malformed one.
        """
        ...
