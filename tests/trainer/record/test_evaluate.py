"""Which episodes an evaluation plays, and what it makes of them. Pure; episodes themselves are played in tests/e2e."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.types import (
    CoordinateFrame,
    EpisodeState,
    Observation,
    ResetResult,
    Reward,
    SessionOptions,
    StepResult,
    StepTiming,
    TaskInfo,
)
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.trainer.episode.rollout import Dropped, Episode
from rlfactory.trainer.episode.session import Clock, EpisodeSpec, Turn
from rlfactory.trainer.record.evaluate import EvalConfig, pass_curve, plan, summarise
from rlfactory.trainer.record.evaluation_view import evaluation_view

OFFERED = [
    TaskInfo(
        name=name,
        suite="phone",
        description="",
        apps=(),
        splits=("validation",),
        max_turns=5,
        tools=("phone", "finish"),
    )
    for name in ("a", "b", "c")
]


def test_seeds_rise_evenly_over_the_tasks() -> None:
    jobs = plan(OFFERED, EvalConfig(episodes=7, first_seed=10))
    assert [(job.task, job.seed) for job in jobs][:4] == [("a", 10), ("b", 10), ("c", 10), ("a", 11)]
    assert Counter(job.task for job in jobs) == {"a": 3, "b": 2, "c": 2}


def test_a_few_episodes_reach_every_suite_and_app() -> None:
    offered = default_registry().infos(split="validation")
    played = {job.task for job in plan(offered, EvalConfig(episodes=24))}
    groups = {(task.suite, task.name.partition(".")[0]) for task in offered}
    assert {(task.suite, task.name.partition(".")[0]) for task in offered if task.name in played} == groups


def test_tasks_with_a_tool_that_is_not_there_are_left_out_unless_they_are_named() -> None:
    offered = default_registry().infos(split="validation")
    config = EvalConfig(episodes=200, without_tools=frozenset({"python"}))
    assert [job.task for job in plan(offered, config) if job.task.startswith("math_code")] == []
    named = plan(offered, replace(config, tasks=("math_code.count",)))
    assert {job.task for job in named} == {"math_code.count"}


def test_every_pair_gets_its_attempts() -> None:
    jobs = plan(OFFERED, EvalConfig(episodes=4, attempts=3))
    assert Counter((job.task, job.seed) for job in jobs) == {("a", 0): 3, ("b", 0): 3, ("c", 0): 3, ("a", 1): 3}
    assert len({job.id for job in jobs}) == 12


def test_only_the_named_tasks_are_played() -> None:
    assert {job.task for job in plan(OFFERED, EvalConfig(episodes=6, tasks=("b",)))} == {"b"}


def test_unknown_tasks_and_empty_suites_are_refused() -> None:
    with pytest.raises(UnknownName, match="no task of the validation split 'bb'; close: b"):
        plan(OFFERED, EvalConfig(tasks=("bb",)))
    with pytest.raises(TaskError, match="no task in suite 'phone', split 'validation'"):
        plan([], EvalConfig(suite="phone"))


@pytest.mark.parametrize("field", ["episodes", "attempts", "concurrency"])
def test_a_config_without_episodes_is_refused(field: str) -> None:
    zero: dict[str, Any] = {field: 0}
    with pytest.raises(ValueError, match=f"{field} must be at least 1"):
        EvalConfig(**zero)


BEGUN = ResetResult(
    session="s",
    goal="",
    tools=(),
    observation=Observation(sequence=0),
    max_turns=1,
    lease_expiry_s=0.0,
    state_hash="",
)


def played(task: str, seed: int, attempt: int, *, success: bool, malformed: bool = False) -> Episode:
    seen = Observation(sequence=0)
    reward = Reward(total=float(success), success=success)
    timing = StepTiming(act_s=0.002, observe_s=0.010, total_s=0.012)
    result = StepResult(results=(), observation=seen, reward=reward, state=EpisodeState.FINISHED, timing=timing)
    turn = Turn(
        seen=seen,
        calls=(),
        result=result,
        frame=CoordinateFrame.DEVICE_PX,
        env_s=0.013,
        parse_error="no call" if malformed else "",
    )
    return Episode(
        spec=spec(task, seed, attempt),
        goal="",
        turns=(turn,),
        final=seen,
        state=EpisodeState.FINISHED,
        reward=reward,
        clock=Clock(),
        infra_retries=0,
        options=SessionOptions(),
        begun=BEGUN,
    )


def spec(task: str, seed: int, attempt: int) -> EpisodeSpec:
    return EpisodeSpec(id=f"{task}-{seed}-{attempt}", task=task, seed=seed, split="validation")


GONE = Dropped(spec=spec("a", 1, 0), failure="DEVICE_LOST: gone", clock=Clock(), infra_retries=2)


def test_figures_of_an_evaluation() -> None:
    episodes: list[Episode | Dropped] = [
        *(played("a", 0, attempt, success=attempt < 1) for attempt in range(4)),
        *(played("b", 0, attempt, success=True, malformed=True) for attempt in range(4)),
    ]
    result = summarise("random", EvalConfig(attempts=4), episodes, wall_s=2.0)
    assert result.success == pytest.approx(0.625)  # the mean of 1/4 and 4/4
    assert result.pass_at == pytest.approx({1: 0.625, 2: 0.75, 4: 1.0})
    assert [(row.task, row.successes, row.episodes) for row in result.tasks] == [("a", 1, 4), ("b", 4, 4)]
    assert result.step_ms == pytest.approx({"generate": 0, "act": 2, "settle": 0, "observe": 10, "judge": 0, "wire": 1})
    assert result.malformed == 4


def test_infrastructure_is_counted_apart_and_is_no_failure_of_the_policy() -> None:
    episodes: list[Episode | Dropped] = [played("a", 0, 0, success=True), GONE]
    result = summarise("random", EvalConfig(), episodes, wall_s=1.0)
    assert (result.success, result.episodes) == (1.0, 1)
    assert (result.infra_dropped, result.infra_retries) == (1, 2)
    assert result.failures == ("a-1-0: DEVICE_LOST: gone",)


def test_pass_at_k_leaves_out_pairs_with_fewer_verdicts() -> None:
    assert pass_curve([[True, False], [True]], 2) == pytest.approx({1: 0.75, 2: 1.0})


def test_the_view_names_every_task_and_failure() -> None:
    episodes: list[Episode | Dropped] = [played("settings.wifi_on", 0, 0, success=True), GONE]
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(evaluation_view(summarise("random", EvalConfig(), episodes, wall_s=1.0)))
    text = console.export_text()
    assert "settings.wifi_on" in text
    assert "100.0 %" in text
    assert "DEVICE_LOST: gone" in text
