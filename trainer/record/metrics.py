"""From what verl logs and what the episodes counted to the records of a run. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rlfactory.trainer.record.recorder import Outcome
from rlfactory.trainer.record.runlog import StepRecord

Span = tuple[float, float]

TIME_PARTS: Final = ("generate", "env", "old_log_prob", "ref", "update", "sync", "other")
"""Where a step's time goes; they sum to the step."""

_TIMERS: Final[Mapping[str, str]] = {
    "old_log_prob": "timing_s/old_log_prob",
    "ref": "timing_s/ref",
    "update": "timing_s/update_actor",
    "sync": "timing_s/update_weights",
}


def union(spans: Iterable[Span]) -> list[Span]:
    """Return the time covered by the spans as disjoint spans in order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def length(spans: Iterable[Span]) -> float:
    return math.fsum(end - start for start, end in spans)


def overlap(first: Sequence[Span], second: Sequence[Span]) -> float:
    """Return the time covered by both."""
    a, b = union(first), union(second)
    return length(a) + length(b) - length(union([*a, *b]))


def rollout_time(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
    """Return the seconds in which the rollout waited for the environment alone, for the engine, and used both.

    Many episodes wait at once, so seconds of clock are counted, not of episodes. Time in which an environment call
    was open while the engine was working counts as the engine's: the environment held nobody up.
    """
    env = [span for outcome in outcomes for span in outcome.env_spans]
    generate = [span for outcome in outcomes for span in outcome.generate_spans]
    both = overlap(env, generate)
    return length(union(env)) - both, length(union(generate)), both


def time_parts(verl: Mapping[str, float], outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the seconds of one step by `TIME_PARTS`."""
    step_s = step_seconds(verl)
    env, generate, _ = rollout_time(outcomes)
    parts = {"generate": generate, "env": env}
    parts |= {name: verl.get(timer, 0.0) for name, timer in _TIMERS.items()}
    parts["other"] = max(0.0, step_s - math.fsum(parts.values()))
    return {name: parts[name] for name in TIME_PARTS}


def step_seconds(verl: Mapping[str, float]) -> float:
    """Return a step's wall time without saving; evaluation is outside of verl's own figure."""
    return max(0.0, verl.get("timing_s/step", 0.0) - verl.get("timing_s/save_checkpoint", 0.0))


def step_record(step: int, *, elapsed_s: float, verl: Mapping[str, float], outcomes: Iterable[Outcome]) -> StepRecord:
    """Return the record of one step; `outcomes`: its episodes, trained on and evaluated."""
    rows = [outcome for outcome in outcomes if outcome.step == step]
    trained = [row for row in rows if row.phase == "train"]
    played = [row for row in trained if not row.dropped]
    evaluated = [row for row in rows if row.phase == "eval" and not row.dropped]
    turns = sum(row.turns for row in played)
    return StepRecord(
        step=step,
        elapsed_s=elapsed_s,
        step_s=step_seconds(verl),
        episodes=len(played),
        success=_share(row.success for row in played),
        reward=_mean([row.reward for row in played]),
        reward_parts=parts_means(played),
        progress=_mean([row.progress for row in played]),
        turns=_mean([row.turns for row in played]),
        malformed=sum(row.malformed for row in played) / turns if turns else 0.0,
        by_task=by_task(played),
        tool_failures=sum(row.tool_failures for row in played) / turns if turns else 0.0,
        infra_retries=sum(row.infra_retries for row in rows),
        infra_dropped=sum(row.dropped for row in rows),
        entropy=verl.get("actor/entropy"),
        kl=verl.get("actor/kl_loss"),
        prob_diff_max=verl.get("training/rollout_probs_diff_max"),
        eval_success=_share(row.success for row in evaluated),
        eval_episodes=len(evaluated),
        eval_by_task=by_task(evaluated),
        time_s=time_parts(verl, trained) if trained else {},
        verl=dict(verl),
    )


def logged(record: StepRecord) -> dict[str, float]:
    """Return a step's figures as they are named in TensorBoard, W&B and MLflow."""
    env_s = record.time_s.get("env", 0.0)
    figures = {
        "success": record.success,
        "eval_success": record.eval_success,
        "reward": record.reward,
        "progress": record.progress,
        "turns": record.turns,
        "drift_max": record.prob_diff_max,
        "env_share": env_s / record.step_s if record.step_s and record.time_s else None,
        "blame/model": record.malformed if record.episodes else None,
        "blame/tool": record.tool_failures if record.episodes else None,
        "blame/infrastructure": float(record.infra_retries + record.infra_dropped),
        "voids": float(record.infra_dropped),
        **{f"task/{task}": success for task, success in record.by_task.items()},
        **{f"eval_task/{task}": success for task, success in record.eval_by_task.items()},
    }
    return {f"rlfactory/{name}": value for name, value in figures.items() if value is not None}


def parts_means(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Return the mean of each part of the reward over the episodes that have it, by name."""
    found: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for name, score in outcome.reward_parts.items():
            found[name].append(score)
    return {name: math.fsum(scores) / len(scores) for name, scores in sorted(found.items())}


def by_task(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Return the share of successes of each task."""
    results: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        results[outcome.task].append(outcome.success)
    return {task: sum(found) / len(found) for task, found in sorted(results.items())}


def time_shares(steps: Sequence[StepRecord]) -> dict[str, float]:
    """Return the mean share of each part of a step; they sum to 1. Empty without steps."""
    shares = [
        {name: record.time_s.get(name, 0.0) / record.step_s for name in TIME_PARTS}
        for record in steps
        if record.step_s > 0 and record.time_s
    ]
    if not shares:
        return {}
    means = {name: math.fsum(share[name] for share in shares) / len(shares) for name in TIME_PARTS}
    total = math.fsum(means.values())
    return {name: value / total for name, value in means.items()}


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _share(hits: Iterable[bool]) -> float | None:
    return _mean([float(hit) for hit in hits])
