"""What of an episode's past stays in the model's context. Pure.

A row only ever grows: all its images stay. So an episode is one row and ends before that is full; or it is several, of
which each begins with what a `Window` leaves of the past. An endpoint's model, which has no rows, is told its whole
past anew with every turn, less old images (`keep_last_images`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

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
        replace(message, image=None, text=_without_image(message)) if index in dropped else message
        for index, message in enumerate(messages)
    ]


class Past(StrEnum):
    """What is left of turns that are older than a window; `rlfactory.context.past` in a recipe."""

    TEXT = "text"
    """Everything but screenshots."""
    NOTES = "notes"
    """What the model wrote before its calls, below the goal."""
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A turn as it stays in the past."""

    told: Message
    """By the user, before it."""
    wrote: str
    note: str = ""
    """What the model wrote before its calls."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """`rlfactory.context` of a recipe whose episodes are several rows."""

    row_turns: int
    """Sampled in a row at most; fewer where its tokens are used up."""
    images: int
    """The last screenshots that a row begins with, the one of its first turn included."""
    past: Past

    def __post_init__(self) -> None:
        for name in ("row_turns", "images"):
            if getattr(self, name) < 1:
                raise ValueError(f"rlfactory.context.{name}={getattr(self, name)} must be at least 1")

    @classmethod
    def from_config(cls, section: Mapping[str, Any] | None) -> Window | None:
        """Read the section. None: an episode is one row.

        Raises: ValueError: a value does not fit; says what would do.
        """
        if section is None or section["row_turns"] is None:
            return None
        if section["past"] not in list(Past):
            raise ValueError(f"rlfactory.context.past={section['past']} is none of: {', '.join(Past)}")
        return cls(row_turns=int(section["row_turns"]), images=int(section["images"]), past=Past(section["past"]))

    def prompt(self, past: Sequence[Exchange], first: Sequence[Message], now: Message, *, kept: int) -> list[Message]:
        """Return what a row begins with: the goal, what is left of the past, and what is told now.

        Users and assistant take turns in it, for some templates allow nothing else: what stands first stands below the
        goal, in one message with it.

        Args:
            first: what the episode began with; the last message of it is the goal's.
            kept: of the past, at most so many turns as they were; fewer where a row would be too long.
        """
        recent = min(self.images - 1, len(past))
        shown = min(kept, len(past) if self.past is Past.TEXT else recent)
        *system, goal = first
        own = [each.told for each in past[len(past) - shown :]] + [now]
        told = [
            each if place >= len(own) - self.images else replace(each, image=None, text=_without_image(each))
            for place, each in enumerate(own)
        ]
        if shown < len(past):  # otherwise the goal's message is the first of those
            notes = [each.note for each in past[: len(past) - shown]] if self.past is Past.NOTES else []
            lines = [f"[turn {number}] {note}" for number, note in enumerate(notes, 1) if note]
            told[0] = replace(told[0], text="\n".join(part for part in (goal.text, *lines, told[0].text) if part))
        said = [Message(role="assistant", text=each.wrote) for each in past[len(past) - shown :]]
        return [*system, *(message for pair in zip(told, said, strict=False) for message in pair), told[-1]]


def _without_image(message: Message) -> str:
    return f"{DROPPED_IMAGE}\n{message.text}".strip() if message.image is not None else message.text
