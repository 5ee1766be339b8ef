"""The parts that sessions are made of, each by itself."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.envs.api.errors import InfrastructureError, LimitExceeded, OutOfOrder, TaskError
from rlfactory.envs.api.types import ImageFormat, ImageRef, Observation, SessionOptions
from rlfactory.envs.service.events import EventBus
from rlfactory.envs.service.idempotency import AtMostOnce
from rlfactory.envs.service.limits import Limits, bounded
from rlfactory.envs.service.observer import SentImages
from rlfactory.envs.service.phones import EpisodeKey, Goldens
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry

KEY = EpisodeKey("a", 1, "train")


# --- at most once ----------------------------------------------------------------------------------------------------


async def test_an_error_is_an_outcome_too_and_is_kept():
    once, runs = AtMostOnce[int](grace_s=1.0), []

    async def fail():
        runs.append(1)
        raise InfrastructureError("gone")

    for _ in range(2):
        with pytest.raises(InfrastructureError, match="gone"):
            await once.run(1, "x", fail)
    assert runs == [1]


async def test_numbers_continue_after_those_that_count_as_done():
    once = AtMostOnce[int](done=4, grace_s=1.0)
    with pytest.raises(OutOfOrder, match="the next is 5"):
        once.is_new(4)
    assert once.is_new(5)


async def test_the_last_caller_to_leave_cancels_the_work(eventually):
    once, gate, log = AtMostOnce[int](grace_s=0.0), asyncio.Event(), []

    async def wait():
        log.append("begun")
        try:
            await gate.wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    callers = [asyncio.create_task(once.run(1, "x", wait)) for _ in range(2)]
    await eventually(lambda: log == ["begun"])
    callers[0].cancel()
    await eventually(callers[0].cancelled)
    await asyncio.sleep(0)  # a grace of no time would be over
    assert log == ["begun"]
    assert once.running
    callers[1].cancel()
    await eventually(lambda: log == ["begun", "cancelled"])
    await asyncio.gather(*callers, return_exceptions=True)
    await eventually(lambda: once.is_new(1))  # its number is free again


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from("ab")), max_size=30))
def test_whatever_is_asked_each_number_runs_at_most_once_and_in_order(requests):
    async def play():
        once, done = AtMostOnce[tuple[int, str]](grace_s=1.0), []
        for seq, calls in requests:

            async def work(seq=seq, calls=calls):
                done.append((seq, calls))
                return seq, calls

            with contextlib.suppress(OutOfOrder):
                assert await once.run(seq, calls, work) == (seq, calls)
        assert [seq for seq, _ in done] == list(range(1, len(done) + 1))

    asyncio.run(play())


# --- events ----------------------------------------------------------------------------------------------------------


async def test_a_slow_watcher_loses_the_oldest_and_is_told_how_many():
    bus = EventBus(max_watchers=1, queue=2)
    events = bus.watch()
    for number in range(5):
        bus.emit("step", "s", str(number))
    first = await anext(events)
    second = await anext(events)
    assert [(event.message, event.dropped) for event in (first, second)] == [("3", 3), ("4", 0)]


async def test_watching_ends_with_the_bus_and_frees_its_place():
    bus = EventBus(max_watchers=1, queue=2)
    events = bus.watch("s")
    with pytest.raises(LimitExceeded, match="max_watchers"):
        bus.watch()
    bus.emit("close", "s", "bye")
    bus.close()
    assert [event.message async for event in events] == ["bye"]
    assert bus.watch() is not None


# --- goldens, pictures, options, registry ----------------------------------------------------------------------------


def test_the_first_hash_is_the_golden_one():
    goldens = Goldens(capacity=10)
    assert [goldens.agrees(KEY, each) for each in ("h", "h", "other", "h")] == [True, True, False, True]
    assert goldens.agrees(KEY._replace(split="test"), "other")


def test_the_oldest_golden_is_forgotten_first():
    goldens = Goldens(capacity=2)
    keys = [KEY._replace(seed=seed) for seed in range(3)]
    for key in keys:
        goldens.agrees(key, "h")
    assert goldens.agrees(keys[0], "new")
    assert not goldens.agrees(keys[2], "new")


def test_each_picture_is_new_once():
    image = ImageRef(data=b"a", format=ImageFormat.PNG, width_px=1, height_px=1, digest="d")
    sent = SentImages()
    seen = Observation(sequence=1, image=image)
    assert [sent.is_new(seen), sent.is_new(seen), sent.is_new(Observation(sequence=2))] == [True, False, False]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"image_quality": 0}, "image_quality is 0; it must be from 1 to 100"),
        ({"multiple_px": 0}, "multiple_px"),
        ({"max_pixels": -1}, "max_pixels"),
        ({"max_turns": -1}, "max_turns"),
        ({"lease_s": 0.0}, "lease_s"),
        ({"lease_s": float("nan")}, "lease_s"),
        ({"step_timeout_s": float("inf")}, "step_timeout_s"),
        ({"group": "g" * 201}, "group is of 201 characters"),
    ],
)
def test_options_that_make_no_sense_are_refused(option, words):
    with pytest.raises(TaskError, match=words):
        bounded(SessionOptions(**option), Limits())


def test_options_stay_within_the_services_limits():
    options = bounded(SessionOptions(lease_s=1e9, step_timeout_s=1e9), Limits(max_lease_s=5, max_step_timeout_s=6))
    assert (options.lease_s, options.step_timeout_s) == (5, 6)


def test_limits_are_checked():
    with pytest.raises(ValueError, match="max_sessions must be above 0"):
        Limits(max_sessions=0)


def test_the_default_registry_is_sorted_and_draws_the_same_from_the_same_seed():
    registry = default_registry()
    names = [task.name for task in registry]
    assert names == sorted(names)
    assert len(registry) == len(names) >= 24
    for template in registry:
        split = template.splits[0]
        assert registry.draw(template.name, seed=5, split=split) == registry.draw(template.name, seed=5, split=split)


def test_a_task_registry_refuses_duplicates():
    task = next(iter(default_registry()))
    with pytest.raises(ValueError, match="two entries"):
        TaskRegistry((task, task))
    registry = TaskRegistry()
    registry.add(task)
    assert registry.get(task.name) is task
