"""Which turns did it: from what siblings met on their ways to an advantage for each turn. Pure functions.

A phone's state has a hash, so siblings that came to the same state are known exactly: what follows from there is a
fair sample of what the state is worth, and the difference between two states is the credit of the turn between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from rlfactory.trainer.credit.groups import EPSILON, Floats, grpo_advantages, leave_one_out_advantages

Place = tuple[Hashable, str]
"""A state within a group: what a state is worth depends on the goal, which a group shares."""


class Estimator(StrEnum):
    """How advantages are estimated; `rlfactory.credit.estimator` in a recipe."""

    GRPO = "grpo"
    """Of whole episodes, divided by the group's deviation."""
    DR_GRPO = "dr_grpo"
    """Of whole episodes, not divided."""
    RLOO = "rloo"
    """Of whole episodes, each against its siblings without itself."""
    GIGPO = "gigpo"
    """GRPO's, and beside it each turn against the turns that began in the same state."""
    STATE_VALUES = "state_values"
    """What the state after a turn is worth, less what the state before it is worth."""
    PROGRESS = "progress"
    """The verdict's own progress as a critic: a turn earns what it brings nearer."""


BY_STATE: Final = frozenset({Estimator.GIGPO, Estimator.STATE_VALUES})
"""Those that learn nothing of turns where states are not known: without phones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Credit:
    """`rlfactory.credit` of a recipe."""

    estimator: Estimator
    discount: float = 1.0
    """Of a reward by each turn that it lies ahead; Greek gamma elsewhere."""
    step_weight: float = 1.0
    """`gigpo`: of what a turn earns beside what its episode does."""
    trace: float = 0.0
    """`state_values`, `progress`: share of later surprises that a turn answers for, GAE's lambda. 1: of all of them,
    without bias; 0: of none, so that luck later on is no credit."""
    potential: float = 1.0
    """`progress`: what full progress is worth."""

    def __post_init__(self) -> None:
        if not 0 < self.discount <= 1:
            raise ValueError(f"rlfactory.credit.discount={self.discount:g} must be above 0 and at most 1")
        if not 0 <= self.trace <= 1:
            raise ValueError(f"rlfactory.credit.trace={self.trace:g} must be within 0..1")
        for name in ("step_weight", "potential"):
            if getattr(self, name) < 0:
                raise ValueError(f"rlfactory.credit.{name}={getattr(self, name):g} must not be negative")


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """What credit is given by: one episode as a way through states."""

    group: Hashable
    total: float
    """The episode's reward, paid at its end."""
    states: tuple[str, ...]
    """Of each turn, when it began; "" is equal to no other state."""
    progress: tuple[float, ...] = ()
    """The verdict's, 0..1, of each turn when it began. Empty where an estimator needs none."""

    def __post_init__(self) -> None:
        if self.progress and len(self.progress) != len(self.states):
            raise ValueError(f"{len(self.progress)} figures of progress for {len(self.states)} turns")

    def returns(self, discount: float) -> Floats:
        """What is still to come when each turn begins, [turns]."""
        ahead = np.arange(len(self.states) - 1, -1, -1)
        return np.asarray(self.total * discount**ahead, dtype=np.float64)


def turn_advantages(
    ways: Sequence[Way], credit: Credit, *, continued: Mapping[Place, Sequence[float]] | None = None
) -> list[Floats]:
    """Return for each episode the advantages of its turns, [turns].

    Args:
        continued: of forked phones: what episodes that went on from a state got in the end, discounted to that state.
            Only `state_values` hears of it.
    """
    groups, totals = [way.group for way in ways], [way.total for way in ways]
    match credit.estimator:
        case Estimator.GRPO | Estimator.DR_GRPO:
            plain = grpo_advantages(totals, groups, normalise_by_std=credit.estimator is Estimator.GRPO)
            return _broadcast(plain, ways)
        case Estimator.RLOO:
            return _broadcast(leave_one_out_advantages(totals, groups), ways)
        case Estimator.GIGPO:
            whole = _broadcast(grpo_advantages(totals, groups), ways)
            steps = step_advantages(ways, discount=credit.discount)
            return [a + credit.step_weight * b for a, b in zip(whole, steps, strict=True)]
        case Estimator.STATE_VALUES:
            values = state_values(ways, discount=credit.discount, continued=continued or {})
            earned = [_gae(way, value, credit) for way, value in zip(ways, values, strict=True)]
            return _over_deviation(earned, ways, continued or {})
        case Estimator.PROGRESS:
            return [_gae(way, credit.potential * np.asarray(way.progress), credit) for way in ways]


