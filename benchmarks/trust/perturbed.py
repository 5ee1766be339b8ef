"""A phone that fights back: oracles, which look, solve all under each perturbation; fixed places solve half at most."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from benchmarks.trust.check import Check, Finding, Size
from rlfactory.envs.api.types import SessionOptions, TaskInfo
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import OracleEpisode, play
from rlfactory.envs.perturb.catalogue import PERTURBATIONS
from rlfactory.trainer.record.evaluate import bounded
from rlfactory.trainer.run.local_service import ServiceConfig, local_service

SEED: Final = 20_000
CONCURRENCY: Final = 4
MOST_BLIND: Final = 0.5
"""Share of episodes that an agent may still solve which taps where the oracle taps on an untroubled phone; of those
that the oracle's last turn alone does not win."""
PHONES: Final = ServiceConfig(phones=CONCURRENCY, width_px=540, height_px=1200, unsafe_local=True)
PLAIN: Final = SessionOptions(with_image=False, with_tree=True)
OF_PHONES: Final = frozenset({"phone", "finish"})


def cases_of(tasks: Sequence[TaskInfo]) -> list[tuple[str, str]]:
    """Return each task with each perturbation that it can meet."""
    return [
        (task.name, name)
        for task in tasks
        for name, each in PERTURBATIONS.items()
        if (set(task.tools) - OF_PHONES if each.fails_calls else "phone" in task.tools)
    ]


async def blind(client: EnvClient, record: OracleEpisode, options: SessionOptions) -> bool:
    """Play the actions of another episode of the same task and seed, whatever the screen shows."""
    async with client.session(record.task, seed=record.seed, split=record.split, options=options) as session:
        for step in record.steps:
            if not session.over:
                await session.step(step.calls)
        return session.reward.success


async def measure(size: Size) -> Finding:
    solved: dict[str, list[bool]] = defaultdict(list)
    solved_blind: list[bool] = []
    faults: list[str] = []
    async with local_service(PHONES) as service, EnvClient(service.address) as client:
        met: dict[str, list[str]] = defaultdict(list)
        for task, name in size.of(cases_of(await client.list_tasks(split="train"))):
            met[task].append(name)

        async def run_one(task: str, name: str, untroubled: OracleEpisode, has_to_tap: bool) -> None:
            options = SessionOptions(with_image=False, with_tree=True, perturb=name)
            try:
                played = await play(client, task, seed=SEED, options=options)
            except LookupError as error:  # an oracle that read a screen which does not show what it looks for
                solved[name].append(False)
                faults.append(f"{name}, {task}: {error!r}")
                return
            solved[name].append(played.reward.success)
            if not played.reward.success:
                faults.append(f"{name}, {task}: {played.stuck or played.reward.side_effects or played.reward.parts}")
            if has_to_tap and not PERTURBATIONS[name].fails_calls:
                solved_blind.append(await blind(client, untroubled, options))

        async def run_all(task: str) -> None:
            untroubled = await play(client, task, seed=SEED, options=PLAIN)
            has_to_tap = not await blind(client, replace(untroubled, steps=untroubled.steps[-1:]), PLAIN)
            for name in met[task]:
                await run_one(task, name, untroubled, has_to_tap)

        await bounded([partial(run_all, task) for task in met], CONCURRENCY)
    played = [won for wins in solved.values() for won in wins]
    left = sum(solved_blind) / max(1, len(solved_blind))
    if left > MOST_BLIND:
        faults.append(f"fixed places still solve {left:.0%}, more than {MOST_BLIND:.0%}")
    figures = {
        "perturbations": len(solved),
        "perturbed": len(played),
        "perturbed_oracle": round(sum(played) / len(played), 4),
        "perturbed_fixed_places": round(left, 4),
    }
    return Finding(figures=figures, faults=faults)


def run(size: Size) -> Finding:
    return asyncio.run(measure(size))


CHECK: Final = Check(
    name="perturbed",
    what="Oracles solve all under each perturbation (`perturbed_oracle`), fixed places at most half.",
    run=run,
)
