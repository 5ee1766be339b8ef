"""Which tasks are worth an episode: what is always or never solved teaches a group nothing, so it is drawn less. Pure.

A group learns from the difference between its episodes. Of a task that is solved with probability p the rewards differ
by a variance of p (1 - p), so tasks are drawn in proportion to it, with p as recent episodes tell.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class CurriculumSettings:
    """`rlfactory.curriculum` of a recipe."""

    enabled: bool = False
    least: float = 0.05
    """Weight of a task that is always or never solved; half the time is 1. Above 0, so that none is ever given up."""
    remembered: float = 64.0
    """Episodes of a task whose success counts: each further one takes 1 part in so many of what was known before."""

    def __post_init__(self) -> None:
        if not 0 < self.least <= 1:
            raise ValueError(f"rlfactory.curriculum.least={self.least:g} must be above 0 and at most 1")
        if self.remembered < 1:
            raise ValueError(f"rlfactory.curriculum.remembered={self.remembered:g} must be at least 1")

    @classmethod
    def from_config(cls, section: Mapping[str, Any], *, filtered: bool, tasks: int) -> CurriculumSettings:
        """Read the section. `filtered`: groups that are all alike are dropped unseen; `tasks`: how many there are.

        Raises: ValueError: a value does not fit, or there is nothing to choose from or by; says what would do.
        """
        own = cls(
            enabled=bool(section["enabled"]), least=float(section["least"]), remembered=float(section["remembered"])
        )
        if own.enabled and filtered:
            raise ValueError(
                "rlfactory.curriculum.enabled=true counts groups that algorithm.filter_groups.enable=true drops "
                "unseen: one of them has to be false"
            )
        if own.enabled and tasks < 2:
            raise ValueError("rlfactory.curriculum.enabled=true chooses between tasks, and the recipe has one alone")
        return own


@dataclass(slots=True)
class Curriculum:
    """How often each task was solved lately."""

    settings: CurriculumSettings
    _solved: dict[str, float] = field(default_factory=dict)
    _played: dict[str, float] = field(default_factory=dict)

    def note(self, task: str, *, solved: bool) -> None:
        """Count an episode."""
        kept = 1 - 1 / self.settings.remembered
        self._solved[task] = self._solved.get(task, 0.0) * kept + solved
        self._played[task] = self._played.get(task, 0.0) * kept + 1

    def success(self, task: str) -> float:
        """Return the mean of what is known, with one success and one failure before anything is."""
        return (self._solved.get(task, 0.0) + 1) / (self._played.get(task, 0.0) + 2)

    def weight(self, task: str) -> float:
        """Return how often a task is drawn: 1 where it is solved half the time."""
        success = self.success(task)
        return max(4 * success * (1 - success), self.settings.least)

    def draw(self, tasks: Sequence[str], rng: random.Random) -> str:
        return rng.choices(tasks, [self.weight(task) for task in tasks])[0]
