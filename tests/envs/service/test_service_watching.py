"""What a service shows to those who look: health, reflection, its tasks, its status and its events."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from rlfactory.envs.api.errors import LimitExceeded


async def test_health_and_reflection(serve):
    async with serve() as (server, _):
        async with grpc.aio.insecure_channel(server.address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for service in ("", "envs.v1.EnvService"):
                answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
                assert answer.status == health_pb2.HealthCheckResponse.SERVING

        def reflect() -> list[str]:
            with grpc.insecure_channel(server.address) as channel:
                database = ProtoReflectionDescriptorDatabase(channel)
                file = database.FindFileContainingSymbol("envs.v1.EnvService")
                return [method.name for method in file.service[0].method]

        methods = await asyncio.to_thread(reflect)
        assert methods == ["ListTasks", "Reset", "Step", "Steps", "Fork", "Close", "Renew", "Status", "Watch"]


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


async def test_watch_tells_what_happens(serve, call):
    async with serve() as (_, client), client.watch() as events:
        async with client.session("bench.talk", seed=4) as session:
            await session.step([call("finish")])
        seen = [await anext(events) for _ in range(3)]
        assert [event.kind for event in seen] == ["reset", "step", "close"]
        assert {event.session for event in seen} == {session.id}
        assert "bench.talk seed 4" in seen[0].message


async def test_a_watcher_of_one_session_hears_only_of_it(serve):
    async with serve() as (_, client):
        mine = await client.reset("bench.talk", seed=0)
        async with client.watch(mine.session) as events:
            other = await client.reset("bench.talk", seed=1)
            await client.step(other.session, 1, [])
            await client.close(mine.session)
            assert (await anext(events)).kind == "close"


async def test_too_many_watchers_are_refused(serve):
    async with serve(max_watchers=1) as (_, client), client.watch():
        with pytest.raises(LimitExceeded, match="max_watchers"):
            async with client.watch():
                pass
