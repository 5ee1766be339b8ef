"""What credit is worth, and what agents of others leave to learn from: `python -m benchmarks.learning [--json]`.

What is measured stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import logging
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from benchmarks.learning import agents, barrier, curriculum
from benchmarks.learning.credit import ARMS, start_policy, train
from benchmarks.learning.world import SLOPPINESS, World
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving

TASKS: Final = ("steps.turns8_decisions4", "steps.turns16_decisions4")
PARTS: Final = ("agents", "barrier", "curriculum", "credit")


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One seed of one task: what plain GRPO ended with, and what each arm took to get there."""

    task: str
    seed: int
    success_start: float
    success_end: float
    grpo_steps: int
    ratios: dict[str, float]
    """Environment steps over those of GRPO's whole training; an arm that never got there has what it was given."""
    curves: dict[str, list[float]]


async def compare(world: World, task: str, seed: int, *, batches: int, rounds: int) -> Compared:
    """Train each arm from the same policy."""
    start = await start_policy(world, {task: SLOPPINESS}, seed, rounds=rounds)
    plain = await train(world, copy.deepcopy(start), task, "grpo", seed=seed, batches=batches, until=2.0)
    target = plain.smooth[-1]
    curves = {"grpo": plain}
    for arm in [name for name in ARMS if name != "grpo"]:
        curves[arm] = await train(world, copy.deepcopy(start), task, arm, seed=seed, batches=batches, until=target)
    ratios = {arm: (curve.steps_to(target) or curve.steps[-1]) / plain.steps[-1] for arm, curve in curves.items()}
    del ratios["grpo"]
    return Compared(
        task=task,
        seed=seed,
        success_start=plain.success[0],
        success_end=target,
        grpo_steps=plain.steps[-1],
        ratios={arm: round(ratio, 3) for arm, ratio in ratios.items()},
        curves={arm: [round(value, 3) for value in curve.smooth] for arm, curve in curves.items()},
    )


@asynccontextmanager
async def phones() -> AsyncIterator[EnvClient]:
    """Serve phones as small as the tiny model's."""
    source = DirectSource(PhoneConfig(width_px=480, height_px=800))
    async with serving(ServerConfig(drain_s=0.1), phones=source) as server, EnvClient(server.address) as client:
        yield client


async def measure(client: EnvClient, *, tasks: Sequence[str], seeds: int, batches: int, rounds: int) -> list[Compared]:
    """Compare on every task and seed."""
    found = []
    for task in tasks:
        world = World(client)
        for seed in range(seeds):
            begun_s = time.monotonic()
            found.append(await compare(world, task, seed, batches=batches, rounds=rounds))
            last = found[-1]
            taken_s = time.monotonic() - begun_s
            print(
                f"{task} seed {seed}: {last.success_start:.2f} -> {last.success_end:.2f} in {last.grpo_steps} "
                f"steps; {last.ratios}; {taken_s:.0f} s, {world.on_phones} steps on phones",
                file=sys.stderr,
            )
    return found


def figures(found: Sequence[Compared]) -> dict[str, Any]:
    """Return the ratios: the mean over tasks and seeds, with its range."""

    def ratio(arm: str) -> list[float]:
        return [each.ratios[arm] for each in found]

    return {
        "env_steps_ratio": round(float(np.mean(ratio("exact"))), 3),
        "env_steps_ratio_range": [min(ratio("exact")), max(ratio("exact"))],
        "branch_ratio": round(float(np.mean(ratio("branch"))), 3),
        "branch_ratio_range": [min(ratio("branch")), max(ratio("branch"))],
        "progress_ratio": round(float(np.mean(ratio("progress"))), 3),
        "success": {f"{each.task} {each.seed}": [each.success_start, round(each.success_end, 3)] for each in found},
    }


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the parts that are asked for."""
    result: dict[str, Any] = {}
    if "agents" in options.only:
        with TemporaryDirectory() as folder:
            result |= await agents.measure(Path(folder), calls=options.calls)
    if "barrier" in options.only:  # which has an event loop of its own
        result |= await asyncio.to_thread(barrier.measure, seeds=options.seeds)
    async with phones() as client:
        if "curriculum" in options.only:
            result |= await curriculum.measure(World(client), seeds=options.seeds)
        if "credit" in options.only:
            found = await measure(
                client, tasks=options.tasks, seeds=options.seeds, batches=options.batches, rounds=options.rounds
            )
            result |= figures(found)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=60, help="of plain GRPO; the others get no more")
    parser.add_argument("--rounds", type=int, default=12, help="of cloning demonstrations")
    parser.add_argument("--calls", type=int, default=500, help="of the agents behind the gateway")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    result = asyncio.run(run(options))
    print(json.dumps(result) if options.json else "\n".join(f"{name}: {value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
