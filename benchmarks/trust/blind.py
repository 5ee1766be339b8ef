"""How often one wins who does not look: by moves that won elsewhere, by those of the same goal in another world, and by
one answer, always given."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.trust.check import Check, Figure, Finding, Size
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.validation import ValidationPolicy, read_policy
from rlfactory.envs.tasks.registry import WORLDS, TaskRegistry
from rlfactory.envs.tasks.suites import SHIPPED_TASKS, default_registry
from rlfactory.envs.tasks.task import Task
from rlfactory.envs.tasks.validation.played import OPTIONS, Case
from rlfactory.envs.tasks.validation.static import best_constant, drawing
from rlfactory.trainer.record.evaluate import bounded
from rlfactory.trainer.run.local_service import ServiceConfig, local_service

CONCURRENCY: Final = 4
TREE_ALONE: Final = replace(OPTIONS, with_image=False)
"""Oracles go by the tree; to draw pictures takes longer than all else."""
LEARNT: Final = range(10)
FIRST_HELD_OUT: Final = 30_000
ROUND: Final = 60
MOST_PLAYED: Final = 600
"""Episodes: at least a round, and on until chance explains no more than what is allowed, or so many are played."""
DEVIATIONS: Final = 2.0
OTHER_WORLDS: Final = (0, 2, 3)
"""In which a goal is played by the moves that win it in world 1."""
MAX_BLIND: Final = 0.05
MAX_BINARY: Final = 0.55
MAX_CONSTANT: Final = 0.10
LEAST_SPARE: Final = 1.5


def most_of(*, is_binary: bool) -> float:
    """Return the share of episodes that may be won unseen."""
    return MAX_BINARY if is_binary else MAX_BLIND


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    """What one template lets win unseen, as shares of episodes."""

    name: str
    is_binary: bool
    """It decides between a few, so chance wins now and then."""
    blind: float
    sightless: float
    turns_spare: float
    """The limit of turns, in calls of the oracle."""

    @property
    def faults(self) -> list[str]:
        most = most_of(is_binary=self.is_binary)
        told = [
            f"{self.name}: {how} wins {share:.1%} unseen, more than {most:.0%}"
            for how, share in (("what won elsewhere", self.blind), ("the same goal elsewhere", self.sightless))
            if share > most
        ]
        short = f"{self.name}: the turns are {self.turns_spare:.2f} times the oracle's calls"
        return [*told, *([short] if self.turns_spare < LEAST_SPARE else [])]


def moves_of_others() -> Iterator[tuple[int, int]]:
    """Yield seeds: of which the moves are, on which they are played."""
    return zip(itertools.cycle(LEARNT), itertools.count(FIRST_HELD_OUT), strict=False)


def moves_of_other_worlds() -> Iterator[tuple[int, int]]:
    """Yield seeds of one goal: of the world in which its moves win, of the one in which they are played."""
    goals = itertools.count(FIRST_HELD_OUT)
    return ((WORLDS + goal, world * WORLDS + goal) for goal in goals for world in OTHER_WORLDS)


async def share_won(case: Case, tried: Iterable[tuple[int, int]]) -> float:
    """Return the share of episodes won unseen by the moves of the first seed of each pair on the second."""
    most, won, share = most_of(is_binary=bool(case.chance)), 0, 0.0
    for played, (learnt, seed) in enumerate(itertools.islice(tried, MOST_PLAYED), 1):
        won += await case.wins_of(learnt, (seed,))
        share = won / played
        if played % ROUND == 0 and share + DEVIATIONS * math.sqrt(share * (1 - share) / played) <= most:
            break
    return share


async def play(case: Case, policy: ValidationPolicy) -> Shares:
    """Raises: AssertionError: the oracle fails."""
    name = case.template.name
    blind = await share_won(case, moves_of_others())
    needs_sight = case.has_worlds and not policy.reason("sightless", name)
    sightless = await share_won(case, moves_of_other_worlds()) if needs_sight else 0.0
    stuck = [record.stuck or f"seed {record.seed}" for record in case.records.values() if not record.reward.success]
    if stuck:
        raise AssertionError(f"{name}: the oracle fails: {stuck[0]}")
    calls = max(sum(len(step.calls) for step in record.steps) for record in case.records.values())
    return Shares(
        name=name,
        is_binary=bool(case.chance),
        blind=blind,
        sightless=sightless,
        turns_spare=LEAST_SPARE if policy.reason("limit", name) else case.template.max_turns / calls,
    )


async def measure(size: Size, registry: TaskRegistry, policy: ValidationPolicy) -> list[Shares | str]:
    """Return what was played of each template that needs sight; a line for one whose oracle fails."""
    done: list[Shares | str] = []
    phones = ServiceConfig(phones=CONCURRENCY, width_px=540, height_px=1200, unsafe_local=True)
    async with local_service(phones) as service, EnvClient(service.address) as client:

        async def one(template: type[Task]) -> None:
            chance = policy.chance_of(template.name)
            case = Case(
                template=template, registry=registry, client=client, other=client, chance=chance, seen=TREE_ALONE
            )
            try:
                done.append(await play(case, policy))
            except AssertionError as error:
                done.append(str(error))

        templates = [each for each in SHIPPED_TASKS if each.needs_device]
        makers: list[Callable[[], Awaitable[None]]] = [lambda each=each: one(each) for each in size.of(templates)]  # type: ignore[misc]
        await bounded(makers, CONCURRENCY)
    return done


def constants(registry: TaskRegistry) -> dict[str, float]:
    """Return how often the best constant answer is right, by template that asks for one."""
    shares = {}
    for template in SHIPPED_TASKS:
        found = best_constant(template, drawing(registry, template.name))
        if found is not None:
            shares[template.name] = found.share
    return shares


def run(size: Size) -> Finding:
    registry, policy = default_registry(), read_policy()
    tried = asyncio.run(measure(size, registry, policy))
    played = [each for each in tried if isinstance(each, Shares)]
    faults = [each for each in tried if isinstance(each, str)]
    said = constants(registry)
    faults += [fault for each in played for fault in each.faults]
    faults += [f"{name}: one answer is right in {share:.0%}" for name, share in said.items() if share > MAX_CONSTANT]
    figures: dict[str, Figure] = {
        "blind_templates": len(played),
        "blind_max": max((each.blind for each in played if not each.is_binary), default=0.0),
        "blind_binary_max": max((each.blind for each in played if each.is_binary), default=0.0),
        "sightless_max": max((each.sightless for each in played if not each.is_binary), default=0.0),
        "sightless_binary_max": max((each.sightless for each in played if each.is_binary), default=0.0),
        "constant_answer_max": max(said.values(), default=0.0),
        "turns_spare_min": min((each.turns_spare for each in played), default=0.0),
    }
    return Finding(figures={name: round(value, 4) for name, value in figures.items()}, faults=faults)


CHECK: Final = Check(
    name="blind",
    what="Who does not look wins at most 5 % (`blind_max`, `sightless_max`), of two choices 55 % (`..._binary_max`), "
    "with one answer 10 % (`constant_answer_max`).",
    run=run,
)
