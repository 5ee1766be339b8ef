"""Times of day."""

from __future__ import annotations

import random
from dataclasses import dataclass

from envs.tasks.phone.base import Pool
from envs.types import Split

MINUTES: Pool[int] = {
    "train": (0, 5, 10, 20, 25, 35, 40, 50),
    "validation": (15, 45),
    "test": (30, 55),
}


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
