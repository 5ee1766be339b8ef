"""What holders of one token can do to the sessions of another."""

from __future__ import annotations

import asyncio

from benchmarks.adversary.arena import HONEST, SUMS, TEXT, Arena, call, goes_on
from benchmarks.adversary.attack import Broke, attack
from rlfactory.envs.api.errors import RLFactoryError, SessionNotFound
from rlfactory.envs.client import EnvClient, Session


async def _step(client: EnvClient, victim: Session) -> None:
    await client.step(victim.id, 1, [call("finish", answer="0")])


async def _fork(client: EnvClient, victim: Session) -> None:
    await client.fork(victim.id, 1)


async def _renew(client: EnvClient, victim: Session) -> None:
    await client.renew(victim.id)


@attack("there is no such session, for others")
async def sessions_of_others(arena: Arena) -> str:
    """Step, fork, renew and close a session of another tenant, by its id."""
    async with (
        arena.client(HONEST) as honest,
        arena.client() as hostile,
        honest.session(SUMS, seed=1, options=TEXT) as victim,
    ):
        for deed in (_step, _fork, _renew):
            try:
                await deed(hostile, victim)
            except SessionNotFound:
                continue
            except RLFactoryError as error:
                raise Broke(f"{deed.__name__[1:]}: {error.reason}, not SESSION_NOT_FOUND") from None
            raise Broke(f"it could {deed.__name__[1:]} another's session")
        await hostile.close(victim.id)
        await goes_on(victim)
    return "not found, each"


@attack("one sees one's own sessions only")
async def watching_others(arena: Arena) -> str:
    """Watch all sessions, and ask for the status, and learn the ids of others."""
    async with arena.client() as hostile, hostile.watch() as events:
        async with hostile.session(SUMS, seed=2, options=TEXT) as own:
            heard = set()

            async def listen() -> None:
                async for event in events:
                    heard.add(event.session)

            listening = asyncio.create_task(listen())
            await asyncio.sleep(0.7)
            await goes_on(own)
            await asyncio.sleep(0.3)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        phones = {phone.session for phone in (await hostile.status()).phones} - {""}
        strangers = (heard | phones) - {own.id, ""}
        if strangers:
            raise Broke(f"the ids of {len(strangers)} sessions of others were told")
        if own.id not in heard:
            raise Broke("one's own session was not told of")
    return "its own alone"


@attack("no two are alike, and none follows from another")
async def guessed_ids(arena: Arena) -> str:
    """Open 100 sessions, and step 3,000 ids that are near theirs."""
    async with arena.client() as client:
        begun = [(await client.reset(SUMS, seed=n, options=TEXT)).session for n in range(100)]
        found = 0
        for begin in range(30):
            base = int(begun[begin], 16)
            near = [f"{(base + delta) % 2**64:016x}" for delta in range(-50, 51) if delta]
            ended = await asyncio.gather(*(client.renew(each) for each in near), return_exceptions=True)
            found += sum(not isinstance(each, SessionNotFound) for each in ended)
        for each in begun:
            await client.close(each)
    if found:
        raise Broke(f"{found} ids were found by guessing")
    return "3,000 guesses, none found"
