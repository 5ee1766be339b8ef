"""What a service that stops does with its phones."""

from __future__ import annotations

import asyncio
import time

import pytest

from benchmarks.slow_phones import TASK, SlowSource, Waiting
from rlfactory.emulators.pool import PoolConfig
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry

HOME = ToolCall(id="0", name="phone", arguments={"action": "key", "key": "HOME"})


def slow_phones(step_s: float, *, phones: int, drain_s: float):
    """Serve phones that take so long for an action."""
    return serving(
        ServerConfig(drain_s=drain_s),
        phones=SlowSource(step_s),
        pool=PoolConfig(phones=phones),
        tasks=TaskRegistry((Waiting,)),
    )


async def test_who_waits_for_a_phone_is_refused_at_once_when_the_service_stops(eventually):
    async with slow_phones(0.5, phones=1, drain_s=20) as server, EnvClient(server.address) as client:
        begun = await client.reset(TASK, seed=0)
        waiting = asyncio.create_task(client.reset(TASK, seed=1))
        await eventually(lambda: server.manager.pool.waiting == 1)
        step = asyncio.create_task(client.step(begun.session, 1, [HOME]))
        await eventually(lambda: server.manager._find(begun.session).session.busy)
        stopping = asyncio.create_task(server.stop())
        began_s = time.monotonic()
        with pytest.raises(RLFactoryError, match="the pool is closing"):
            await waiting
        assert time.monotonic() - began_s < 10
        assert (await step).results[0].text == "Done."
        await stopping


async def test_phones_of_open_sessions_are_given_back_before_they_are_stopped(caplog):
    async with slow_phones(0.01, phones=4, drain_s=5) as server, EnvClient(server.address) as client:
        pool = server.manager.pool
        for seed in range(4):
            await client.reset(TASK, seed=seed)
        assert pool.summary().leases == 4
    assert pool.summary().leases == 0
    assert "lent still" not in caplog.text


async def test_a_phone_that_nobody_gives_back_holds_no_service_up(caplog):
    async with slow_phones(0.01, phones=1, drain_s=0.1) as server:
        await server.manager.pool.acquire(timeout_s=5)
    assert "phones lent still after 0.1 s, and stopped now: 1" in caplog.text
