"""A network that fails between the service and a client like any other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.adversary.arena import HOSTILE, SUMS, Arena, call, metadata
from benchmarks.adversary.attack import attack, require
from benchmarks.adversary.proxy import FaultProxy
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.wire.v1 import env_pb2 as pb

EPISODES = 8
OPTIONS = SessionOptions(with_image=False, lease_s=40.0)


@asynccontextmanager
async def _behind_proxy(arena: Arena) -> AsyncIterator[tuple[FaultProxy, EnvClient]]:
    async with FaultProxy(arena.address) as proxy, arena.client(address=proxy.address) as client:
        yield proxy, client


async def _played_through(
    arena: Arena, fault: Callable[[FaultProxy], Coroutine[Any, Any, None]], *, nap_s: float = 0.05, turns: int = 20
) -> str:
    """Play eight episodes while the fault goes on. Raises: Broke: one failed, or an act was not done once."""
    async with _behind_proxy(arena) as (proxy, client):
        playing = asyncio.Event()

        async def play(seed: int) -> None:
            async with client.session(SUMS, seed=seed, options=OPTIONS) as session:
                key = session.id
                for turn in range(1, turns + 1):
                    result = await session.step([call("nap", key=key, seconds=nap_s)])
                    said = result.results[0].text
                    require(said == f"{key} {turn}", f"turn {turn} of {key} was done as {said!r}")
                    playing.set()
                goal = session.goal.split()[-1].rstrip(".")
                ended = await session.step([call("finish", answer=goal)])
                require(ended.reward.success, "a right answer was judged wrong")

        players = [asyncio.create_task(play(seed)) for seed in range(1, EPISODES + 1)]
        try:
            await playing.wait()
            breaking = asyncio.create_task(fault(proxy))
            played = await asyncio.gather(*players, return_exceptions=True)
            await breaking
        finally:
            for each in players:
                each.cancel()
        failed = [each for each in played if isinstance(each, BaseException)]
        for failure in failed:
            if not isinstance(failure, RLFactoryError):
                raise failure
        require(not failed, f"{len(failed)} of {EPISODES} episodes void: {failed[0] if failed else ''}")
        return f"{EPISODES} of {EPISODES} episodes, each act once, over {proxy.connections} connections"


@attack("every episode goes on, no act is done twice")
async def refused_shortly(arena: Arena) -> str:
    """Refuse connections for 0.2 s."""
    return await _played_through(arena, lambda proxy: proxy.outage(0.2))


@attack("every episode goes on, no act is done twice", limit_s=60)
async def refused_long(arena: Arena) -> str:
    """Refuse connections for 8 s."""
    return await _played_through(arena, lambda proxy: proxy.outage(8.0))


@attack("every episode goes on, no act is done twice", limit_s=60)
async def resets(arena: Arena) -> str:
    """Reset all connections every 0.4 s, ten times."""

    async def fault(proxy: FaultProxy) -> None:
        for _ in range(10):
            await asyncio.sleep(0.4)
            proxy.reset()

    return await _played_through(arena, fault, nap_s=0.2)


@attack("every episode goes on within 15 s, no act is done twice", limit_s=45)
async def black_hole(arena: Arena) -> str:
    """Swallow what goes through the connections that are open; new ones work."""

    async def fault(proxy: FaultProxy) -> None:
        proxy.swallow_all()

    async with asyncio.timeout(25):
        return await _played_through(arena, fault)


@attack("every episode goes on, no act is done twice", limit_s=45)
async def half_closed(arena: Arena) -> str:
    """Close the connections for writing only, both ways."""

    async def fault(proxy: FaultProxy) -> None:
        proxy.half_close()

    async with asyncio.timeout(25):
        return await _played_through(arena, fault)


@attack("every episode goes on, no act is done twice", limit_s=45)
async def slow_network(arena: Arena) -> str:
    """Hold every piece back for 0.3 s, and reset once in between."""

    async def fault(proxy: FaultProxy) -> None:
        proxy.delay_s = 0.3
        await asyncio.sleep(2.0)
        proxy.reset()
        await asyncio.sleep(1.0)
        proxy.delay_s = 0.0

    return await _played_through(arena, fault)


@attack("the step is found again, done once", limit_s=45)
async def orphaned_steps(arena: Arena) -> str:
    """Cut the connection for 3 s in the middle of steps that take 2 s."""
    return await _played_through(arena, lambda proxy: proxy.outage(3.0), nap_s=2.0, turns=3)


@attack("the leases are renewed after it", limit_s=45)
async def lease_through_outage(arena: Arena) -> str:
    """Be away for 2 s while idle sessions hold leases of 5 s, then stay idle for 5 s."""
    options = SessionOptions(with_image=False, lease_s=5.0)
    async with _behind_proxy(arena) as (proxy, client), contextlib.AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(client.session(SUMS, seed=n, options=options)) for n in range(EPISODES)
        ]
        await asyncio.sleep(1.0)
        await proxy.outage(2.0)
        await asyncio.sleep(5.0)
        lost = 0
        for session in sessions:
            try:
                await session.step([call("calculator", expression="1+1")])
            except RLFactoryError:
                lost += 1
        require(lost == 0, f"{lost} of {EPISODES} sessions were lost")
    return f"{EPISODES} of {EPISODES} leases renewed"


@attack("one execution", limit_s=30)
async def duplicated_steps(arena: Arena) -> str:
    """Send one step 60 times at once, over 10 connections and both ways of stepping."""
    async with arena.session() as session, contextlib.AsyncExitStack() as stack:
        stubs = [await stack.enter_async_context(arena.stub()) for _ in range(10)]
        arguments = f'{{"key": "{session.id}", "seconds": 0.5}}'
        step = pb.StepRequest(session=session.id, seq=1, calls=[pb.ToolCall(name="nap", arguments_json=arguments)])

        async def by_stream(number: int) -> str:
            stream = stubs[number % 10].Steps(metadata=metadata(), timeout=20)
            await stream.write(pb.StepsRequest(steps=[pb.NumberedStep(number=number, step=step)]))
            outcome = (await stream.read()).outcomes[0]
            stream.cancel()
            return str(outcome.response.results[0].text)

        async def by_call(number: int) -> str:
            response = await stubs[number % 10].Step(step, metadata=metadata(HOSTILE), timeout=20)
            return str(response.results[0].text)

        said = await asyncio.gather(*(by_stream(n) if n % 2 else by_call(n) for n in range(60)))
        require(set(said) == {f"{session.id} 1"}, f"answers differ: {sorted(set(said))[:3]}")
    return "60 answers, one execution"


@attack("an episode begun, a fork made, each once", limit_s=45)
async def lost_answers(arena: Arena) -> str:
    """Cut the connection while eight episodes begin and four forks are made; their callers try again."""
    async with _behind_proxy(arena) as (proxy, client), arena.client() as watcher:
        parent = await client.reset(SUMS, seed=1, options=OPTIONS)
        forks_before = (await watcher.status()).counters.get("forks", 0)
        proxy.delay_s = 0.3
        begun = [asyncio.create_task(client.reset(SUMS, seed=n, options=OPTIONS)) for n in range(8)]
        forked = [asyncio.create_task(client.fork(parent.session, 2)) for _ in range(4)]
        await asyncio.sleep(0.45)  # the service has answered, and the answers are under way
        proxy.reset()
        proxy.delay_s = 0.0
        ended = await asyncio.gather(*begun, return_exceptions=True)
        forks = await asyncio.gather(*forked, return_exceptions=True)
        failed = [each for each in (*ended, *forks) if isinstance(each, BaseException)]
        mine = {each.session for each in ended if not isinstance(each, BaseException)}
        mine |= {child.session for some in forks if not isinstance(some, BaseException) for child in some}
        try:
            require(not failed, f"{len(failed)} of 12 failed: {failed[0] if failed else ''}")
            counters = (await watcher.status()).counters
            require(len(mine) == 16, f"{len(mine)} sessions instead of 16")
            require(counters["forks"] == forks_before + 8, f"{counters['forks'] - forks_before:g} forks instead of 8")
        finally:
            for session in mine | {parent.session}:
                await client.close(session)
    return "16 sessions, made once each"
