"""Times of day and lengths of timers."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import Pool
from rlfactory.envs.tasks.phone.pools import MINUTES, pool_of


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
    text: str
    hours: int
    minutes: int

    @property
    def seconds(self) -> int:
        return self.hours * 3600 + self.minutes * 60

    @property
    def digits(self) -> str:
        """What has to be typed into the timer's keypad."""
        return f"{self.hours:02d}{self.minutes:02d}00".lstrip("0")


LENGTHS: Pool[TimerLength] = pool_of("timer_lengths", TimerLength)
