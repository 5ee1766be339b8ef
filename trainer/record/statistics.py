"""Figures of an evaluation: pass@k, the Wilson interval, a bootstrap over templates. Pure functions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from math import comb, sqrt
from statistics import fmean
from typing import Final

Z_95 = 1.959963984540054
"""Of the normal distribution, for a two-sided interval of 95 %."""
DRAWS: Final = 5000
"""Of a resampling test; an interval takes a fifth."""


def wilson_interval(successes: float, trials: int, *, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of a share; (0, 1) without trials.

    Wilson, E. B. (1927), "Probable inference, the law of succession, and statistical inference".
    Raises: ValueError: successes outside 0..trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be within 0..{trials}, got {successes}")
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    spread = z / scale * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, centre - spread), min(1.0, centre + spread)


def pass_at_k(successes: int, attempts: int, k: int) -> float:
    """Return the unbiased estimate of the chance that one of k attempts succeeds, from `attempts` >= k of them.

    Chen et al. (2021), "Evaluating large language models trained on code", equation 1.
    Raises: ValueError: k outside 1..attempts, or successes outside 0..attempts.
    """
    if not 1 <= k <= attempts:
        raise ValueError(f"k must be within 1..{attempts}, got {k}")
    if not 0 <= successes <= attempts:
        raise ValueError(f"successes must be within 0..{attempts}, got {successes}")
    return 1.0 - comb(attempts - successes, k) / comb(attempts, k)


def hierarchical_interval(by_task: Mapping[str, Sequence[float]], rng: random.Random) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean over pairs: templates are drawn, then pairs of each."""
    tasks = sorted(by_task)
    means = []
    for _ in range(DRAWS // 5):
        drawn = [value for task in rng.choices(tasks, k=len(tasks)) for value in _resampled(by_task[task], rng)]
        means.append(fmean(drawn))
    means.sort()
    return means[round(0.025 * (len(means) - 1))], means[round(0.975 * (len(means) - 1))]


def _resampled(values: Sequence[float], rng: random.Random) -> list[float]:
    return rng.choices(values, k=len(values))
