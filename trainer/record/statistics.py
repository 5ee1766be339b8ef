"""Figures of an evaluation: pass@k and the Wilson interval. Pure functions."""

from __future__ import annotations

from math import comb, sqrt

Z_95 = 1.959963984540054
"""Of the normal distribution, for a two-sided interval of 95 %."""


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
