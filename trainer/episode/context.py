"""What of an episode's past stays in the model's context. Pure.

Training keeps one row per episode, which only ever grows: all its images stay, and an episode ends before the row is
full. Dropping old images changes the past, so it is for policies that are only evaluated (`keep_last_images`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rlfactory.envs.api.types import ImageRef

Role = Literal["system", "user", "assistant"]

DROPPED_IMAGE = "[an earlier screenshot]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation. A screenshot stands before the text."""

    role: Role
    text: str
    image: ImageRef | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RowBudget:
    """How long a row may become, in tokens."""

    prompt_tokens: int
    """At most this before the first sampled token."""
    response_tokens: int
    """At most this from the first sampled token on: turns, observations and all."""
    turn_tokens: int
    """At most this sampled in one turn."""
    told_tokens: int | None = None
    """At most this much text told between two turns; the middle of more is cut. None: as much as there is."""

    def __post_init__(self) -> None:
        if not 0 < self.turn_tokens <= self.response_tokens or self.prompt_tokens < 1:
            raise ValueError(f"a turn of {self.turn_tokens} tokens does not fit {self}")
        if self.told_tokens is not None and self.told_tokens < 1:
            raise ValueError(f"told_tokens must be at least 1, got {self.told_tokens}")

    def has_room(self, *, prompt: int, row: int) -> bool:
        """Tell whether a whole turn fits: one cut off by the row's end would be learnt from as the model's mistake."""
        return row + self.turn_tokens <= prompt + self.response_tokens


def keep_last_images(messages: Sequence[Message], count: int) -> list[Message]:
    """Return the messages with all but the last `count` images replaced by a word.

    Raises: ValueError: count is negative.
    """
    if count < 0:
        raise ValueError(f"count must not be negative, got {count}")
    places = [index for index, message in enumerate(messages) if message.image is not None]
    dropped = set(places[: max(0, len(places) - count)])
    return [
        replace(message, image=None, text=f"{DROPPED_IMAGE}\n{message.text}".strip()) if index in dropped else message
        for index, message in enumerate(messages)
    ]
