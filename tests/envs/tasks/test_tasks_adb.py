"""One template of each area on a phone behind a real adb server: the same start as in process, and the same verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPTIONS = SessionOptions(with_tree=True, with_image=False, max_pixels=20_000)
NAMES = (
    "settings.switch",
    "contacts.find_number",
    "clock.alarm_off",
    "notes.delete",
    "files.delete",
    "compound.number_of_noted_person",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(client_of: Any) -> AsyncIterator[tuple[EnvClient, EnvClient]]:
    """Of a service in process, and of one behind adb."""
    sources = [phone_source(PhonesConfig(phones=1, kind=kind)) for kind in (SourceKind.DIRECT, SourceKind.ADB)]
    async with client_of(phones=sources[0]) as direct, client_of(phones=sources[1]) as adb:
        yield direct, adb


@pytest.mark.parametrize("name", NAMES)
async def test_a_task_is_the_same_over_adb(clients: tuple[EnvClient, EnvClient], name: str) -> None:
    direct, adb = clients
    near = await play(direct, name, seed=3, split="train", options=OPTIONS)
    far = await play(adb, name, seed=3, split="train", options=OPTIONS)
    assert (near.stuck, far.stuck) == ("", "")
    assert far.goal == near.goal
    assert far.state_hash == near.state_hash
    assert far.first.tree_xml == near.first.tree_xml
    assert far.reward.success
    assert far.reward == near.reward
    assert [step.calls for step in far.steps] == [step.calls for step in near.steps]
