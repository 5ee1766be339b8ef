"""What a service keeps of its promises while everything under it breaks: `python -m benchmarks.chaos [--json]`.

Oracles play episodes side by side; meanwhile phones, sandboxes, adb server and service are killed, paused, cut off and
filled up.
What is measured stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import statistics
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from typing import get_args

import psutil

from benchmarks.chaos_faults import Containers, Fault, Processes, faults
from benchmarks.chaos_service import ServiceUnderFire, Transport
from rlfactory.envs.api.errors import InfrastructureError, RLFactoryError
from rlfactory.envs.api.session import PlayableSession, SessionWrapper
from rlfactory.envs.api.types import SessionOptions, StepResult, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import OracleStuck, solve

SUITE = "phone"
SANDBOX_SUITE = "math_code"
"""Played beside it where there are containers: an episode of it after two of the other."""
CALM_S = 10.0
"""Without faults, at the beginning: what throughput ought to be."""
WINDOW_S = 2.0
BACK = 0.7
"""Share of the calm throughput at which it counts as back."""
LEAST_WATCH_S = 3.0
GIVE_UP_S = 30.0
RETRY_S = 0.2
TARGET_PATIENCE_S = 15.0
"""How long a fault waits for something that it can be done to (a sandbox lives for seconds)."""
LEFTOVER_PATIENCE_S = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ChaosFigures:
    episodes: int
    """Played to a verdict."""
    faults: int
    wrong_verdicts: int
    """Episodes whose verdict was not success, though the oracle played them."""
    leftovers: int
    """Sessions, leases, containers, networks and processes that were still there at the end."""
    infra_lost: int
    """Episodes that had begun, were lost and reported as infrastructure; each was played anew."""
    recovery_s_max: float
    """From a fault to the end of the last moment with too little throughput."""
    lost_otherwise: int
    """Episodes lost and reported as anything else."""
    infra_refused: int
    """Episodes that could not begin, and were reported as infrastructure; each was tried again."""
    steps_per_s: float
    """In the calm before the first fault."""
    recovery_s: dict[str, float]
    """The longest, by kind of fault."""
    wall_s: float


@dataclass(slots=True)
class Play:
    """What came of the episodes so far."""

    wanted: int
    verdicts: int = 0
    wrong: int = 0
    infra_lost: int = 0
    infra_refused: int = 0
    otherwise: int = 0
    steps_at_s: list[float] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    faults_done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        return self.verdicts >= self.wanted and self.faults_done.is_set()

    def rate(self, from_s: float, to_s: float) -> float:
        """Return the steps a second between two moments."""
        return (bisect_left(self.steps_at_s, to_s) - bisect_left(self.steps_at_s, from_s)) / (to_s - from_s)


class CountedSession(SessionWrapper[PlayableSession]):
    """A session whose steps are counted; an oracle plays on it."""

    def __init__(self, session: PlayableSession, play: Play) -> None:
        super().__init__(session)
        self._play = play

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        result = await super().step(calls, timeout_s=timeout_s)
        self._play.steps_at_s.append(time.monotonic())
        return result


async def play_one(client: EnvClient, task: str, seed: int, play: Play) -> bool:
    """Play an episode; False when it was lost and is to be played anew."""
    options = SessionOptions(with_tree=True)
    begun = False
    try:
        async with client.session(task, seed=seed, options=options) as session:
            begun = True
            stuck = ""
            try:
                await solve(CountedSession(session, play), task=task, seed=seed, split="train")
            except OracleStuck as error:
                stuck = str(error)
            right = session.reward.success
    except InfrastructureError as error:
        play.infra_lost += begun
        play.infra_refused += not begun
        play.problems[f"{error.reason}: {error}"[:160]] += 1
        return False
    except RLFactoryError as error:
        play.otherwise += 1
        play.problems[f"!! {type(error).__name__}: {error}"[:160]] += 1
        return False
    play.verdicts += 1
    if not right:
        play.wrong += 1
        play.problems[f"!! wrong verdict on {task} seed {seed}: {stuck or session.reward.side_effects}"[:300]] += 1
    return True


async def specimens(client: EnvClient, *, with_sandboxes: bool) -> Iterator[tuple[str, int]]:
    """Return tasks and seeds to play, without end."""

    async def drawn(suite: str) -> Iterator[tuple[str, int]]:
        names = [task.name for task in await client.list_tasks(suite=suite, split="train")]
        return ((names[index % len(names)], index // len(names)) for index in itertools.count())

    phones = await drawn(SUITE)
    if not with_sandboxes:
        return phones
    sandboxes = await drawn(SANDBOX_SUITE)
    return itertools.chain.from_iterable(zip(phones, phones, sandboxes, strict=True))


async def strike(play: Play, kinds: Sequence[Fault], number: int) -> tuple[float, dict[str, float], int]:
    """Do one fault after another; return calm throughput, the longest recovery by kind, and how many were done."""
    await asyncio.sleep(CALM_S)
    now_s = time.monotonic()
    calm = statistics.median(
        play.rate(now_s - CALM_S + start, now_s - CALM_S + start + WINDOW_S)
        for start in range(2, int(CALM_S - WINDOW_S) + 1)
    )
    recovery_s: dict[str, float] = {}
    done = 0
    for fault in itertools.cycle(kinds):
        if done == number:
            break
        struck_s = await struck_at(fault)
        if struck_s is None:
            continue
        done += 1
        took_s = await recovered(play, calm, struck_s)
        recovery_s[fault.name] = max(took_s, recovery_s.get(fault.name, 0.0))
        print(f"{done}/{number} {fault.name}: back after {took_s:.1f} s", file=sys.stderr)
    play.faults_done.set()
    return calm, recovery_s, done


async def struck_at(fault: Fault) -> float | None:
    """Do a fault once there is something to do it to; return when it was done, None when nothing came."""
    give_up_s = time.monotonic() + TARGET_PATIENCE_S
    while (now_s := time.monotonic()) < give_up_s:
        if await fault.strike():
            return now_s
        await asyncio.sleep(RETRY_S)
    return None


async def recovered(play: Play, calm: float, struck_s: float) -> float:
    """Wait until throughput is back; return how long after the fault it was last too low."""
    last_low_s = struck_s
    while True:
        await asyncio.sleep(0.25)
        now_s = time.monotonic()
        if play.rate(max(struck_s, now_s - WINDOW_S), now_s) < BACK * calm:
            last_low_s = now_s
        watched_s = now_s - struck_s
        if watched_s >= GIVE_UP_S or (watched_s >= LEAST_WATCH_S and now_s - last_low_s >= 1.0):
            return last_low_s - struck_s


async def leftovers(service: ServiceUnderFire, client: EnvClient, containers: Containers | None) -> int:
    """Stop the service and count what is still there."""
    status = await client.status()
    for _ in range(int(LEFTOVER_PATIENCE_S / RETRY_S)):
        if not status.sessions and not any(phone.state == "leased" for phone in status.phones):
            break
        await asyncio.sleep(RETRY_S)
        status = await client.status()
    held = status.sessions + sum(phone.state == "leased" for phone in status.phones)
    await service.stop()
    count = 0
    for _ in range(int(LEFTOVER_PATIENCE_S / RETRY_S)):
        count = sum(_runs(pid, created) for pid, created in service.children.items())
        if containers is not None:
            count += await asyncio.to_thread(containers.leftovers)
        if not count:
            break
        await asyncio.sleep(RETRY_S)
    return held + count


def _runs(pid: int, created: float) -> bool:
    try:
        process = psutil.Process(pid)
        return process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def measure(
    service: ServiceUnderFire, *, episodes: int, number: int, concurrency: int, seed: int, only: str
) -> ChaosFigures:
    """Play and strike, until both are done."""
    started_s = time.monotonic()
    chance = random.Random(seed)
    play = Play(wanted=episodes)
    async with service, EnvClient(service.address) as client:
        specs = await specimens(client, with_sandboxes=service.transport == "docker")

        async def worker() -> None:
            task, task_seed = next(specs)
            while not play.over:
                if await play_one(client, task, task_seed, play):
                    task, task_seed = next(specs)
                else:
                    await asyncio.sleep(RETRY_S)

        with ExitStack() as stack:
            containers = sandboxes = None
            if service.transport == "docker":
                containers = stack.enter_context(closing(Containers(service, chance, kind="simulator")))
                sandboxes = stack.enter_context(closing(Containers(service, chance, kind="sandbox")))
            kinds = [each for each in faults(Processes(service, chance), containers, sandboxes) if only in each.name]
            if not kinds:
                raise SystemExit("error: no kind of fault has these words in its name")
            workers = [asyncio.create_task(worker()) for _ in range(concurrency)]
            calm, recovery_s, done = await strike(play, kinds, number)
            await asyncio.gather(*workers)
            left = await leftovers(service, client, containers)
    for problem, count in play.problems.most_common():
        print(f"{count} x {problem}", file=sys.stderr)
    return ChaosFigures(
        episodes=play.verdicts,
        faults=done,
        wrong_verdicts=play.wrong,
        leftovers=left,
        infra_lost=play.infra_lost,
        recovery_s_max=round(max(recovery_s.values(), default=0.0), 2),
        lost_otherwise=play.otherwise,
        infra_refused=play.infra_refused,
        steps_per_s=round(calm, 1),
        recovery_s={name: round(took_s, 2) for name, took_s in recovery_s.items()},
        wall_s=round(time.monotonic() - started_s, 1),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--transport", choices=get_args(Transport), default="docker", help="what the phones run in")
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--spares", type=int, default=4)
    parser.add_argument("--phones-per-host", type=int, default=4)
    parser.add_argument("--size", default="540x1200", metavar="WIDTHxHEIGHT")
    parser.add_argument("--only", default="", metavar="WORDS", help="do only faults with these words in their name")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of victims")
    arguments = parser.parse_args()
    width_px, height_px = (int(side) for side in arguments.size.split("x"))
    service = ServiceUnderFire(
        transport=arguments.transport,
        phones=arguments.concurrency,
        spares=arguments.spares,
        phones_per_host=arguments.phones_per_host,
        size=(width_px, height_px),
    )
    figures = asyncio.run(
        measure(
            service,
            episodes=arguments.episodes,
            number=arguments.faults,
            concurrency=arguments.concurrency,
            seed=arguments.seed,
            only=arguments.only,
        )
    )
    print(json.dumps(asdict(figures), indent=2) if arguments.json else "\n".join(in_words(figures)))


def in_words(figures: ChaosFigures) -> list[str]:
    return [f"{name}: {value}" for name, value in asdict(figures).items()]


if __name__ == "__main__":
    main()
