"""What the families share that write phone actions as lines of text: one action a message, and few words around it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from rlfactory.envs.api.types import JSON, CoordinateFrame, ToolCall, ToolResult, ToolSchema, ToolStatus
from rlfactory.trainer.dialects.dialect import Parsed, ParseError, Unrenderable

PHONE, FINISH = "phone", "finish"
SCROLL_OF: Final = {"up": "down", "down": "up", "left": "right", "right": "left"}
"""A swipe names where the finger goes, a scroll what is to be seen."""


class PhoneTextDialect(ABC):
    """One action a message. Tools other than the phone cannot be called."""

    name: ClassVar[str]
    frame: ClassVar[CoordinateFrame]
    multiple_px: ClassVar[int] = 28
    special_tokens: ClassVar[bool] = False
    prompt: ClassVar[str]

    def system_prompt(self, tools: Sequence[ToolSchema], *, image_px: tuple[int, int]) -> str:
        return self.prompt

    def first_message(self, goal: str) -> str:
        return f"Task: {goal}"

    def next_message(self, results: Sequence[ToolResult]) -> str:
        return "\n".join(f"{each.status.value}: {each.text}" for each in results if each.status is not ToolStatus.OK)

    def error_message(self, error: ParseError) -> str:
        return f"malformed: {error}"

    def render(self, calls: Sequence[ToolCall], *, thought: str = "") -> str:
        if len(calls) != 1:
            raise Unrenderable(f"{self.name} writes one action a message, not {len(calls)}")
        [call] = calls
        if call.name not in (PHONE, FINISH):
            raise Unrenderable(f"{self.name} has no tool {call.name!r}")
        arguments = dict(call.arguments)
        return self.write(thought, self.end(arguments) if call.name == FINISH else self.act(arguments))

    def parse(self, text: str) -> Parsed:
        thought, action = self.split(text)
        name, arguments = self.read(action)
        return Parsed(calls=(ToolCall(id="0", name=name, arguments=arguments),), thought=thought)

    @abstractmethod
    def write(self, thought: str, action: str) -> str:
        """Return the message."""

    @abstractmethod
    def split(self, text: str) -> tuple[str, str]:
        """Return thought and action of a message. Raises: ParseError: it has no action."""

    @abstractmethod
    def act(self, arguments: Mapping[str, JSON]) -> str:
        """Return the action for a call of the phone. Raises: Unrenderable."""

    @abstractmethod
    def end(self, arguments: Mapping[str, JSON]) -> str:
        """Return the action for a call of finish. Raises: Unrenderable."""

    @abstractmethod
    def read(self, action: str) -> tuple[str, dict[str, Any]]:
        """Return tool and arguments of an action. Raises: ParseError."""


def cannot(dialect: PhoneTextDialect, arguments: Mapping[str, JSON]) -> Unrenderable:
    return Unrenderable(f"{dialect.name} cannot say {dict(arguments)}")


def unknown(action: object, known: Sequence[str]) -> ParseError:
    return ParseError(f"no action {action!r}; choose one of {', '.join(known)}")
