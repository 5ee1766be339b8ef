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

from rlfactory.envs.api.errors import InfrastructureError, TaskError, UnknownName
from rlfactory.envs.api.types import EpisodeState, Split, TaskInfo
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import OracleStuck
from rlfactory.trainer.episode.policies import Policy
from rlfactory.trainer.episode.rollout import VOID
from rlfactory.trainer.episode.stage import STEP_PARTS, Ablation, Stage, StageTimes
from rlfactory.trainer.record.runlog import EpisodeRecord, RunLog
from rlfactory.trainer.record.statistics import pass_at_k, wilson_interval


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalConfig:
    """What is played."""

    split: Split = "validation"
    tasks: tuple[str, ...] = ()
    """Names; empty: every task of the suite that has the split."""
    suite: str = ""
    """Empty: every suite."""
    episodes: int = 100
    """Distinct (task, seed) pairs, spread evenly over the tasks."""
    attempts: int = 1
    """Of each pair; pass@k is estimated for every k up to this."""
    concurrency: int = 8
    first_seed: int = 0
    ablation: Ablation | None = None
    infra_retries: int = 2
    """Further attempts at an episode that became void."""

    def __post_init__(self) -> None:
        for name in ("episodes", "attempts", "concurrency"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.infra_retries < 0 or self.first_seed < 0:
            raise ValueError("infra_retries and first_seed must not be negative")


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One attempt at one pair."""

    task: str
    seed: int
    attempt: int

    @property
    def id(self) -> str:
        return f"{self.task}-{self.seed}-{self.attempt}"


@dataclass(slots=True)
class Played:
    """An episode with where its time went."""

    job: Job
    record: EpisodeRecord
    times: StageTimes = field(default_factory=StageTimes)


Progress = Callable[[Played], None]


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
    jobs = plan(await client.list_tasks(suite=config.suite, split=config.split), config)
    started_s = time.monotonic()
    played: list[Played] = []

    async def run_one(job: Job) -> None:
        result = await play(client, policy, config, job, log)
        played.append(result)
        if log is not None:
            log.add_episode(result.record)
        if progress is not None:
            progress(result)

    await bounded([lambda job=job: run_one(job) for job in jobs], config.concurrency)  # type: ignore[misc]
    dropped = [each for each in played if each.record.state is None]
    if len(dropped) == len(played):
        raise InfrastructureError(f"no episode could be played; the first failure: {dropped[0].record.failure}")
    return summarise(policy.name, config, played, wall_s=time.monotonic() - started_s)


def plan(offered: Sequence[TaskInfo], config: EvalConfig) -> list[Job]:
    """Return the attempts: seeds rise evenly over the tasks, and the attempts at a pair lie beside each other.

    Raises: UnknownName: a task that is not offered, or a suite without tasks.
    """
    names = [task.name for task in offered]
    for name in config.tasks:
        if name not in names:
            raise UnknownName.of(f"task of the {config.split} split", name, names)
    chosen = config.tasks or tuple(names)
    if not chosen:
        raise TaskError(f"no task in suite {config.suite or 'any'!r}, split {config.split!r}")
    pairs = [
        (chosen[index % len(chosen)], config.first_seed + index // len(chosen)) for index in range(config.episodes)
    ]
    return [Job(task=task, seed=seed, attempt=n) for task, seed in pairs for n in range(config.attempts)]


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


async def play(client: EnvClient, policy: Policy, config: EvalConfig, job: Job, log: RunLog | None) -> Played:
    """Play one episode, again on a fresh session while it becomes void and retries are left."""
    failure = ""
    for retry in range(config.infra_retries + 1):
        try:
            played = await play_once(client, policy, config, job, log)
        except VOID as error:
            failure = f"{error.reason}: {error}"
            await asyncio.sleep(0.2 * retry)  # a service that is replacing a phone needs a moment
            continue
        played.record = replace(played.record, infra_retries=retry)
        return played
    return Played(job=job, record=void_record(job, config, failure))


async def play_once(client: EnvClient, policy: Policy, config: EvalConfig, job: Job, log: RunLog | None) -> Played:
    """Play one episode on one session. Raises: VOID."""
    started_s = time.monotonic()
    options = replace(policy.options, group=f"eval-{job.task}-{job.seed}")
    async with client.session(job.task, seed=job.seed, split=config.split, options=options) as session:
        stage = Stage(session, ablation=config.ablation, log=log)
        failure = ""
        try:
            await policy.play(stage, episode=job.id)
        except OracleStuck as error:
            failure = f"oracle stuck: {error}"
        reward = session.reward
        record = EpisodeRecord(
            id=job.id,
            phase="eval",
            step=0,
            task=job.task,
            seed=job.seed,
            split=config.split,
            group=options.group,
            goal=session.goal,
            turns=tuple(stage.turns),
            state=session.state if session.over else EpisodeState.TRUNCATED,  # the policy gave up
            reward_total=reward.total,
            reward_parts=reward.parts,
            success=reward.success,
            progress=reward.progress,
            side_effects=reward.side_effects,
            final_image=stage.link(stage.observation),
            row_tokens=stage.turns[-1].loss_span[1] if stage.turns else 0,
            malformed=sum(bool(turn.parse_error) for turn in stage.turns),
            failure=failure,
            wall_s=time.monotonic() - started_s,
        )
    return Played(job=job, record=record, times=stage.times)


def void_record(job: Job, config: EvalConfig, failure: str) -> EpisodeRecord:
    return EpisodeRecord(
        id=job.id,
        phase="eval",
        step=0,
        task=job.task,
        seed=job.seed,
        split=config.split,
        goal="",
        turns=(),
        state=None,
        reward_total=0.0,
        reward_parts={},
        success=False,
        infra_retries=config.infra_retries,
        failure=failure,
    )


def summarise(policy: str, config: EvalConfig, played: Sequence[Played], *, wall_s: float) -> Evaluation:
    """Return the figures of the episodes that have a verdict."""
    judged = [each for each in played if each.record.state is not None]
    pairs: dict[tuple[str, int], list[bool]] = defaultdict(list)
    by_task: dict[str, list[EpisodeRecord]] = defaultdict(list)
    for each in judged:
        pairs[each.job.task, each.job.seed].append(each.record.success)
        by_task[each.job.task].append(each.record)
    success = mean([sum(wins) / len(wins) for wins in pairs.values()])
    steps = sum(each.times.steps for each in judged)
    return Evaluation(
        policy=policy,
        split=config.split,
        ablation=config.ablation,
        episodes=len(pairs),
        attempts=config.attempts,
        success=success,
        interval=wilson_interval(success * len(pairs), len(pairs)),
        pass_at=pass_curve(list(pairs.values()), config.attempts),
        tasks=tuple(task_result(task, records) for task, records in sorted(by_task.items())),
        step_ms={part: 1000 * sum(each.times.parts_s[part] for each in judged) / max(1, steps) for part in STEP_PARTS},
        steps=steps,
        malformed=sum(each.record.malformed for each in judged),
        infra_retries=sum(each.record.infra_retries for each in played),
        infra_dropped=len(played) - len(judged),
        failures=tuple(f"{each.job.id}: {each.record.failure}" for each in played if each.record.failure),
        wall_s=wall_s,
    )


def pass_curve(pairs: Sequence[Sequence[bool]], attempts: int) -> dict[int, float]:
    """Return pass@k for k = 1, 2, 4, ... and `attempts`, over the pairs that have k verdicts at least."""
    ks = sorted({*(2**power for power in range(attempts.bit_length()) if 2**power <= attempts), attempts})
    curve = {k: [pass_at_k(sum(wins), len(wins), k) for wins in pairs if len(wins) >= k] for k in ks}
    return {k: mean(values) for k, values in curve.items() if values}


def task_result(task: str, records: Sequence[EpisodeRecord]) -> TaskResult:
    successes = sum(record.success for record in records)
    return TaskResult(
        task=task,
        episodes=len(records),
        successes=successes,
        success=successes / len(records),
        interval=wilson_interval(successes, len(records)),
        turns=mean([len(record.turns) for record in records]),
        malformed=sum(record.malformed for record in records),
    )


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
