"""What it takes to learn the one task of a mix that there is something to learn of."""

from __future__ import annotations

import asyncio
import copy
import random
import sys
from collections import deque
from typing import Any, Final

import numpy as np

from benchmarks.learning.credit import ARMS, GROUPS, PROMPTS, SIBLINGS, start_policy, way_of
from benchmarks.learning.policy import Policy
from benchmarks.learning.world import SLOPPINESS, World
from rlfactory.trainer.credit.curriculum import Curriculum, CurriculumSettings
from rlfactory.trainer.credit.turns import turn_advantages

LEARNABLE: Final = "steps.turns4_decisions2"
TRIVIAL: Final = "steps.turns4_decisions1"
"""Demonstrated as it should be done, so that it is solved from the first."""
IMPOSSIBLE: Final = "steps.turns24_decisions4"
"""Never demonstrated, so that it is never solved."""
MIX: Final = (LEARNABLE, TRIVIAL, IMPOSSIBLE)
ENOUGH: Final = 0.85
WINDOW: Final = 64
"""Episodes of the learnable task."""
RATE: Final = 4.0
BATCHES: Final = 150


async def steps_to_learn(world: World, policy: Policy, *, seed: int, settings: CurriculumSettings) -> int:
    """Return the environment steps until the learnable task is solved often enough; all there were if it never is."""
    curriculum, rng, spent = Curriculum(settings), random.Random(f"curriculum {seed}"), 0
    recent: deque[bool] = deque(maxlen=WINDOW)
    for _ in range(BATCHES):
        tasks = [curriculum.draw(MIX, rng) if settings.enabled else rng.choice(MIX) for _ in range(GROUPS)]
        prompts = [await world.prompt(task, rng.randrange(PROMPTS)) for task in tasks]
        traces = await asyncio.gather(
            *(world.play(prompt, policy.choose) for prompt in prompts for _ in range(SIBLINGS))
        )
        spent += sum(len(trace.actions) for trace in traces)
        for trace in traces:
            curriculum.note(trace.prompt.task, solved=trace.success)
        recent += [trace.success for trace in traces if trace.prompt.task == LEARNABLE]
        if sum(recent) >= ENOUGH * WINDOW:
            break
        policy.learn(traces, turn_advantages([way_of(trace) for trace in traces], ARMS["grpo"]), rate=RATE)
    return spent


async def measure(world: World, *, seeds: int) -> dict[str, Any]:
    """Learn the mix as the curriculum draws it, and drawn evenly."""
    ratios = []
    for seed in range(seeds):
        start = await start_policy(world, {LEARNABLE: SLOPPINESS, TRIVIAL: 0.0}, seed, rounds=12)
        taken = [
            await steps_to_learn(world, copy.deepcopy(start), seed=seed, settings=CurriculumSettings(enabled=enabled))
            for enabled in (True, False)
        ]
        ratios.append(taken[0] / taken[1])
        print(f"curriculum, seed {seed}: {taken[0]} steps, drawn evenly {taken[1]}", file=sys.stderr)
    return {
        "curriculum_ratio": round(float(np.mean(ratios)), 3),
        "curriculum_ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
    }
