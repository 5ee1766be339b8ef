"""Episodes through a network that breaks: `python -m benchmarks.network [--json] [--episodes 200]`.

Text episodes, whose acts count how often they were done, and phone episodes of oracles go on side by side while one
fault follows the other, each of 0.2 to 8 s. Then the conformance suite runs once under each kind of fault.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Final

from benchmarks.adversary.arena import SUMS, Service, call
from benchmarks.network.weather import KINDS, Weather, weather
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.conformance.checks import BEHAVIOURS, Target, examine

OUTAGES_S: Final = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
CALM_S: Final = 0.5
"""Between two faults; after a black hole, connections are found out to be dead in this time and the next fault's."""
TURNS: Final = 20
ACT_S: Final = 0.2
PHONES: Final = 4
PHONE_SHARE: Final = 0.2
"""Of the episodes."""
TEXT_PLAYERS: Final = 20
PHONE_TASKS: Final = ("settings.wifi_on", "settings.airplane_on")
BREAK_S: Final = 0.2
"""Of the fault under which a behaviour of the conformance suite begins."""


@dataclass(kw_only=True, slots=True)
class Seen:
    """What came of the episodes."""

    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Verdicts other than success on episodes that were played right."""
    twice: list[str] = field(default_factory=list)
    """Acts that were done more than once, or not at all."""
    played: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What the network cost."""

    episodes: int
    net_lost: int
    """Episodes that failed, whatever for."""
    wrong_verdicts: int
    acts_not_once: int
    conformance_failed: int
    """Behaviours of the conformance suite that did not hold, over all kinds of fault."""
    faults: dict[str, int]
    """How many of each kind went over the episodes."""
    outages_s: tuple[float, float]
    """The shortest and the longest of them."""
    wall_s: float


async def play_text(client: EnvClient, seed: int, seen: Seen) -> None:
    """Play an episode whose every act counts itself."""
    options = SessionOptions(with_image=False, lease_s=60.0)
    async with client.session(SUMS, seed=seed, options=options) as session:
        for turn in range(1, TURNS + 1):
            said = (await session.step([call("nap", key=session.id, seconds=ACT_S)])).results[0].text
            if said != f"{session.id} {turn}":
                seen.twice.append(f"act {turn} of {session.id} was done as {said!r}")
        number = session.goal.split()[-1].rstrip(".")
        if not (await session.step([call("finish", answer=number)])).reward.success:
            seen.wrong.append(f"{SUMS} seed {seed}")


async def play_phone(client: EnvClient, seed: int, seen: Seen) -> None:
    """Play an episode on a phone by its oracle."""
    task = PHONE_TASKS[seed % len(PHONE_TASKS)]
    record = await play(client, task, seed=seed, options=SessionOptions(lease_s=60.0))
    if record.stuck or not record.reward.success:
        seen.wrong.append(f"{task} seed {seed}: {record.stuck or record.reward}")


async def play_all(client: EnvClient, episodes: int, seen: Seen) -> None:
    """Play so many episodes, as many at a time as there are players."""

    async def player(seeds: Iterator[int], kind: object) -> None:
        for seed in seeds:
            try:
                await (play_phone if kind == "phone" else play_text)(client, seed, seen)
            except RLFactoryError as error:
                seen.lost.append(f"{kind} episode {seed}: {type(error).__name__}: {error}")
            seen.played += 1

    phones = round(PHONE_SHARE * episodes)
    text, phone = iter(range(episodes - phones)), iter(range(phones))
    players = [player(text, "text") for _ in range(TEXT_PLAYERS)] + [player(phone, "phone") for _ in range(PHONES)]
    await asyncio.gather(*players)


async def storm(network: Weather, rng: random.Random, faults: list[tuple[str, float]]) -> None:
    """Let faults follow each other for ever: every kind in turn, its length drawn from those left."""
    while True:
        lengths = {kind: rng.sample(OUTAGES_S, len(OUTAGES_S)) for kind in KINDS}
        for number, kind in itertools.product(range(len(OUTAGES_S)), KINDS):
            await network.fault(kind, lengths[kind][number])
            faults.append((kind, lengths[kind][number]))
            await asyncio.sleep(CALM_S)


async def conform(address: str, kind: str, seed: int) -> list[str]:
    """Run the conformance suite, a fault at the beginning of each behaviour; return what did not hold."""
    failed = []
    async with weather(address, seed=seed) as network, EnvClient(network.address) as client:
        target = Target(client=client, task=PHONE_TASKS[0])
        for number, behaviour in enumerate(BEHAVIOURS):
            breaking = None
            if kind in ("slow", "reordered", "duplicated"):
                breaking = asyncio.create_task(network.fault(kind, 60.0))
                await asyncio.sleep(0)
            elif kind != "black_hole" or not number:  # it takes ten seconds to be found out: once
                await network.fault(kind, BREAK_S)
            (finding,) = await examine(target, (behaviour,))
            if breaking is not None:
                breaking.cancel()
                await asyncio.gather(breaking, return_exceptions=True)
            if finding.problem:
                failed.append(f"{kind}: {finding.name}: {finding.problem}")
    return failed


async def main_async(episodes: int, seed: int, kinds: tuple[str, ...]) -> tuple[Figures, list[str]]:
    """Return the figures, and a line for each thing that went wrong."""
    seen, faults, begun_s = Seen(), list[tuple[str, float]](), time.monotonic()
    options = ("--phones", str(PHONES), "--spares", "1", "--width", "320", "--height", "480", "--drain-s", "1")
    async with Service(*options, tokens=()) as service:
        async with weather(service.address, seed=seed) as network, EnvClient(network.address) as client:
            storming = asyncio.create_task(storm(network, random.Random(seed), faults))
            telling = asyncio.create_task(_tell(seen, faults, episodes))
            try:
                await play_all(client, episodes, seen)
            finally:
                for each in (storming, telling):
                    each.cancel()
                await asyncio.gather(storming, telling, return_exceptions=True)
        failed = [line for kind in kinds for line in await conform(service.address, kind, seed)]
    figures = Figures(
        episodes=seen.played,
        net_lost=len(seen.lost),
        wrong_verdicts=len(seen.wrong),
        acts_not_once=len(seen.twice),
        conformance_failed=len(failed),
        faults=dict(Counter(kind for kind, _ in faults)),
        outages_s=(min((each for _, each in faults), default=0.0), max((each for _, each in faults), default=0.0)),
        wall_s=round(time.monotonic() - begun_s, 1),
    )
    return figures, [*seen.lost, *seen.wrong, *seen.twice, *failed]


async def _tell(seen: Seen, faults: list[tuple[str, float]], episodes: int) -> None:
    from rich.console import Console

    with Console(stderr=True).status("begins") as line, contextlib.suppress(asyncio.CancelledError):
        while True:
            line.update(f"{seen.played}/{episodes} episodes, {len(seen.lost)} lost, {len(faults)} faults")
            await asyncio.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the order and the lengths of faults")
    parser.add_argument("--conformance", nargs="*", default=list(KINDS), choices=KINDS, help="kinds to run it under")
    arguments = parser.parse_args()
    figures, problems = asyncio.run(main_async(arguments.episodes, arguments.seed, tuple(arguments.conformance)))
    for problem in problems:
        print(problem, file=sys.stderr)
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        print(
            f"{figures.episodes} episodes under {sum(figures.faults.values())} faults in {figures.wall_s:g} s: "
            f"{figures.net_lost} lost, {figures.wrong_verdicts} wrong verdicts, {figures.acts_not_once} acts not done "
            f"once; {figures.conformance_failed} behaviours did not conform"
        )
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
