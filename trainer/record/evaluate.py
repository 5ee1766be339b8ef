"""Evaluation: a policy over a split of tasks, with honest figures.

Failures of infrastructure are no verdict: such an episode is played again on a fresh session, and dropped from every
share when that fails too. Both are counted. An evaluation measures in closed loop: `concurrency` episodes at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from rlfactory.envs.api.errors import InfrastructureError, TaskError, UnknownName
from rlfactory.envs.api.types import Split, TaskInfo
from rlfactory.envs.client import EnvClient, Session
from rlfactory.trainer.episode.policies import Policy
from rlfactory.trainer.episode.rollout import Dropped, Episode, RolloutConfig, play
from rlfactory.trainer.episode.session import Ablation, EpisodeSpec, Turn
from rlfactory.trainer.record.recorder import Recorder
from rlfactory.trainer.record.regimes import Regime, RegimeResult, by_regime, regime_of
from rlfactory.trainer.record.runlog import RunLog
from rlfactory.trainer.record.statistics import pass_at_k, wilson_interval

STEP_PARTS: Final[Mapping[str, Callable[[Turn], float]]] = {
    "generate": lambda turn: turn.generate_s,
    "act": lambda turn: turn.result.timing.act_s,
    "settle": lambda turn: turn.result.timing.settle_s,
    "observe": lambda turn: turn.result.timing.observe_s,
    "judge": lambda turn: turn.result.timing.judge_s,
    "wire": lambda turn: max(0.0, turn.env_s - turn.result.timing.total_s),
}
"""Where a step's time goes; `wire` is what the client waited beyond the server's own total."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalConfig:
    """What is played."""

    split: Split = "validation"
    tasks: tuple[str, ...] = ()
    """Names; empty: every task of the suite that has the split."""
    suite: str = ""
    """Empty: every suite."""
    without_tools: frozenset[str] = frozenset()
    """Tasks that have one of these are left out, unless they or their suite are named."""
    episodes: int = 100
    """Distinct (task, seed) pairs, spread evenly over the tasks; few of them, over the suites and apps."""
    attempts: int = 1
    """Of each pair; pass@k is estimated for every k up to this."""
    concurrency: int = 8
    first_seed: int = 0
    ablation: Ablation | None = None
    perturb: str = ""
    """What happens to the phones; "": what the service is set to."""
    rollout: RolloutConfig = field(
        default_factory=lambda: RolloutConfig(episode_timeout_s=3600.0, retry_within_s=3600.0)
    )
    """A policy bounds its own turns, and no batch waits for an episode."""

    def __post_init__(self) -> None:
        for name in ("episodes", "attempts", "concurrency"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.first_seed < 0:
            raise ValueError("first_seed must not be negative")


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """Figures of one template."""

    task: str
    episodes: int
    """Verdicts, every attempt counted."""
    successes: int
    success: float
    interval: tuple[float, float]
    turns: float
    """Mean of an episode."""
    malformed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What came out."""

    policy: str
    dialect: str = ""
    """How the policy wrote actions; "": it wrote no text."""
    split: Split
    ablation: Ablation | None
    episodes: int
    """Pairs of (task, seed) with at least one verdict."""
    attempts: int
    success: float
    """pass@1."""
    interval: tuple[float, float]
    """Wilson, 95 %, over the pairs."""
    pass_at: Mapping[int, float]
    regimes: tuple[RegimeResult, ...] = ()
    """Success by what is new about the tasks."""
    tasks: tuple[TaskResult, ...]
    step_ms: Mapping[str, float]
    """Mean of a step, by part."""
    steps: int
    malformed: int
    """Turns that were no well-formed action."""
    infra_retries: int
    infra_dropped: int
    failures: tuple[str, ...]
    """Why episodes were dropped or the oracle stuck, one line each."""
    wall_s: float


Progress = Callable[[Episode | Dropped], None]


async def evaluate(
    client: EnvClient,
    policy: Policy,
    config: EvalConfig,
    *,
    log: RunLog | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Play the episodes and return their figures; with `log` every episode is recorded there.

    Raises:
        UnknownName: a task that the service does not offer in this split.
        InfrastructureError: not one episode could be played; the message is the first failure's.
    """
    offered = await client.list_tasks(suite=config.suite, split=config.split)
    specs = plan(offered, config)
    started_s = time.monotonic()
    played: list[Episode | Dropped] = []

    def open_session(spec: EpisodeSpec) -> Session:
        options = replace(policy.options, group=spec.group, perturb=config.perturb)
        return client.session(spec.task, seed=spec.seed, split=spec.split, options=options)

    async def run_one(spec: EpisodeSpec) -> None:
        outcome = await play(
            spec, policy.play, open_session=open_session, config=config.rollout, ablation=config.ablation
        )
        episode = outcome if isinstance(outcome, Dropped) else outcome[0]
        played.append(episode)
        if log is not None:
            log.add_episode(Recorder(log).record(episode, phase="eval", step=0))
        if progress is not None:
            progress(episode)

    await bounded([lambda spec=spec: run_one(spec) for spec in specs], config.concurrency)  # type: ignore[misc]
    dropped = [each for each in played if isinstance(each, Dropped)]
    if len(dropped) == len(played):
        raise InfrastructureError(f"no episode could be played; the first failure: {dropped[0].failure}")
    regimes = {task.name: regime_of(task, config.split) for task in offered}
    result = summarise(policy.name, config, played, wall_s=time.monotonic() - started_s, regimes=regimes)
    return replace(result, dialect=policy.dialect)


def plan(offered: Sequence[TaskInfo], config: EvalConfig) -> list[EpisodeSpec]:
    """Return the attempts: seeds rise evenly over the tasks, and the attempts at a pair lie beside each other.

    Raises: UnknownName: a task that is not offered, or a suite without tasks.
    """
    names = [task.name for task in offered]
    for name in config.tasks:
        if name not in names:
            raise UnknownName.of(f"task of the {config.split} split", name, names)
    chosen = config.tasks or spread([task for task in offered if not left_out(task, config)])
    if not chosen:
        raise TaskError(f"no task in suite {config.suite or 'any'!r}, split {config.split!r}")
    pairs = [
        (chosen[index % len(chosen)], config.first_seed + index // len(chosen)) for index in range(config.episodes)
    ]
    return [
        EpisodeSpec(
            id=f"{task}-{seed}-{attempt}", task=task, seed=seed, split=config.split, group=f"eval-{task}-{seed}"
        )
        for task, seed in pairs
        for attempt in range(config.attempts)
    ]


def left_out(task: TaskInfo, config: EvalConfig) -> bool:
    """Whether an evaluation that names neither tasks nor a suite leaves this task out."""
    return not (config.tasks or config.suite or config.without_tools.isdisjoint(task.tools))


def spread(offered: Sequence[TaskInfo]) -> tuple[str, ...]:
    """Return the names in an order whose beginning has tasks of every suite and app."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for task in offered:
        groups[task.suite, task.name.partition(".")[0]].append(task.name)
    return tuple(name for row in zip_longest(*groups.values()) for name in row if name is not None)


async def bounded(makers: Sequence[Callable[[], Awaitable[None]]], limit: int) -> None:
    """Await all, at most `limit` at a time; the first exception cancels the rest."""
    waiting = iter(makers)

    async def worker() -> None:
        for maker in waiting:
            await maker()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(limit, len(makers))):
                group.create_task(worker())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def summarise(
    policy: str,
    config: EvalConfig,
    played: Sequence[Episode | Dropped],
    *,
    wall_s: float,
    regimes: Mapping[str, Regime] | None = None,
) -> Evaluation:
    """Return the figures of the episodes that have a verdict. `regimes`: of each task."""
    judged = [each for each in played if isinstance(each, Episode)]
    pairs: dict[tuple[str, int], list[bool]] = defaultdict(list)
    by_task: dict[str, list[Episode]] = defaultdict(list)
    for each in judged:
        pairs[each.spec.task, each.spec.seed].append(each.reward.success)
        by_task[each.spec.task].append(each)
    success = mean([sum(wins) / len(wins) for wins in pairs.values()])
    pairs_by_task: dict[str, list[float]] = defaultdict(list)
    for (task, _), wins in pairs.items():
        pairs_by_task[task].append(sum(wins) / len(wins))
    turns = [turn for each in judged for turn in each.turns]
    return Evaluation(
        policy=policy,
        split=config.split,
        ablation=config.ablation,
        episodes=len(pairs),
        attempts=config.attempts,
        success=success,
        interval=wilson_interval(success * len(pairs), len(pairs)),
        pass_at=pass_curve(list(pairs.values()), config.attempts),
        regimes=by_regime(pairs_by_task, regimes or {}),
        tasks=tuple(task_result(task, episodes) for task, episodes in sorted(by_task.items())),
        step_ms={part: 1000 * mean([seconds(turn) for turn in turns]) for part, seconds in STEP_PARTS.items()},
        steps=len(turns),
        malformed=sum(each.malformed for each in judged),
        infra_retries=sum(each.infra_retries for each in played),
        infra_dropped=len(played) - len(judged),
        failures=tuple(f"{each.spec.id}: {each.failure}" for each in played if each.failure),
        wall_s=wall_s,
    )


def pass_curve(pairs: Sequence[Sequence[bool]], attempts: int) -> dict[int, float]:
    """Return pass@k for k = 1, 2, 4, ... and `attempts`, over the pairs that have k verdicts at least."""
    ks = sorted({*(2**power for power in range(attempts.bit_length()) if 2**power <= attempts), attempts})
    curve = {k: [pass_at_k(sum(wins), len(wins), k) for wins in pairs if len(wins) >= k] for k in ks}
    return {k: mean(values) for k, values in curve.items() if values}


def task_result(task: str, episodes: Sequence[Episode]) -> TaskResult:
    successes = sum(episode.reward.success for episode in episodes)
    return TaskResult(
        task=task,
        episodes=len(episodes),
        successes=successes,
        success=successes / len(episodes),
        interval=wilson_interval(successes, len(episodes)),
        turns=mean([len(episode.turns) for episode in episodes]),
        malformed=sum(episode.malformed for episode in episodes),
    )


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
