"""The benchmark of the executor tells the truth on a small load: statuses, order, and a schedule that can be beaten."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.tools import Load, bound_s, draw, ideal_s, measure

LOAD = Load(calls=60, sessions=12, concurrency=6, deadline_s=0.15)


async def test_a_small_load_is_played_right():
    figures = await measure(LOAD, noop_calls=320)
    assert figures.wrong == 0
    assert figures.hangs == 3
    assert figures.makespan_over_ideal >= 0.99
    assert figures.speedup_sequential > 2
    assert {"makespan_over_ideal", "speedup_sequential", "speedup_barrier", "noop_calls_per_s"} <= asdict(
        figures
    ).keys()


def test_the_ideal_schedule_is_one_that_places_and_turns_allow():
    drawn = draw(LOAD)
    work_s = sum(each.duration_s(LOAD.deadline_s) for each in drawn)
    assert bound_s(LOAD, drawn) <= ideal_s(LOAD, drawn) < work_s
    alone = Load(calls=60, sessions=12, concurrency=1, deadline_s=0.15)
    assert abs(ideal_s(alone, drawn) - work_s) < 1e-9
