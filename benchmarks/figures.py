"""Figures of a list of durations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Percentiles, in milliseconds."""

    p50: float
    p99: float


def spread(seconds: Sequence[float]) -> Spread:
    return Spread(p50=percentile_ms(seconds, 0.5), p99=percentile_ms(seconds, 0.99))


def percentile_ms(seconds: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile in milliseconds. Raises: ValueError: no samples."""
    if not seconds:
        raise ValueError("no samples")
    ordered = sorted(seconds)
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)
