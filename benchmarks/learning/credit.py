"""How many environment steps each way to give credit takes to learn rounds of `steps`."""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from benchmarks.learning.policy import Policy
from benchmarks.learning.world import Moment, Prompt, Trace, World
from rlfactory.trainer.credit.turns import Credit, Estimator, Place, Way, turn_advantages

PROMPTS: Final = 32
"""Training seeds of a task."""
GROUPS: Final = 4
"""Of a batch."""
SIBLINGS: Final = 8
DEMONSTRATIONS: Final = 48
WINDOW: Final = 8
"""Batches over which success is averaged: 256 episodes."""
RATE: Final = 1.0
CONTINUATIONS: Final = 2
BUDGET: Final = 0.5
"""Of branching: steps beside those of a batch's episodes, as a share of them."""

ARMS: Final[Mapping[str, Credit]] = {
    "grpo": Credit(estimator=Estimator.GRPO),
    "exact": Credit(estimator=Estimator.STATE_VALUES),
    "branch": Credit(estimator=Estimator.STATE_VALUES),
    "progress": Credit(estimator=Estimator.PROGRESS),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """One training."""

    arm: str
    steps: list[int] = field(default_factory=list)
    """Of the environment, after each batch."""
    success: list[float] = field(default_factory=list)
    """Of each batch, as it was sampled."""

    @property
    def smooth(self) -> list[float]:
        return [float(np.mean(self.success[max(0, end - WINDOW) : end])) for end in range(1, len(self.success) + 1)]

    def steps_to(self, success: float) -> int | None:
        """Return the steps after which success, over a whole window, was this high."""
        whole = zip(self.steps[WINDOW - 1 :], self.smooth[WINDOW - 1 :], strict=True)
        return next((steps for steps, value in whole if value >= success), None)


async def start_policy(world: World, tasks: Mapping[str, float], seed: int, *, rounds: int) -> Policy:
    """Return a policy that knows the way and has the habit to change what it comes by: so often, by task."""
    shown = [
        turn
        for task, sloppiness in tasks.items()
        for number in range(DEMONSTRATIONS)
        for turn in await world.demonstrate(task, number, sloppiness)
    ]
    taken = [(turn, world.number(turn.call)) for turn in shown]
    policy = Policy(len(world.calls), seed=seed)
    loss = policy.clone(taken, rounds=rounds)
    print(f"{', '.join(tasks)}: {len(world.calls)} actions, cloned to {loss:.2f} nats a turn", file=sys.stderr)
    return policy


async def train(world: World, policy: Policy, task: str, arm: str, *, seed: int, batches: int, until: float) -> Curve:
    """Train until the success of a window is `until`, or for so many batches."""
    curve, rng, spent = Curve(arm=arm), random.Random(f"{task} {seed}"), 0
    for _ in range(batches):
        prompts = [await world.prompt(task, number) for number in rng.sample(range(PROMPTS), GROUPS)]
        traces = await asyncio.gather(
            *(world.play(prompt, policy.choose) for prompt in prompts for _ in range(SIBLINGS))
        )
        spent += sum(len(trace.actions) for trace in traces)
        continued: dict[Place, list[float]] = {}
        if arm == "branch":
            continued, forked = await branches(world, policy, traces)
            spent += forked
        ways = [way_of(trace) for trace in traces]
        policy.learn(traces, turn_advantages(ways, ARMS[arm], continued=continued), rate=RATE)
        curve.steps.append(spent)
        curve.success.append(float(np.mean([trace.success for trace in traces])))
        if len(curve.success) >= WINDOW and curve.smooth[-1] >= until:
            break
    return curve


async def branches(world: World, policy: Policy, traces: Sequence[Trace]) -> tuple[dict[Place, list[float]], int]:
    """Fork phones where siblings parted, and let each side be continued; return what came of it, and steps taken.

    First where the policy was least sure, until the budget is spent.
    """
    budget = BUDGET * sum(len(trace.actions) for trace in traces)
    visits = Counter((trace.prompt.seed, moment.place) for trace in traces for moment in trace.moments)
    sides: dict[tuple[int, str], dict[int, tuple[Trace, int]]] = defaultdict(dict)
    for trace in traces:
        for turn, (moment, action) in enumerate(zip(trace.moments, trace.actions, strict=True)):
            sides[trace.prompt.seed, moment.place].setdefault(action, (trace, turn))
    parted = [each for each in sides.values() if len(each) > 1]
    parted.sort(key=lambda each: -doubt(policy, *next(iter(each.values()))))
    continued: dict[Place, list[float]] = defaultdict(list)
    spent = 0
    for trace, turn in (side for each in parted for side in each.values()):
        if spent >= budget:
            break
        prompt, begin = trace.prompt, trace.actions[: turn + 1]
        after = trace.moments[turn].after[trace.actions[turn]]
        if after.over or len(begin) >= prompt.max_turns or visits[prompt.seed, after.place] > CONTINUATIONS:
            continue
        for _ in range(CONTINUATIONS):
            forked = await world.play(prompt, policy.choose, begin=begin)
            spent += len(forked.actions) - len(begin)
            continued[prompt.seed, after.place].append(float(forked.success))
    return continued, spent


def doubt(policy: Policy, trace: Trace, turn: int) -> float:
    """Return the entropy of what the policy would do, in nats."""
    chances = policy.chances(trace.prompt.words, trace.moments[turn].screen)
    return float(-(chances * np.log(chances + 1e-12)).sum())


def way_of(trace: Trace) -> Way:
    return Way(
        group=trace.prompt.seed,
        total=float(trace.success),
        states=tuple(moment.place for moment in trace.moments),
        progress=tuple(moment.progress for moment in trace.moments),
    )


__all__ = ["ARMS", "Curve", "Moment", "Prompt", "start_policy", "train"]
