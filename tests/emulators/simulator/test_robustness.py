"""A phone outlives chance and malice: a slice of `python -m benchmarks.robustness`."""

from __future__ import annotations

from benchmarks.robustness import measure


async def test_a_phone_outlives_random_events_and_packets() -> None:
    figures = await measure(200, seed=1, looks=())
    assert (figures.events, figures.crashes, figures.unwell) == (200, 0, 0), figures.faults
    assert figures.packets > 50
