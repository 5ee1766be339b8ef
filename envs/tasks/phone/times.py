"""Times of day and lengths of timers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import Pool
from rlfactory.envs.tasks.phone.pools import MINUTES


@dataclass(frozen=True, order=True, slots=True)
class Time:
    hour: int
    minute: int

    @property
    def text(self) -> str:
        """As "07:25"."""
        return f"{self.hour:02d}:{self.minute:02d}"

    @classmethod
    def parse(cls, text: str) -> Time:
        """Raises: ValueError: not as "07:25"."""
        hour, _, minute = text.partition(":")
        return cls(int(hour), int(minute))

    def __str__(self) -> str:
        return self.text


def draw_times(rng: random.Random, split: Split, count: int) -> tuple[Time, ...]:
    """Draw different times between 05:00 and 22:55; the minutes are the split's own."""
    every = [Time(hour, minute) for hour in range(5, 23) for minute in MINUTES[split]]
    return tuple(rng.sample(every, count))


@dataclass(frozen=True, slots=True)
class TimerLength:
    hours: int
    minutes: int

    @property
    def text(self) -> str:
        """As "1 hour and 30 minutes"."""
        parts = ((self.hours, "hour"), (self.minutes, "minute"))
        return " and ".join(f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in parts if count)

    @property
    def seconds(self) -> int:
        return self.hours * 3600 + self.minutes * 60

    @property
    def digits(self) -> str:
        """What has to be typed into the timer's keypad."""
        return f"{self.hours:02d}{self.minutes:02d}00".lstrip("0")


_RESTS: Final[Mapping[Split, Sequence[int]]] = {"train": (0, 1), "validation": (2,), "test": (3,)}
"""Of minutes, modulo 4."""
LENGTHS: Final[Pool[TimerLength]] = {
    split: tuple(TimerLength(*divmod(minutes, 60)) for minutes in range(3, 180) if minutes % 4 in rests)
    for split, rests in _RESTS.items()
}
