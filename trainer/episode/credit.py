"""Who gets credit: from rewards of episodes to advantages. Pure functions; verl computes the same in its estimators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import fmean, stdev

_EPSILON = 1e-6
"""verl's, so that equal rewards divide to 0."""


def grpo_advantages(
    rewards: Sequence[float], groups: Sequence[Hashable], *, normalise_by_std: bool = True
) -> list[float]:
    """Return each episode's advantage over its group (Shao et al. 2024, DeepSeekMath, section 4.1.2).

    A group of one has no advantage: there is nothing to compare it with. verl would take its reward as it is, so our
    replay buffer lets no such group through.

    Raises: ValueError: rewards and groups differ in length.
    """
    if len(rewards) != len(groups):
        raise ValueError(f"{len(rewards)} rewards for {len(groups)} group labels")
    members: dict[Hashable, list[float]] = defaultdict(list)
    for reward, group in zip(rewards, groups, strict=True):
        members[group].append(reward)
    centre = {group: fmean(values) for group, values in members.items()}
    # Of a sample (n - 1), as torch.std does.
    scale = {group: stdev(values) if len(values) > 1 else 1.0 for group, values in members.items()}
    return [
        (reward - centre[group]) / (scale[group] + _EPSILON if normalise_by_std else 1.0)
        for reward, group in zip(rewards, groups, strict=True)
    ]
