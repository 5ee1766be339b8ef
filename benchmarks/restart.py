"""A service that is killed and started again: `python -m benchmarks.restart [--json]`.

64 text sessions (sums, SQL, Python code) and 16 phone sessions are in the middle of their episodes when the service is
killed outright and started again with its journal. Text sessions are to go on as if nothing had been; phone sessions
cannot, and are to be told so at once. Everything that a session did is checked by what it says afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.adversary.arena import SUMS, Service, call
from benchmarks.figures import percentile_ms
from rlfactory.envs.api.errors import InfrastructureError, RLFactoryError
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient, Session

CODE: Final = "math_code.count"
SQL: Final = "text2sql.select"
PHONE: Final = "settings.wifi_on"
TURNS: Final = 6
BEFORE: Final = 3
"""Turns that each session has played when all go on together, and the service is killed."""
UNDER_WAY_S: Final = 0.05
"""Between these two: most sessions have a step under way."""
PACE_S: Final = 0.2
KINDS: Final = (SUMS, CODE, SQL)


@dataclass(kw_only=True, slots=True)
class Seen:
    """What the players met with."""

    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    void_s: list[float] = field(default_factory=list)
    """When phone sessions were told that they are void (monotonic)."""
    took_s: list[float] = field(default_factory=list)
    """By turns of text sessions."""


class Gate:
    """Where players wait for each other in the middle of their episodes."""

    def __init__(self) -> None:
        self.waiting = asyncio.Semaphore(0)
        self.open = asyncio.Event()

    async def pass_(self) -> None:
        self.waiting.release()
        await self.open.wait()


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What a restart cost."""

    text_sessions: int
    text_lost: int
    """That did not go on."""
    text_wrong: int
    """Answers that were not what they would have been without the restart."""
    phone_sessions: int
    phone_void: int
    """Told that they are void, and nothing else."""
    phone_void_s: float
    """The longest, from the moment at which the service listened again."""
    away_s: float
    """From the kill to that moment."""
    turn_p99_ms: float
    """Of a step on the service with its journal, before the kill."""


async def play_text(session: Session, seen: Seen, gate: Gate) -> None:
    """Play a session whose every answer depends on the ones before."""
    kind, total = session.task, 0
    for turn in range(1, TURNS + 1):
        total += turn
        if kind == SUMS:
            asked, wanted = call("calculator", expression=f"{total}*2"), str(total * 2)
        elif kind == CODE:
            asked, wanted = call("python", code=f"x = globals().get('x', 0) + {turn}\nprint(x)"), str(total)
        else:
            asked, wanted = call("sql", query=f"SELECT {total} AS x"), f"x\n{total}\n(1 row)"
        begun_s = time.monotonic()
        said = (await session.step([asked])).results[0]
        seen.took_s.append(time.monotonic() - begun_s)
        if said.text != wanted:
            seen.wrong.append(f"{kind} turn {turn}: {said.status} {said.text[:80]!r} instead of {wanted!r}")
        if turn == BEFORE:
            await gate.pass_()
        else:
            await asyncio.sleep(PACE_S)
    if kind == SUMS:
        number = session.goal.split()[-1].rstrip(".")
        if not (await session.step([call("finish", answer=number)])).reward.success:
            seen.wrong.append("a right answer was judged wrong")


async def play_phone(session: Session, seen: Seen, gate: Gate) -> None:
    """Step a phone until it is void."""
    home = call("phone", action="key", key="HOME")
    for turn in range(1, 2 * TURNS):
        try:
            await session.step([home])
        except InfrastructureError:
            seen.void_s.append(time.monotonic())
            return
        if turn == BEFORE:
            await gate.pass_()
        else:
            await asyncio.sleep(PACE_S)
    seen.lost.append("a phone session played on")


async def main_async(text: int, phones: int) -> tuple[Figures, Seen]:
    """Return the figures, and what went wrong."""
    seen, gate = Seen(), Gate()
    with tempfile.TemporaryDirectory() as folder:
        options = (
            *("--port", str(_free_port()), "--journal", str(Path(folder) / "journal"), "--phones", str(phones)),
            *("--spares", "0", "--width", "320", "--height", "480", "--drain-s", "1"),
        )
        async with AsyncExitStack() as stack, AsyncExitStack() as sessions:
            first = await stack.enter_async_context(Service(*options, tokens=()))
            client = await sessions.enter_async_context(EnvClient(first.address))
            patient = SessionOptions(with_image=False, lease_s=60.0, max_turns=200)
            tasks = [(KINDS[n % len(KINDS)], n) for n in range(text)] + [(PHONE, n) for n in range(phones)]
            begun = [
                await sessions.enter_async_context(client.session(task, seed=seed, options=patient))
                for task, seed in tasks
            ]
            players = [
                asyncio.create_task((play_phone if each.task == PHONE else play_text)(each, seen, gate))
                for each in begun
            ]
            for _ in players:
                await gate.waiting.acquire()
            before = list(seen.took_s)
            gate.open.set()
            await asyncio.sleep(UNDER_WAY_S)
            killed_s = time.monotonic()
            first.kill()
            await first.ended(timeout_s=10)
            await stack.enter_async_context(Service(*options, tokens=()))
            back_s = time.monotonic()
            for each, ended in zip(begun, await asyncio.gather(*players, return_exceptions=True), strict=True):
                if isinstance(ended, RLFactoryError):
                    seen.lost.append(f"{each.task}: {ended}")
                elif isinstance(ended, BaseException):
                    raise ended
    figures = Figures(
        text_sessions=text,
        text_lost=len(seen.lost),
        text_wrong=len(seen.wrong),
        phone_sessions=phones,
        phone_void=len(seen.void_s),
        phone_void_s=round(max((at - back_s for at in seen.void_s), default=0.0), 2),
        away_s=round(back_s - killed_s, 2),
        turn_p99_ms=percentile_ms(before, 0.99),
    )
    return figures, seen


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restart", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--text", type=int, default=64, help="sessions without a phone")
    parser.add_argument("--phones", type=int, default=16)
    asked = parser.parse_args(arguments)
    figures, seen = asyncio.run(main_async(asked.text, asked.phones))
    for problem in (*seen.lost, *seen.wrong):
        print(problem, file=sys.stderr)
    if asked.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        print(
            f"away for {figures.away_s:g} s; of {figures.text_sessions} text sessions {figures.text_lost} lost, "
            f"{figures.text_wrong} wrong answers; {figures.phone_void} of {figures.phone_sessions} phone sessions void "
            f"within {figures.phone_void_s:g} s of the service's return"
        )
    sys.exit(1 if seen.lost or seen.wrong or figures.phone_void < figures.phone_sessions else 0)


if __name__ == "__main__":
    main()
