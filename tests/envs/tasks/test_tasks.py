"""Every template on a simulated phone, through the real service: what has to fail fails, and the oracle succeeds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from rlfactory.envs.api.types import EpisodeState, SessionOptions, Split, ToolCall
from rlfactory.envs.client import EnvClient, Session
from rlfactory.envs.client.oracle import play
from rlfactory.envs.tasks.phone import PHONE_TASKS, clock, contacts, files, notes
from rlfactory.envs.tasks.phone.base import PhoneTask
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.flows import common as flows
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.flows import files as file_flows
from rlfactory.envs.tasks.phone.flows import notes as note_flows
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tasks.validation.played import Case

pytestmark = pytest.mark.asyncio(loop_scope="module")

REGISTRY = TaskRegistry(PHONE_TASKS)
OPTIONS = SessionOptions(with_tree=True, with_image=False, max_pixels=20_000)
CASES = [(task.name, task.splits[place % len(task.splits)]) for place, task in enumerate(PHONE_TASKS)]
SEEDS: dict[Split, int] = {"train": 0, "validation": 1, "test": 2}
"""Each split is played from another seed, and each template in one of its splits; `rlfactory validate` plays all."""
NAMES = [task.name for task in PHONE_TASKS]


def drawn(name: str, *, seed: int, split: Split) -> PhoneTask:
    return cast(PhoneTask, REGISTRY.draw(name, seed=seed, split=split))


def begin(client: EnvClient, name: str, *, seed: int = 0) -> Session:
    """Return a session of the template's first split."""
    return client.session(name, seed=seed, split=REGISTRY.get(name).splits[0], options=OPTIONS)


@pytest.mark.parametrize(("name", "split"), CASES)
async def test_the_oracle_succeeds_without_side_effects(phone_client: EnvClient, name: str, split: Split) -> None:
    seed = SEEDS[split]
    task = drawn(name, seed=seed, split=split)
    record = await play(phone_client, name, seed=seed, split=split, options=OPTIONS)
    assert not record.stuck, record.stuck
    assert record.goal == task.goal
    assert record.reward.side_effects == ()
    assert record.reward.success
    assert record.reward.total == 1.0
    assert record.state is EpisodeState.FINISHED
    assert len(record.steps) <= task.max_turns
    progress = [step.result.reward.progress for step in record.steps]
    assert all(0.0 <= value <= 1.0 for value in progress)
    assert progress == sorted(progress), "an oracle never undoes what it has done"
    assert progress[-1] == 1.0


@pytest.mark.parametrize("name", NAMES)
async def test_an_episode_begins_unsolved_and_doing_nothing_fails(phone_client: EnvClient, name: str) -> None:
    """Without `finish` even what is so already fails; with it only that succeeds."""
    for seed in (0, 1):
        is_so = drawn(name, seed=seed, split=REGISTRY.get(name).splits[0]).is_so_already
        async with begin(phone_client, name, seed=seed) as session:
            first = await session.step([ToolCall(id="0", name="phone", arguments={"action": "wait", "seconds": 0})])
            assert not first.reward.success
            assert first.reward.side_effects == ()
            assert (first.reward.progress == 1.0) is is_so
            await UiDriver(session).finish()
            assert session.reward.success is is_so
            assert session.state is EpisodeState.FINISHED


@pytest.mark.parametrize("name", NAMES)
async def test_a_claim_of_failure_is_no_success(phone_client: EnvClient, name: str) -> None:
    async with begin(phone_client, name) as session:
        await drawn(name, seed=0, split=session.split).solve(Honest(session))
        assert session.reward.progress == 1.0
        assert not session.reward.success


class Honest(UiDriver):
    """Solves the task, then says that it failed."""

    async def finish(self, *, success: bool = True, answer: str = "") -> None:
        await super().finish(success=False, answer=answer)


@pytest.mark.parametrize("name", ["settings.screen_timeout", "contacts.find_number", "files.move"])
async def test_who_does_not_look_loses(phone_client: EnvClient, name: str) -> None:
    """Neither what won another seed wins, nor what won the same goal in another world: `benchmarks.trust` in small."""
    template = REGISTRY.get(name)
    case = Case(template=template, registry=REGISTRY, client=phone_client, other=phone_client, chance=0.0)
    assert await case.wins_of(0, range(40, 44)) == 0
    assert await case.wins_of_same_goals(range(40, 44)) <= 1


# --- collateral damage -----------------------------------------------------------------------------------------------


async def flip_a_switch(task: PhoneTask, ui: UiDriver) -> str:
    await flows.open_settings(ui, "Notifications", "Notification history")
    return "settings/secure/notification_history_enabled: "


async def delete_another_contact(task: PhoneTask, ui: UiDriver) -> str:
    assert isinstance(task, contacts.ContactsTask)
    victim = task.others[0]
    await contact_flows.delete(ui, victim)
    return f"contacts/{victim.full_name}: "


async def delete_another_alarm(task: PhoneTask, ui: UiDriver) -> str:
    assert isinstance(task, clock.ClockTask)
    victim = task.others[0]
    await clock_flows.delete_alarm(ui, victim.time)
    return f"alarms/{victim.time}/{victim.label}: "


async def delete_another_note(task: PhoneTask, ui: UiDriver) -> str:
    assert isinstance(task, notes.NotesTask)
    victim = task.others[0]
    await note_flows.delete(ui, victim.name)
    return f"{victim.key}: "


async def delete_another_file(task: PhoneTask, ui: UiDriver) -> str:
    assert isinstance(task, files.FilesTask)
    victim = next(name for name in task.others if name.partition(".")[2] != task.file.partition(".")[2])
    await file_flows.open_folder(ui, files.DOWNLOAD)
    await file_flows.delete(ui, victim)
    return f"files/Download/{victim}: "


DAMAGE: dict[str, Callable[[PhoneTask, UiDriver], Awaitable[str]]] = {
    "settings": flip_a_switch,
    "compound": flip_a_switch,
    "contacts": delete_another_contact,
    "clock": delete_another_alarm,
    "notes": delete_another_note,
    "files": delete_another_file,
}
"""By area: does one thing that no task of the area asks for, and returns how its side effect begins."""


@pytest.mark.parametrize("name", NAMES)
async def test_collateral_damage_fails_and_is_named(phone_client: EnvClient, name: str) -> None:
    async with begin(phone_client, name) as session:
        task = drawn(name, seed=0, split=session.split)
        ui = UiDriver(session)
        named = await DAMAGE[name.partition(".")[0]](task, ui)
        await task.solve(ui)
        reward = session.reward
        assert reward.progress == 1.0
        assert not reward.success
        assert [line for line in reward.side_effects if not line.startswith(named)] == []
        assert len(reward.side_effects) == 1
