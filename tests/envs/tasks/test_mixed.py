"""The suite mixed: the oracle looks up and acts; what was not looked up, or looked up carelessly, fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rlfactory.envs.api.types import EpisodeState, SessionOptions, Split, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.tasks.mixed import MIXED_TASKS
from rlfactory.envs.tasks.mixed.databases import BEST_EVER, BIGGEST, TWINS
from rlfactory.envs.tasks.mixed.directory import Entry, made_directory
from rlfactory.envs.tasks.mixed.people import TOWNS
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.flows import notes as note_flows
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.ui_driver import UiDriver

pytestmark = pytest.mark.asyncio(loop_scope="module")

REGISTRY = TaskRegistry(MIXED_TASKS)
OPTIONS = SessionOptions(with_tree=True, with_image=False, max_pixels=20_000)
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
CASES = [(task.name, split, seed) for task in MIXED_TASKS for seed, split in enumerate(SPLITS) if split in task.splits]


def drawn(name: str, *, seed: int = 0) -> Any:
    return REGISTRY.draw(name, seed=seed, split=REGISTRY.get(name).splits[0])


@pytest.mark.parametrize(("name", "split", "seed"), CASES)
async def test_the_oracle_looks_up_then_acts(phone_client: EnvClient, name: str, split: Split, seed: int) -> None:
    record = await play(phone_client, name, seed=seed, split=split, options=OPTIONS)
    assert not record.stuck, record.stuck
    assert record.reward.side_effects == ()
    assert record.reward.success
    assert record.reward.total == 1.0
    assert record.state is EpisodeState.FINISHED
    used = [call.name for step in record.steps for call in step.calls]
    assert {"search", "sql"} & set(used)
    assert set(used) == set(REGISTRY.get(name).tools)


@pytest.mark.parametrize("name", [task.name for task in MIXED_TASKS])
async def test_looking_up_without_acting_fails(phone_client: EnvClient, name: str) -> None:
    task = drawn(name)
    async with phone_client.session(name, seed=0, split=task.splits[0], options=OPTIONS) as session:
        call = {"search": {"query": "Ostby"}, "sql": {"query": "SELECT 1"}}
        tool = task.tools[1]
        looked = await session.step([ToolCall(id="0", name=tool, arguments=dict(call[tool]))])
        assert not looked.reward.success
        assert looked.reward.progress == 0.0
        await UiDriver(session).finish(answer="done")
        assert not session.reward.success
        assert session.reward.side_effects == ()


# --- answers that look right -----------------------------------------------------------------------------------------


def namesake(entry: Entry) -> Entry:
    """Return who has the same trade in another town."""
    split = next(split for split in SPLITS if entry.town in TOWNS[split])
    other = next(town for town in TOWNS[split] if town != entry.town)
    return made_directory().of(split, trade=entry.trade, town=other)


def with_old_number(entry: Entry) -> Person:
    return Person(first=entry.person.first, last=entry.person.last, number=entry.old_number)


def saves(person: Callable[[Any], Person]) -> Act:
    return lambda task, ui: contact_flows.add(ui, person(task))


def sets_alarm(time: Callable[[Any], Any]) -> Act:
    return lambda task, ui: clock_flows.add_alarm(ui, time(task))


def writes(text: Callable[[Any], str]) -> Act:
    return lambda task, ui: note_flows.create(ui, task.note.name, text(task))


Act = Callable[[Any, UiDriver], Awaitable[None]]
NEAR_MISSES: list[tuple[str, str, Act]] = [
    ("mixed.number_to_contact", "the old number", saves(lambda task: with_old_number(task.entry))),
    ("mixed.trade_to_contact", "the trade elsewhere", saves(lambda task: namesake(task.entry).person)),
    ("mixed.changed_number", "beside the old one", saves(lambda task: task.entry.person)),
    ("mixed.opening_alarm", "the closing time", sets_alarm(lambda task: task.entry.closes)),
    ("mixed.address_note", "the town, too", writes(lambda task: f"{task.entry.address}, {task.entry.town}")),
    ("mixed.train_alarm", "the weekend train", sets_alarm(lambda task: task.ride.weekend)),
    ("mixed.total_note", "refunds counted", writes(lambda task: task.spending.with_refunds)),
    ("mixed.best_customer", "the best of all years", saves(lambda task: task.clientele.people[BEST_EVER])),
    ("mixed.best_customer", "the largest purchase", saves(lambda task: task.clientele.people[BIGGEST])),
    ("mixed.noted_customer", "the twin", saves(lambda task: task.clientele.people[TWINS[1]])),
    ("mixed.train_to_person", "the weekend train", sets_alarm(lambda task: task.ride.weekend)),
]


async def test_every_template_has_an_answer_that_only_looks_right():
    assert {name for name, _, _ in NEAR_MISSES} == {task.name for task in MIXED_TASKS}


@pytest.mark.parametrize(("name", "mistake", "act"), NEAR_MISSES)
async def test_an_answer_that_only_looks_right_fails(
    phone_client: EnvClient, name: str, mistake: str, act: Act
) -> None:
    task = drawn(name)
    async with phone_client.session(name, seed=0, split=task.splits[0], options=OPTIONS) as session:
        ui = UiDriver(session)
        await act(task, ui)
        await ui.finish()
        assert session.state is EpisodeState.FINISHED
        assert not session.reward.success
