"""The oracles solve the tasks; whoever does nothing, or something else, does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.types import ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play, tasks_with
from rlfactory.envs.service.serve import tools_of_file
from rlfactory.envs.service.server import ServerConfig, serving

pytestmark = pytest.mark.anyio  # a plugin that is installed with RLFactory runs what is async
HERE = Path(__file__).parents[1]
TASKS = tasks_with([HERE / "tasks.py"])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client() -> AsyncIterator[EnvClient]:
    phones = phone_source(PhonesConfig(phones=1, width_px=480, height_px=800))
    async with (
        tools_of_file(HERE / "tools.yaml", {}) as tools,
        serving(ServerConfig(), phones=phones, tasks=TASKS, tools=tools) as server,
        EnvClient(server.address) as client,
    ):
        yield client


@pytest.mark.parametrize("task", ["demo.bubbles", "demo.stock"])
@pytest.mark.parametrize("seed", range(4))
async def test_the_oracle_solves_it(task: str, seed: int, client: EnvClient) -> None:
    record = await play(client, task, seed=seed, registry=TASKS)
    assert record.reward.success, record.reward


async def test_to_look_around_is_no_damage_and_solves_nothing(client: EnvClient) -> None:
    async with client.session("demo.bubbles", seed=0) as session:
        result = await session.step([ToolCall(id="0", name="phone", arguments={"action": "open_app", "app": "Clock"})])
        assert not result.reward.side_effects
        assert not result.reward.success
