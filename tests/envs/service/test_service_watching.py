"""What a service shows to those who look: its tasks, its status and its events. Health: see the conformance suite."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.adversary.proxy import FaultProxy
from rlfactory.envs.api.errors import LimitExceeded
from rlfactory.envs.client import EnvClient


async def test_list_tasks_and_status(serve):
    async with serve() as (_, client):
        names = [task.name for task in await client.list_tasks()]
        assert names == ["bench.broken_verdict", "bench.talk", "bench.unknown_tool"]
        assert [task.name for task in await client.list_tasks(split="test")] == ["bench.talk"]
        assert await client.list_tasks(suite="none") == ()
        await client.reset("bench.talk", seed=0)
        status = await client.status()
        assert (status.sessions, status.max_sessions, status.counters["resets"]) == (1, 512, 1)
        assert status.uptime_s > 0


async def test_a_watcher_of_one_session_hears_only_of_it(serve):
    async with serve() as (_, client):
        mine = await client.reset("bench.talk", seed=0)
        async with client.watch(mine.session) as events:
            other = await client.reset("bench.talk", seed=1)
            await client.step(other.session, 1, [])
            await client.step(mine.session, 1, [])
            await client.close(mine.session)
            seen = [await anext(events) for _ in range(2)]
            assert [(event.kind, event.session) for event in seen] == [("step", mine.session), ("close", mine.session)]


async def test_one_watcher_hears_of_resets_and_too_many_are_refused(serve):
    async with serve(max_watchers=1) as (_, client), client.watch() as events:
        await client.reset("bench.talk", seed=4)
        assert "bench.talk seed 4" in (await anext(events)).message
        with pytest.raises(LimitExceeded, match="max_watchers"):
            async with client.watch():
                pass


async def test_a_watch_begins_when_the_service_is_there_again(serve):
    async with serve() as (server, client), FaultProxy(server.address) as proxy, EnvClient(proxy.address) as far:
        away = asyncio.create_task(proxy.outage(0.3))
        while proxy.listens:  # noqa: ASYNC110 - the outage has begun
            await asyncio.sleep(0)
        async with far.watch() as events:
            begun = await client.reset("bench.talk", seed=0)
            assert (await anext(events)).session == begun.session
        await away
