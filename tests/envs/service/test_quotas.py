"""What one tenant may have: each quota is held, a refusal names it, and other tenants notice nothing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.adversary.arena import call, until
from benchmarks.adversary.proxy import FaultProxy
from benchmarks.adversary.scene import Sums
from benchmarks.slow_phones import Waiting
from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.errors import LimitExceeded, UnknownName
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import ClientConfig, EnvClient, RetryPolicy
from rlfactory.envs.service import health
from rlfactory.envs.service.limits import Limits, Quotas, read_quotas
from rlfactory.envs.service.server import EnvServer, ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.table import filled
from rlfactory.envs.tools.sql.workers import SqlWorkers, SqlWorkersConfig
from rlfactory.envs.wire.trust import ClientTrust, ServerTrust

GREEDY, MODEST = "greedy-token-0123456789", "modest-token-0123456789"
ONCE = ClientConfig(retry=RetryPolicy(attempts=1))
TEXT = SessionOptions(with_image=False)


@asynccontextmanager
async def two_tenants(quotas: Quotas, *, phones: int = 0) -> AsyncIterator[tuple[EnvServer, EnvClient, EnvClient]]:
    config = ServerConfig(
        drain_s=0.1,
        quotas=quotas,
        limits=Limits(phone_wait_s=0.3),
        trust=ServerTrust(tokens=(GREEDY, MODEST), tenants={GREEDY: "greedy", MODEST: "modest"}),
    )
    source = DirectSource(PhoneConfig(width_px=320, height_px=480)) if phones else None
    pool = PoolConfig(phones=phones, spares=0) if phones else None
    async with (
        serving(config, phones=source, pool=pool, tasks=TaskRegistry((Sums, Waiting))) as server,
        EnvClient(server.address, config=ONCE, trust=ClientTrust(token=GREEDY)) as greedy,
        EnvClient(server.address, config=ONCE, trust=ClientTrust(token=MODEST)) as modest,
    ):
        yield server, greedy, modest


async def plays(client: EnvClient, task: str = Sums.name) -> None:
    async with client.session(task, seed=1, options=TEXT) as session:
        await session.step([])


async def test_sessions():
    async with two_tenants(Quotas(sessions=2)) as (_, greedy, modest):
        begun = [await greedy.reset(Sums.name, seed=n, options=TEXT) for n in range(2)]
        with pytest.raises(LimitExceeded, match="quota of sessions is 2"):
            await greedy.reset(Sums.name, seed=3, options=TEXT)
        await plays(modest)
        await greedy.close(begun[0].session)
        await plays(greedy)


async def test_phones():
    async with two_tenants(Quotas(phones=2), phones=4) as (_, greedy, modest):
        begun = [await greedy.reset(Waiting.name, seed=n, options=TEXT) for n in range(2)]
        with pytest.raises(LimitExceeded, match="has 2 phones and asks for 1; its quota of phones is 2"):
            await greedy.reset(Waiting.name, seed=3, options=TEXT)
        with pytest.raises(LimitExceeded, match="asks for 3"):
            await greedy.fork(begun[0].session, 3)
        await plays(modest, Waiting.name)
        waiting = asyncio.create_task(plays(greedy, Waiting.name))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await greedy.close(begun[0].session)
        await waiting


async def test_calls_and_streams():
    async with (
        two_tenants(Quotas(calls=2, streams=1)) as (_, greedy, modest),
        greedy.session(Sums.name, seed=1, options=TEXT) as session,
        EnvClient(greedy.address, config=ONCE, trust=greedy.trust) as second,
    ):
        await session.step([])  # its stream of steps stays open
        begun = await second.reset(Sums.name, seed=2, options=TEXT)
        with pytest.raises(LimitExceeded, match="quota of streams is 1"):
            await second.step(begun.session, 1, [])
        async with greedy.watch():
            with pytest.raises(LimitExceeded, match="quota of calls is 2"):
                await greedy.list_tasks()
            await plays(modest)


async def test_bytes_of_answers():
    async with two_tenants(Quotas(unwritten_bytes=1)) as (server, greedy, _):
        await plays(greedy)  # one answer is let through however large it is
        used = {(tenant, what) for tenant, what, _ in server._service._use()}
        assert ("greedy", "unwritten_bytes") in used


async def test_bytes_of_requests_under_way():
    large = [call("calculator", n, expression="1" * 25_000) for n in range(10)]
    async with (
        two_tenants(Quotas(under_way_bytes=400_000)) as (server, greedy, modest),
        greedy.session(Sums.name, seed=1, options=TEXT) as busy,
        greedy.session(Sums.name, seed=2, options=TEXT) as idle,
        modest.session(Sums.name, seed=3, options=TEXT) as other,
    ):
        used = server._service._under_way.bytes
        napping = asyncio.create_task(busy.step([*large, call("nap", 10, key="large", seconds=600)]))
        await until(lambda: used["greedy"] > 250_000, timeout_s=30, otherwise="it is not counted")
        with pytest.raises(LimitExceeded, match="quota of under_way_bytes is 400000"):
            await idle.step(large)
        with pytest.raises(LimitExceeded, match="quota of under_way_bytes is 400000"):
            await greedy.list_tasks(suite="s" * 100_000)
        await plays(greedy)  # small requests find room
        await other.step(large)
        napping.cancel()
        await until(lambda: not used["greedy"], timeout_s=30, otherwise="it is counted still")
        await idle.step(large)


async def test_workers_for_queries():
    database = filled("CREATE TABLE item (id INTEGER)", ())
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    async with SqlWorkers(SqlWorkersConfig(workers=2, workers_of_tenant=1)) as workers:
        asked = [workers.run(database, f"{endless} WHERE x > {n}", timeout_s=0.2) for n in range(3)]
        await asyncio.gather(*asked, return_exceptions=True)
        assert workers.started == 1


def test_quotas_are_read_from_the_command_line():
    assert read_quotas(["phones=4", "sql_workers=1"]) == Quotas(phones=4, sql_workers=1)
    assert Quotas(sandboxes=5).part("sandboxes", 64, 2) == 5 and Quotas().part("sandboxes", 64, 2) == 48
    with pytest.raises(UnknownName, match="phones"):
        read_quotas(["phone=4"])
    for wrong in ("phones", "phones=0", "phones=-1", "phones=many"):
        with pytest.raises(ValueError, match="phones"):
            read_quotas([wrong])


async def test_an_episode_goes_on_when_its_connection_is_too_old(monkeypatch):
    monkeypatch.setattr("rlfactory.envs.service.server.AGE_GRACE_S", 0.1)
    config = ServerConfig(connection_age_s=0.3, drain_s=0.1)
    async with (
        serving(config, tasks=TaskRegistry((Sums,))) as server,
        FaultProxy(server.address) as proxy,
        EnvClient(proxy.address) as client,
        client.session(Sums.name, seed=1, options=TEXT) as session,
    ):
        turn = 0
        while proxy.connections < 4:
            turn += 1
            result = await session.step([call("nap", key=session.id, seconds=0.05)])
            assert result.results[0].text == f"{session.id} {turn}", "each act is done once"


async def test_strangers_take_nobodys_place_and_hold_up_no_end(eventually):
    config = ServerConfig(trust=ServerTrust(tokens=(GREEDY,)), drain_s=0.1, max_concurrent_calls=health.MAX_CALLS + 8)
    async with contextlib.AsyncExitStack() as stack:
        async with serving(config, tasks=TaskRegistry((Sums,))) as server:
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(server.address))
            watchers = [
                health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
                for _ in range(2 * health.MAX_CALLS)
            ]
            half_open = [channel.stream_stream("/envs.v1.EnvService/Steps")() for _ in range(2 * health.MAX_CALLS)]
            await eventually(lambda: sum(call.done() for call in watchers) == health.MAX_CALLS)
            ended = [await call.code() for call in (*watchers, *half_open) if call not in watchers or call.done()]
            assert set(ended) == {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAUTHENTICATED}
            async with EnvClient(server.address, config=ONCE, trust=ClientTrust(token=GREEDY)) as client:
                await plays(client)
            begun_s = time.monotonic()
        assert time.monotonic() - begun_s < 5, "the watchers, who read nothing, are not waited for"


async def test_health_has_a_port_of_its_own():
    config = ServerConfig(health_port=0, trust=ServerTrust(tokens=(GREEDY,)), drain_s=0.1)
    async with serving(config, tasks=TaskRegistry(())) as server:
        assert server.health_address != server.address
        assert await asyncio.to_thread(health.problem_of, server.health_address) == ""
        async with grpc.aio.insecure_channel(server.address) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
            assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        async with grpc.aio.insecure_channel(server.health_address) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary("/envs.v1.EnvService/Status")(b"")
            assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED


async def test_bytes_that_sessions_remember():
    large = [call("calculator", n, expression="k" * 20_000) for n in range(10)]
    async with two_tenants(Quotas(sessions=4, kept_bytes=800_000)) as (server, greedy, modest):
        begun = [await greedy.reset(Sums.name, seed=n, options=TEXT) for n in range(4)]
        for each in begun[:3]:
            await greedy.step(each.session, 1, large[:5])
        with pytest.raises(LimitExceeded, match="quota of kept_bytes is 800000"):
            for turn in range(2, 10):
                await greedy.step(begun[0].session, turn, large)
        await greedy.step(begun[3].session, 1, large[:1])  # it remembers less than its part
        async with modest.session(Sums.name, seed=3, options=TEXT) as other:
            await other.step(large)
        used = server.manager._remembered.bytes
        assert 300_000 < used["greedy"] < 900_000
        for each in begun:
            await greedy.close(each.session)
        assert used["greedy"] == 0
        await plays(greedy)
