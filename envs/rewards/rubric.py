"""A reward as named, weighted parts. All parts are reported; their weighted sum is what the learner sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rlfactory.envs.api.types import Reward
from rlfactory.envs.rewards.verdict import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One component of a reward."""

    name: str
    weight: float
    """0 for a part that is only reported."""
    score: Callable[[Verdict], float]
    """0..1."""


SUCCESS = Part(name="success", weight=1.0, score=lambda verdict: float(verdict.success))
PROGRESS = Part(name="progress", weight=0.0, score=lambda verdict: verdict.progress)
NO_SIDE_EFFECTS = Part(name="no_side_effects", weight=0.0, score=lambda verdict: float(not verdict.side_effects))


@dataclass(frozen=True, kw_only=True, slots=True)
class Rubric:
    """How a verdict becomes a reward. By default 1 for success, else 0."""

    parts: Sequence[Part] = field(default=(SUCCESS, PROGRESS, NO_SIDE_EFFECTS))

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"two parts of a rubric have the same name: {', '.join(names)}")

    def reward(self, verdict: Verdict) -> Reward:
        """Return the reward with all its parts."""
        scores = {part.name: part.score(verdict) for part in self.parts}
        return Reward(
            total=sum(part.weight * scores[part.name] for part in self.parts),
            parts=scores,
            progress=verdict.progress,
            success=verdict.success,
            side_effects=verdict.side_effects,
        )