def step_advantages(ways: Sequence[Way], *, discount: float) -> list[Floats]:
    """Return how each turn's return compares with those of all turns of its group that began in the same state.

    GiGPO (Feng et al. 2025, arXiv 2505.10978, section 4.2), with states that are equal instead of texts that look so.
    A state that only one turn met has nothing to be compared with: 0.
    """
    returns = [way.returns(discount) for way in ways]
    places = [(way.group, state or (number, turn)) for number, way in enumerate(ways) for turn, state in _turns(way)]
    flat = grpo_advantages(np.concatenate([np.zeros(0), *returns]).tolist(), places)
    return _cut(np.asarray(flat), ways)


def state_values(ways: Sequence[Way], *, discount: float, continued: Mapping[Place, Sequence[float]]) -> list[Floats]:
    """Return what the state before each turn is worth: the mean return of all that came there, forks included."""
    samples: dict[Hashable, list[float]] = defaultdict(list)
    for place, returns in continued.items():
        samples[place].extend(returns)
    for number, way in enumerate(ways):
        for (turn, state), value in zip(_turns(way), way.returns(discount), strict=True):
            samples[way.group, state or (number, turn)].append(float(value))
    means = {place: float(np.mean(values)) for place, values in samples.items()}
    flat = [means[way.group, state or (number, turn)] for number, way in enumerate(ways) for turn, state in _turns(way)]
    return _cut(np.asarray(flat, dtype=np.float64), ways)


def _turns(way: Way) -> enumerate[str]:
    return enumerate(way.states)


def _gae(way: Way, values: Floats, credit: Credit) -> Floats:
    """Return the generalised advantage estimates of one episode (Schulman et al. 2016, arXiv 1506.02438), [turns].

    With a task's progress for values it is potential-based shaping: over an episode its terms cancel, so the best
    policy stays the best (Ng, Harada and Russell 1999).
    """
    if not len(values):
        return values
    after = np.append(values[1:], 0.0)  # nothing is to come after the end
    paid = np.zeros(len(values))
    paid[-1] = way.total
    surprises = paid + credit.discount * after - values
    advantages = np.zeros(len(values))
    carried = 0.0
    for turn in range(len(values) - 1, -1, -1):
        carried = surprises[turn] + credit.discount * credit.trace * carried
        advantages[turn] = carried
    return advantages


def _over_deviation(
    advantages: list[Floats], ways: Sequence[Way], continued: Mapping[Place, Sequence[float]]
) -> list[Floats]:
    """Divide by the deviation of a group's totals, forks included: a turn that decides all gets what GRPO gives it."""
    totals: dict[Hashable, list[float]] = defaultdict(list)
    for way in ways:
        totals[way.group].append(way.total)
    for (group, _), returns in continued.items():
        totals[group].extend(returns)
    deviation = {group: np.std(values, ddof=1) if len(values) > 1 else 1.0 for group, values in totals.items()}
    return [each / (deviation[way.group] + EPSILON) for each, way in zip(advantages, ways, strict=True)]


def _broadcast(advantages: Sequence[float], ways: Sequence[Way]) -> list[Floats]:
    return [np.full(len(way.states), value) for way, value in zip(ways, advantages, strict=True)]


def _cut(flat: Floats, ways: Sequence[Way]) -> list[Floats]:
    return np.split(flat, np.cumsum([len(way.states) for way in ways])[:-1]) if ways else []
