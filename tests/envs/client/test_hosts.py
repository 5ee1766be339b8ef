"""One client of several services: where sessions begin, and what becomes of them when a service drains or dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.slow_phones import TASK, SlowSource, Waiting
from rlfactory.emulators.pool import PoolConfig
from rlfactory.envs.api.errors import InfrastructureError, LimitExceeded, TaskError
from rlfactory.envs.api.types import ToolCall
from rlfactory.envs.client import ClientConfig, EnvClient
from rlfactory.envs.client.addresses import Dns, Found
from rlfactory.envs.client.connection import Connection
from rlfactory.envs.client.hosts import freer
from rlfactory.envs.service.server import EnvServer, ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.wire.load import LOAD_KEY, Load, load_in, load_out
from rlfactory.envs.wire.trust import ClientTrust

HOME = ToolCall(id="0", name="phone", arguments={"action": "key", "key": "HOME"})


class Named:
    """Addresses that a test changes."""

    several = True
    trust: ClientTrust | None = None

    def __init__(self, *addresses: str) -> None:
        self.queue: asyncio.Queue[Found] = asyncio.Queue()
        self.name(*addresses)

    def name(self, *addresses: str) -> None:
        self.queue.put_nowait(dict.fromkeys(addresses))

    async def watch(self) -> AsyncIterator[Found]:
        while True:
            yield await self.queue.get()


@asynccontextmanager
async def services(*phones: int) -> AsyncIterator[list[EnvServer]]:
    """Run services with so many phones each."""
    async with AsyncExitStack() as stack:
        running = (
            serving(
                ServerConfig(drain_s=0.1),
                phones=SlowSource(0.0),
                pool=PoolConfig(phones=count),
                tasks=TaskRegistry((Waiting,)),
            )
            for count in phones
        )
        yield [await stack.enter_async_context(each) for each in running]


def opened(servers: list[EnvServer]) -> list[int]:
    return [server.manager.sessions for server in servers]


async def test_all_free_phones_are_used_before_anyone_waits():
    async with services(1, 2, 4) as servers, EnvClient([each.address for each in servers]) as client:
        await client.status()  # from here on the figures are known
        begun = await asyncio.gather(*(client.reset(TASK, seed=seed) for seed in range(7)))
        assert opened(servers) == [1, 2, 4]
        assert [server.manager.pool.metrics.refused._value.get() for server in servers] == [0, 0, 0]
        await asyncio.gather(*(client.step(each.session, 1, [HOME]) for each in begun))
        assert (await client.status()).sessions == 7
        await asyncio.gather(*(client.close(each.session) for each in begun))
    assert opened(servers) == [0, 0, 0]


async def test_what_a_service_has_just_said_is_not_replaced_by_an_older_report():
    async with services(1, 1) as servers:
        names = Named(*(each.address for each in servers))
        async with EnvClient(names) as client:
            first = await client.reset(TASK, seed=0)
            full, other = client.home(first.session), (await client.statuses()).keys() - {client.home(first.session)}
            names.queue.put_nowait({full: Load(phones=1, free=1), other.pop(): Load(phones=1, free=0, sessions=1)})
            while not names.queue.empty():  # noqa: ASYNC110 - the client reads it
                await asyncio.sleep(0)
            await client.reset(TASK, seed=1)
        assert opened(servers) == [1, 1]
        assert [server.manager.pool.metrics.refused._value.get() for server in servers] == [0, 0]


async def test_each_answer_to_a_step_says_how_busy_the_service_is():
    async with services(2) as (server,), EnvClient(server.address) as one, EnvClient(server.address) as another:
        first = await one.reset(TASK, seed=0)
        await another.reset(TASK, seed=1)
        assert one.load.sessions == 1
        await one.step(first.session, 1, [HOME])
        assert (one.load.sessions, one.load.free) == (2, 0)


async def test_who_finds_no_phone_gets_the_first_that_becomes_free():
    async with services(1, 1) as servers, EnvClient([each.address for each in servers]) as client:
        first, second = [await client.reset(TASK, seed=seed) for seed in range(2)]
        waiting = asyncio.create_task(client.reset(TASK, seed=2))
        await asyncio.sleep(0)
        await client.close(second.session)
        begun = await waiting
        assert opened(servers) == [1, 1]
        await asyncio.gather(client.close(first.session), client.close(begun.session))


async def test_one_service_says_at_once_that_no_phone_is_free_where_that_is_asked():
    async with services(1) as (server,), EnvClient(server.address) as client:
        await client.reset(TASK, seed=0)
        hurried = EnvClient(
            [server.address, "127.0.0.1:1"], config=ClientConfig(connect_timeout_s=0.5, reset_timeout_s=0.3)
        )
        async with hurried:
            with pytest.raises(LimitExceeded, match="no phone became free within"):
                await hurried.reset(TASK, seed=1)


async def test_forks_stay_where_their_parent_is_and_wait_there():
    async with services(3, 3) as servers, EnvClient([each.address for each in servers]) as client:
        parent = await client.reset(TASK, seed=0)
        await client.fork(parent.session, 2)
        assert sorted(opened(servers)) == [0, 3]


async def test_a_service_that_dies_loses_its_sessions_and_no_others():
    async with services(4, 4) as servers:
        names = Named(*(each.address for each in servers))
        async with EnvClient(names) as client:
            begun = [await client.reset(TASK, seed=seed) for seed in range(6)]
            where = [
                next(server for server in servers if each.session in server.manager._open).address for each in begun
            ]
            dead = servers[0]
            await dead.stop()
            names.name(servers[1].address)
            lost = []
            for each, address in zip(begun, where, strict=True):
                session = client.session(TASK, seed=0)
                session._begun = each
                try:
                    await session.step([HOME])
                except InfrastructureError:
                    lost.append(address)
            assert Counter(lost) == Counter(address for address in where if address == dead.address)
            again = [await client.reset(TASK, seed=9) for _ in range(4 - where.count(servers[1].address))]
            assert all(each.session in servers[1].manager._open for each in again)


async def test_a_service_that_drains_ends_what_it_has_begun_and_begins_nothing():
    async with services(4, 4) as servers, EnvClient([each.address for each in servers]) as client:
        begun = [await client.reset(TASK, seed=seed) for seed in range(4)]
        draining = asyncio.create_task(servers[0].drain(20))
        await asyncio.sleep(0)
        for seed in range(4 - opened(servers)[1]):
            await client.reset(TASK, seed=seed)
        assert opened(servers)[1] == 4
        for each in begun:
            await client.step(each.session, 1, [HOME])
            await client.close(each.session)
        await draining
        assert opened(servers)[0] == 0


async def test_a_service_that_joins_is_played_on():
    async with services(1, 1) as servers:
        names = Named(servers[0].address)
        async with EnvClient(names) as client:
            await client.reset(TASK, seed=0)
            waiting = asyncio.create_task(client.reset(TASK, seed=1))
            names.name(*(each.address for each in servers))
            await waiting
            assert opened(servers) == [1, 1]


async def test_who_waits_at_a_service_that_goes_is_served_by_another_and_who_watches_it_is_told(eventually):
    async with services(1, 1) as (gone, other):
        names = Named(gone.address)
        async with EnvClient(names) as client:
            first = await client.reset(TASK, seed=0)
            waiting = asyncio.create_task(client.reset(TASK, seed=1))
            await eventually(lambda: gone.manager.pool.waiting == 1)
            async with client.watch(first.session) as events:
                names.name(other.address)
                with pytest.raises(InfrastructureError, match="is gone"):
                    await anext(events)
            assert client.home((await waiting).session) == other.address


async def test_one_that_answers_is_enough_to_begin_with(unused_tcp_port):
    async with services(1) as (server,):
        config = ClientConfig(connect_timeout_s=0.5)
        async with EnvClient(f"127.0.0.1:{unused_tcp_port}, {server.address}", config=config) as client:
            await client.reset(TASK, seed=0)
        with pytest.raises(InfrastructureError, match=r"no environment service at 127\.0\.0\.1"):
            async with EnvClient([f"127.0.0.1:{unused_tcp_port}"] * 2, config=config):
                pass


async def test_a_name_stands_for_all_its_addresses():
    async with services(1) as (server,), EnvClient(f"dns:///{server.address}") as client:
        await client.reset(TASK, seed=0)
    with pytest.raises(InfrastructureError, match=r"no address of nowhere\.invalid is known"):
        async with EnvClient("dns:///nowhere.invalid:7000"):
            pass


@pytest.mark.parametrize(
    "address", ["", "host", "host:port", "http://host:1", "host:99999", [], ["127.0.0.1:1", "x"], "dns:///host"]
)
def test_what_is_no_address_is_said(address):
    with pytest.raises(TaskError, match=r"no address|needs the address|names no service"):
        EnvClient(address)


def test_a_name_is_looked_up_again():
    assert Dns("dns:///phones:7000").several


@given(st.builds(Load, **dict.fromkeys(Load._fields, st.integers(0, 1 << 40))))
def test_loads_come_back_as_they_were_sent(load):
    assert load_in([("other", b"x"), load_out(load)]) == load


@given(st.text(max_size=40))
def test_what_is_no_load_is_ignored(text):
    known = load_in([(LOAD_KEY, text)])
    assert known is None or load_out(known)[1].split() == [str(int(each)) for each in text.split()[:5]]


def test_of_two_about_as_free_the_one_with_fewer_of_our_sessions_is_chosen():
    quick, slow = (Connection(name, config=ClientConfig(), trust=ClientTrust()) for name in ("quick:1", "slow:1"))
    quick.begun, slow.begun = 9, 5
    for sessions, chosen in ((2, slow), (3, slow), (4, quick)):
        quick.load, slow.load = Load(phones=4, free=2, sessions=2), Load(phones=4, sessions=sessions)
        assert freer(quick, slow) is freer(slow, quick) is chosen
