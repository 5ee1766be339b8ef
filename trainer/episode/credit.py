"""Who gets credit: from rewards of episodes to advantages. Pure functions; verl computes the same in its estimators."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

_EPSILON = 1e-6
"""verl's, so that equal rewards divide to 0."""


def grpo_advantages(
    rewards: Sequence[float], groups: Sequence[Hashable], *, normalise_by_std: bool = True
) -> list[float]:
    """Return each episode's advantage over its group (Shao et al. 2024, DeepSeekMath, section 4.1.2).

    A group of one keeps its reward, as in verl: there is nothing to compare it with.

    Raises: ValueError: rewards and groups differ in length.
    """
    if len(rewards) != len(groups):
        raise ValueError(f"{len(rewards)} rewards for {len(groups)} group labels")
    members: dict[Hashable, list[float]] = defaultdict(list)
    for reward, group in zip(rewards, groups, strict=True):
        members[group].append(reward)
    centre = {group: _mean(values) if len(values) > 1 else 0.0 for group, values in members.items()}
    scale = {group: _deviation(values) if len(values) > 1 else 1.0 for group, values in members.items()}
    return [
        (reward - centre[group]) / (scale[group] + _EPSILON if normalise_by_std else 1.0)
        for reward, group in zip(rewards, groups, strict=True)
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (n - 1), as torch.std does."""
    mean = _mean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
