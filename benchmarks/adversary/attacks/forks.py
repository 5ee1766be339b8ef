"""Phones: begun, forked, cancelled, queued."""

from __future__ import annotations

import asyncio
import contextlib
import time

from benchmarks.adversary.arena import HONEST, PHONES, SUMS, TEXT, Arena, call, goes_on, until
from benchmarks.adversary.attack import Broke, attack, require
from rlfactory.envs.api.errors import LimitExceeded, RLFactoryError
from rlfactory.envs.api.types import SessionOptions, ToolStatus
from rlfactory.envs.client import EnvClient

TASK = "settings.wifi_on"
OPTIONS = SessionOptions(with_image=False, lease_s=600.0)
HOME = call("phone", action="key", key="HOME")


async def _phones_free(client: EnvClient) -> bool:
    status = await client.status()
    return sum(phone.state in ("ready", "probed") for phone in status.phones) == PHONES


async def _all_come_back(client: EnvClient, *, timeout_s: float = 10.0) -> None:
    async def free() -> bool:
        return await _phones_free(client)

    await until(free, timeout_s=timeout_s, otherwise=f"not all phones are back after {timeout_s:g} s")


@attack("each fork gets all of its phones in turn, within 20 s", limit_s=75)
async def gang_of_forks(arena: Arena) -> str:
    """Ask for four forks of three at once, as four clients, where four phones are free."""
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(arena.client()) for _ in range(4)]
        parents = [
            await stack.enter_async_context(client.session(TASK, seed=n, options=OPTIONS))
            for n, client in enumerate(clients)
        ]
        begun_s = time.monotonic()

        async def fork(client: EnvClient, session: str) -> None:
            children = await client.fork(session, 3)
            for child in children:
                await client.close(child.session)

        made = await asyncio.gather(
            *(fork(client, each.id) for client, each in zip(clients, parents, strict=True)), return_exceptions=True
        )
        took_s = time.monotonic() - begun_s
        failed = [str(each) for each in made if each is not None]
        require(not failed, f"{len(failed)} of 4 forks failed after {took_s:.0f} s: {failed[0][:80] if failed else ''}")
        arena.require_soon(took_s, 20.0, "it")
    async with arena.client() as client:
        await _all_come_back(client)
    return f"4 forks of 3 in {took_s:.1f} s"


@attack("an innocent reset gets the phone that the fork cannot use", limit_s=45)
async def waiting_fork(arena: Arena) -> str:
    """Wait for a fork of four where two phones are free."""
    async with arena.client() as client, contextlib.AsyncExitStack() as stack:
        held = [await stack.enter_async_context(client.session(TASK, seed=n, options=OPTIONS)) for n in range(6)]
        fork = asyncio.create_task(client.fork(held[0].id, 4))
        await asyncio.sleep(1.0)
        try:
            async with asyncio.timeout(5 * arena.slowness), arena.client(HONEST) as honest:
                begun = await honest.reset(TASK, seed=1, options=OPTIONS)
                await honest.close(begun.session)
        except TimeoutError:
            raise Broke("an innocent reset waited 5 s for a phone that nobody used") from None
        finally:
            fork.cancel()
            await asyncio.gather(fork, return_exceptions=True)
    return "the innocent got it"


@attack("refused at once, or served; nobody waits for what cannot be")
async def impossible_fork(arena: Arena) -> str:
    """Ask for 8 forks on 8 phones, for 65 forks, for 0, and for a fork of what is over."""
    async with arena.client() as client, client.session(TASK, seed=1, options=OPTIONS) as session:
        begun_s = time.monotonic()
        for number in (8, 65, 0, 2**32 - 1):
            try:
                await client.fork(session.id, number)
            except LimitExceeded:
                continue
            raise Broke(f"{number} forks were made")
        await session.step([call("finish")])
        with contextlib.suppress(RLFactoryError):
            await client.fork(session.id, 1)
        arena.require_soon(time.monotonic() - begun_s, 5.0, "refusing")
    return "refused at once"


