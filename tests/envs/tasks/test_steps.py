"""The suite `steps`: every round can be played in the turns that its name says, and the decisions decide."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.types import SessionOptions, Split
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.tasks.phone.steps import STEPS_TASKS, StepsTask
from rlfactory.envs.tasks.phone.tiny import TINY_TASKS, KnobTask
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Outcome
from rlfactory.envs.tasks.ui_driver import UiDriver

REGISTRY = TaskRegistry(STEPS_TASKS)
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
OPTIONS = SessionOptions(with_tree=True, max_pixels=24576)


@pytest.fixture
async def small(client_of: Callable[..., AbstractAsyncContextManager[EnvClient]]) -> AsyncIterator[EnvClient]:
    """A service of phones as small as the tiny model's."""
    async with client_of(phones=DirectSource(PhoneConfig(width_px=480, height_px=800))) as client:
        yield client


def drawn(name: str, seed: int, split: Split = "train") -> StepsTask:
    task = REGISTRY.draw(name, seed=seed, split=split)
    assert isinstance(task, StepsTask)
    return task


@pytest.mark.parametrize(("number", "name"), [*enumerate(each.name for each in STEPS_TASKS)])
async def test_the_oracle_needs_no_more_turns_than_the_name_says(small: EnvClient, number: int, name: str) -> None:
    split = SPLITS[number % 3]
    record = await play(small, name, seed=number, split=split, options=OPTIONS)
    assert (record.stuck, record.reward.side_effects, record.reward.success) == ("", (), True)
    task = drawn(name, number, split)
    assert task.turns // 2 <= len(record.steps) <= task.turns
    assert task.max_turns == 1.5 * task.turns


async def test_who_acts_without_looking_undoes_what_was_right(small: EnvClient) -> None:
    name = "steps.turns8_decisions4"
    seed = next(seed for seed in range(50) if 0 < sum(_differs(drawn(name, seed))) < 4)
    task = drawn(name, seed)
    async with small.session(name, seed=seed, options=OPTIONS) as session:
        hasty = type(task)(looks=task.looks, wanted=task.wanted, start=tuple(not want for want in task.wanted))
        await hasty.solve(UiDriver(session))
        assert not session.reward.success
        assert session.reward.progress == sum(_differs(task)) / 4


def _differs(task: StepsTask) -> list[bool]:
    return [want != start for want, start in zip(task.wanted, task.start, strict=True)]


@pytest.mark.parametrize("task", STEPS_TASKS, ids=lambda task: task.name)
def test_only_the_decisions_are_open(task: type[StepsTask]) -> None:
    seen = [_differs(drawn(task.name, seed)) for seed in range(60)]
    assert [len({each[control] for each in seen}) for control in range(len(task.controls))] == [
        2 if number < task.decisions else 1 for number in range(len(task.controls))
    ]
    assert all(all(each[task.decisions :]) for each in seen)


def test_splits_show_other_people_times_and_files() -> None:
    told = {split: {drawn("steps.turns24_decisions4", seed, split).looks for seed in range(40)} for split in SPLITS}
    words = [{w for each in told[split] for w in (*each.times, *each.people, *each.files)} for split in SPLITS]
    assert not words[0] & words[1] and not words[1] & words[2] and not words[0] & words[2]
    # Pages of two kinds; which of a page's controls come first differs, or moves that won once would win again.
    assert len({tuple(sorted(each.times)) for each in told["train"]}) == 2
    assert len({each.times for each in told["train"]}) == 2 * 6


def test_what_a_control_belongs_to_stays_as_it_was() -> None:
    task = drawn("steps.turns8_decisions4", 0)
    people, times = task.looks.people[:1], task.looks.times

    def state(on: tuple[bool, ...], **others: object) -> dict[str, str]:
        records: dict[str, dict[str, object]] = {f"contacts/{people[0]}": {"starred": on[-1]}}
        records |= {f"alarms/{time}/": {"on": is_on, "days": 0} for time, is_on in zip(times, on, strict=False)}
        return {key: json.dumps({**fields, **others}) for key, fields in records.items()}

    def won(after: dict[str, str]) -> bool:
        outcome = Outcome(state=after, initial=state(task.start), finished=True, claimed_success=True, answer="")
        return all(check.holds for check in task.checks(outcome))

    done = state(task.wanted)
    assert won(done)
    changed = state(task.wanted, company="Acme", vibrate=False)
    assert [key for key in done if won({**done, key: changed[key]})] == []


def test_wifi_that_is_on_in_airplane_mode_is_on() -> None:
    registry = TaskRegistry(TINY_TASKS)
    tasks = [registry.draw("tiny.airplane", seed=seed, split="train") for seed in range(20)]
    task = next(task for task in tasks if isinstance(task, KnobTask) and task.wanted)
    values = {"airplane_mode_on": "1", "bluetooth_on": "0"}
    holding = {}
    for wifi in "0123":
        state = {f"settings/global/{key}": value for key, value in {**values, "wifi_on": wifi}.items()}
        outcome = Outcome(state=state, initial={}, finished=True, claimed_success=True, answer="")
        holding[wifi] = all(check.holds for check in task.checks(outcome))
    assert holding == {"0": True, "1": False, "2": False, "3": True}
