"""The suite mixed: the oracle looks up and acts; what was not looked up, or looked up carelessly, fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.types import EpisodeState, SessionOptions, Split, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.tasks.mixed import MIXED_TASKS
from rlfactory.envs.tasks.mixed.databases import BEST_EVER, BIGGEST, TWINS
from rlfactory.envs.tasks.mixed.directory import Entry, made_directory
from rlfactory.envs.tasks.mixed.people import TOWNS
from rlfactory.envs.tasks.phone import clock_flows, contact_flows, note_flows
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.ui_driver import UiDriver

pytestmark = pytest.mark.asyncio(loop_scope="module")

REGISTRY = TaskRegistry(MIXED_TASKS)
OPTIONS = SessionOptions(with_tree=True, with_image=False, max_pixels=20_000)
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
CASES = [(task.name, split, seed) for task in MIXED_TASKS for seed, split in enumerate(SPLITS) if split in task.splits]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[EnvClient]:
    phones = phone_source(PhonesConfig(phones=1, width_px=540, height_px=1200))
    async with serving(ServerConfig(), phones=phones) as server, EnvClient(server.address) as client:
        yield client


def drawn(name: str, *, seed: int = 0) -> Any:
    return REGISTRY.draw(name, seed=seed, split=REGISTRY.get(name).splits[0])


@pytest.mark.parametrize(("name", "split", "seed"), CASES)
async def test_the_oracle_looks_up_then_acts(client: EnvClient, name: str, split: Split, seed: int) -> None:
    record = await play(client, name, seed=seed, split=split, options=OPTIONS)
    assert not record.stuck, record.stuck
    assert record.reward.side_effects == ()
    assert record.reward.success
    assert record.reward.total == 1.0
    assert record.state is EpisodeState.FINISHED
    used = [call.name for step in record.steps for call in step.calls]
    assert {"search", "sql"} & set(used)
    assert set(used) == set(REGISTRY.get(name).tools)


@pytest.mark.parametrize("name", [task.name for task in MIXED_TASKS])
async def test_looking_up_without_acting_fails(client: EnvClient, name: str) -> None:
    task = drawn(name)
    async with client.session(name, seed=0, split=task.splits[0], options=OPTIONS) as session:
        call = {"search": {"query": "Ostby"}, "sql": {"query": "SELECT 1"}}
        tool = task.tools[1]
        looked = await session.step([ToolCall(id="0", name=tool, arguments=dict(call[tool]))])
        assert not looked.reward.success
        assert looked.reward.progress == 0.0
        await UiDriver(session).finish(answer="done")
        assert not session.reward.success
        assert session.reward.side_effects == ()


# --- answers that look right -----------------------------------------------------------------------------------------


def with_number(person: Person, number: str) -> Person:
    return Person(first=person.first, last=person.last, number=number)


async def save_the_old_number(task: Any, ui: UiDriver) -> None:
    await contact_flows.add(ui, with_number(task.entry.person, task.entry.old_number))


async def save_who_has_the_trade_elsewhere(task: Any, ui: UiDriver) -> None:
    await contact_flows.add(ui, namesake(task.entry).person)


def namesake(entry: Entry) -> Entry:
    """Return who has the same trade in another town."""
    split = next(split for split in SPLITS if entry.town in TOWNS[split])
    other = next(town for town in TOWNS[split] if town != entry.town)
    return made_directory().of(split, trade=entry.trade, town=other)


async def add_beside_the_old_one(task: Any, ui: UiDriver) -> None:
    await contact_flows.add(ui, task.entry.person)


async def set_the_closing_time(task: Any, ui: UiDriver) -> None:
    await clock_flows.add_alarm(ui, task.entry.closes)


async def write_more_than_the_address(task: Any, ui: UiDriver) -> None:
    await note_flows.create(ui, task.note.name, f"{task.entry.address}, {task.entry.town}")


async def take_the_weekend_train(task: Any, ui: UiDriver) -> None:
    await clock_flows.add_alarm(ui, task.ride.weekend)


async def count_refunds(task: Any, ui: UiDriver) -> None:
    await note_flows.create(ui, task.note.name, task.spending.with_refunds)


async def save_the_best_of_all_years(task: Any, ui: UiDriver) -> None:
    await contact_flows.add(ui, task.clientele.people[BEST_EVER])


async def save_the_largest_purchase(task: Any, ui: UiDriver) -> None:
    await contact_flows.add(ui, task.clientele.people[BIGGEST])


async def save_the_twin(task: Any, ui: UiDriver) -> None:
    await contact_flows.add(ui, task.clientele.people[TWINS[1]])


NEAR_MISSES: list[tuple[str, Callable[[Any, UiDriver], Awaitable[None]]]] = [
    ("mixed.number_to_contact", save_the_old_number),
    ("mixed.trade_to_contact", save_who_has_the_trade_elsewhere),
    ("mixed.changed_number", add_beside_the_old_one),
    ("mixed.opening_alarm", set_the_closing_time),
    ("mixed.address_note", write_more_than_the_address),
    ("mixed.train_alarm", take_the_weekend_train),
    ("mixed.total_note", count_refunds),
    ("mixed.best_customer", save_the_best_of_all_years),
    ("mixed.best_customer", save_the_largest_purchase),
    ("mixed.noted_customer", save_the_twin),
    ("mixed.train_to_person", take_the_weekend_train),
]


async def test_every_template_has_an_answer_that_only_looks_right():
    assert {name for name, _ in NEAR_MISSES} == {task.name for task in MIXED_TASKS}


@pytest.mark.parametrize(("name", "act"), NEAR_MISSES, ids=[act.__name__ for _, act in NEAR_MISSES])
async def test_an_answer_that_only_looks_right_fails(
    client: EnvClient, name: str, act: Callable[[Any, UiDriver], Awaitable[None]]
) -> None:
    task = drawn(name)
    async with client.session(name, seed=0, split=task.splits[0], options=OPTIONS) as session:
        ui = UiDriver(session)
        await act(task, ui)
        await ui.finish()
        assert session.state is EpisodeState.FINISHED
        assert not session.reward.success