@attack("no phone is kept", limit_s=60)
async def cancelled_resets(arena: Arena) -> str:
    """Begin 87 episodes on phones with leases of ten minutes, and give each up about when its answer comes."""
    async with arena.client() as client:
        await _all_come_back(client)
        usual_s = 0.0
        for _ in range(2):
            begun_s = time.monotonic()
            begun = await client.reset(TASK, seed=0, options=OPTIONS)
            usual_s = time.monotonic() - begun_s
            await client.close(begun.session)

        async def one(number: int) -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(usual_s * (0.5 + number / 87)):
                    begun = await client.reset(TASK, seed=0, options=OPTIONS)
                await client.close(begun.session)

        for begin in range(0, 87, 3):
            await asyncio.gather(*(one(number) for number in range(begin, begin + 3)))
        await _all_come_back(client, timeout_s=15.0 * arena.slowness)
    return f"87 given up, {PHONES} of {PHONES} phones free"


@attack("no phone is kept", limit_s=60)
async def cancelled_forks(arena: Arena) -> str:
    """Fork 30 times into three, and give each up after 0 to 0.3 s."""
    async with arena.client() as client:
        async with client.session(TASK, seed=1, options=OPTIONS) as session:
            for number in range(30):
                fork = asyncio.create_task(client.fork(session.id, 3))
                await asyncio.wait((fork,), timeout=0.01 * number)
                fork.cancel()
                with contextlib.suppress(asyncio.CancelledError, RLFactoryError):
                    for child in await fork:
                        await client.close(child.session)
            await session.step([HOME])
        await _all_come_back(client, timeout_s=15.0 * arena.slowness)
    return f"30 given up, {PHONES} of {PHONES} phones free"


@attack("the parent lives on: what had not begun is not unknown")
async def step_behind_fork(arena: Arena) -> str:
    """Queue a step behind a fork, and give the step up before it begins."""
    async with arena.client() as client, contextlib.AsyncExitStack() as stack:
        others = [await stack.enter_async_context(client.session(TASK, seed=n, options=OPTIONS)) for n in range(5)]
        parent = others[0]
        fork = asyncio.create_task(client.fork(parent.id, 7 - 3))  # three are free: it waits
        await asyncio.sleep(0.3)
        step = asyncio.create_task(client.step(parent.id, 1, [HOME]))
        await asyncio.sleep(0.3)
        step.cancel()
        await asyncio.gather(step, return_exceptions=True)
        await asyncio.sleep(1.5)
        for other in others[1:]:
            await other.aclose()
        children = await asyncio.gather(fork, return_exceptions=True)
        for some in children:
            if isinstance(some, tuple):
                for child in some:
                    await client.close(child.session)
        try:
            result = await parent.step([HOME])
        except RLFactoryError as error:
            raise Broke(f"the parent is void: {error}") from None
        require(result.results[0].status is ToolStatus.OK, f"{result.results[0].text}")
    return "the parent's next step was carried out"


@attack("both come to their end")
async def fork_of_busy_session(arena: Arena) -> str:
    """Fork a text session 40 times while it steps, and step the children."""
    async with arena.client() as client, client.session(SUMS, seed=1, options=TEXT) as session:
        step = asyncio.create_task(session.step([call("nap", key="busy", seconds=0.5)]))
        await asyncio.sleep(0.1)
        forks = await asyncio.gather(*(client.fork(session.id, 4) for _ in range(10)))
        await step
        for children in forks:
            for child in children:
                result = await client.step(child.session, 2, [call("calculator", expression="6*7")])
                require(result.results[0].text == "42", f"{result.results[0]}")
                await client.close(child.session)
        await goes_on(session)
    return "40 children, each calculated"


@attack("refused or void at once, and the phone is back", limit_s=45)
async def closed_under_way(arena: Arena) -> str:
    """Close sessions while they begin to step, fork and wait, 24 times."""
    async with arena.client() as client:
        for number in range(8):
            begun = await client.reset(TASK, seed=number, options=OPTIONS)
            doing = [
                asyncio.create_task(client.step(begun.session, 1, [call("phone", action="wait", seconds=20)])),
                asyncio.create_task(client.fork(begun.session, 1)),
                asyncio.create_task(client.renew(begun.session)),
            ]
            await asyncio.sleep(0.02 * number)
            async with asyncio.timeout(10 * arena.slowness):
                await client.close(begun.session)
                ended = await asyncio.gather(*doing, return_exceptions=True)
            for each in ended:
                if isinstance(each, tuple):
                    for child in each:
                        await client.close(child.session)
        await _all_come_back(client)
    return "8 closed in the middle, all phones back"
