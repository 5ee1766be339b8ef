"""What the families share that write phone actions as text: one action a message, and few words around it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from rlfactory.envs.api.types import CoordinateFrame, ToolCall, ToolResult, ToolSchema, ToolStatus
from rlfactory.trainer.dialects.dialect import Parsed, ParseError, Unrenderable
from rlfactory.trainer.dialects.literal_calls import LiteralCall
from rlfactory.trainer.dialects.verbs import Verbs


class PhoneTextDialect(ABC):
    """One action a message. Tools other than the phone cannot be called."""

    name: str
    frame: CoordinateFrame
    multiple_px: int = 28
    special_tokens: bool = False
    prompt: str
    verbs: Verbs

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
        return self.write(thought, self.action(*self.verbs.write(call.name, call.arguments)))

    def parse(self, text: str) -> Parsed:
        thought, action = self.split(text)
        name, arguments = self.verbs.read(*self.read(action))
        return Parsed(calls=(ToolCall(id="0", name=name, arguments=arguments),), thought=thought)

    def values(self, call: LiteralCall) -> Mapping[str, Any]:
        """Return a call's values by the keys of its verb. Raises: ParseError: an unknown verb, or too many values."""
        keys = self.verbs.keys(call.name)
        if len(call.positional) > len(keys):
            raise ParseError(f"{call.name} takes {len(keys)} values, not {len(call.positional)}")
        return {**dict(zip(keys, call.positional, strict=False)), **call.named}

    @abstractmethod
    def write(self, thought: str, action: str) -> str:
        """Return the message."""

    @abstractmethod
    def split(self, text: str) -> tuple[str, str]:
        """Return thought and action of a message. Raises: ParseError: it has no action."""

    @abstractmethod
    def action(self, verb: str, values: Mapping[str, Any]) -> str:
        """Return the text of an action."""

    @abstractmethod
    def read(self, action: str) -> tuple[Any, Mapping[str, Any]]:
        """Return the verb and its values. Raises: ParseError: the text is no action."""


def labelled(text: str, thought_label: str, action_label: str) -> tuple[str, str]:
    """Return thought and action of `<label> thought, <label> action`. Raises: ParseError: it has no action."""
    thought, found, action = text.partition(action_label)
    if not found:
        raise ParseError(f"no {action_label!r} in your message")
    return thought.strip().removeprefix(thought_label).strip(), action.strip()
