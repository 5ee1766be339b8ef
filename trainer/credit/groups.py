"""Which episodes did better than their siblings: from rewards of whole episodes to advantages. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

EPSILON = 1e-6
"""verl's, so that equal rewards divide to 0."""

Floats = NDArray[np.float64]


def members_of(groups: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """Return the places of each group's members."""
    members: dict[Hashable, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        members[group].append(place)
    return members


def grpo_advantages(
    rewards: Sequence[float], groups: Sequence[Hashable], *, normalise_by_std: bool = True
) -> list[float]:
    """Return each episode's advantage over its group (Shao et al. 2024, DeepSeekMath, section 4.1.2).

    Without division by the group's standard deviation it is Dr. GRPO's (Liu et al. 2025, arXiv 2503.20783). A group of
    one has no advantage: there is nothing to compare it with. verl would take its reward as it is, so our replay buffer
    lets no such group through.

    Raises: ValueError: rewards and groups differ in length.
    """
    advantages = np.zeros(len(rewards))
    for own, values in _by_group(rewards, groups):
        # Of a sample (n - 1), as torch.std does.
        scale = values.std(ddof=1) + EPSILON if normalise_by_std else 1.0
        advantages[own] = (values - values.mean()) / scale
    return advantages.tolist()


def leave_one_out_advantages(rewards: Sequence[float], groups: Sequence[Hashable]) -> list[float]:
    """Return each reward less the mean of its siblings' (RLOO, Ahmadian et al. 2024, arXiv 2402.14740).

    The siblings are those that are there: of a group of 8 that lost 3, each of the 5 is compared with 4. A group of one
    has no advantage.

    Raises: ValueError: rewards and groups differ in length.
    """
    advantages = np.zeros(len(rewards))
    for own, values in _by_group(rewards, groups):
        others = (values.sum() - values) / (len(values) - 1)
        advantages[own] = values - others
    return advantages.tolist()


def _by_group(rewards: Sequence[float], groups: Sequence[Hashable]) -> list[tuple[list[int], Floats]]:
    """Return (places, rewards) of each group of at least two."""
    if len(rewards) != len(groups):
        raise ValueError(f"{len(rewards)} rewards for {len(groups)} group labels")
    values = np.asarray(rewards, dtype=np.float64)
    return [(own, values[own]) for own in members_of(groups).values() if len(own) > 1]
