"""A run that was killed at a bad moment goes on without a hole in its curve, and without counting anything twice."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from rlfactory.trainer.record.following import Follower, LessonFollower, catch_up
from rlfactory.trainer.record.recorder import Outcome, read_outcomes
from rlfactory.trainer.record.runlog import Phase, RunLog, StepRecord, append_line
from rlfactory.trainer.run.train import Progress as Told
from rlfactory.trainer.run.train_view import TrainingView


@pytest.fixture
def log(tmp_path: Path) -> RunLog:
    """A run whose first step was recorded."""
    log = RunLog(tmp_path / "run")
    log.create()
    play(log, "train", 1, [1.0, 0.0])
    log.add_step(StepRecord(step=1, elapsed_s=9.0, episodes=2, success=0.5, verl={"timing_s/step": 2.0}))
    return log


def play(log: RunLog, phase: Phase, step: int, rewards: list[float]) -> None:
    for number, reward in enumerate(rewards):
        outcome = Outcome(
            id=f"{phase}{step}-{number}", phase=phase, step=step, task="t", group="g", dropped=False,
            success=bool(reward), reward=reward, turns=1,
        )  # fmt: skip
        append_line(log.folder / "rollouts.jsonl", asdict(outcome))


def tell(log: RunLog, step: int, **data: float) -> Path:
    path = log.logs / "verl-120000.jsonl"
    with path.open("a") as stream:
        stream.write(json.dumps({"step": step, "data": data}) + "\n")
    return path


def test_a_step_that_verl_logged_and_nobody_had_read_yet_is_recorded(log: RunLog) -> None:
    play(log, "train", 2, [1.0, 1.0])
    play(log, "eval", 2, [1.0])
    tell(log, 2, **{"timing_s/step": 3.0})
    play(log, "train", 3, [0.0])
    assert catch_up(log, saved=2)
    assert [(each.step, each.step_s, each.success) for each in log.steps()] == [(1, 0.0, 0.5), (2, 3.0, 1.0)]
    assert log.steps()[1].eval_success == 1.0
    assert {each.step for each in read_outcomes(log.folder)} == {1, 2}


def test_an_evaluation_that_was_cut_off_is_done_again_and_counted_once(log: RunLog) -> None:
    play(log, "train", 2, [1.0, 0.0])
    play(log, "eval", 2, [1.0])
    assert not catch_up(log, saved=2)
    assert [(each.step, each.episodes, each.eval_success) for each in log.steps()] == [(1, 2, None), (2, 2, None)]

    again = Follower(log.logs / "verl-120000.jsonl", log, elapsed_s=lambda: 1.0)
    play(log, "eval", 2, [1.0, 0.0])
    tell(log, 2, **{"val-core/success": 0.5})
    [record] = again.new_steps()
    assert (record.episodes, record.success, record.eval_episodes, record.eval_success) == (2, 0.5, 2, 0.5)
    assert catch_up(log, saved=2)


def test_a_run_that_had_saved_nothing_begins_again(log: RunLog) -> None:
    play(log, "eval", 0, [1.0])
    assert not catch_up(log, saved=0)
    assert (log.steps(), list(read_outcomes(log.folder))) == ([], [])
    play(log, "eval", 0, [1.0, 0.0])
    tell(log, 0)
    assert catch_up(log, saved=0), "it was evaluated, and need not be again"
    assert log.steps()[0].eval_success == 0.5


def test_the_steps_of_all_lessons_are_counted_while_they_go_on_and_none_of_a_warm_start_before(log: RunLog) -> None:
    stale = log.lesson_metrics(1)
    stale.write_text('{"step": 9, "data": {"train/loss": 9.0}}\n')
    lessons = LessonFollower(log, lessons=2)
    assert lessons.latest() == (0, None)
    log.lesson_metrics(0).write_text(
        '{"step": 1, "data": {"train/loss": 6.0}}\n{"step": 2, "data": {}}\n{"step": 3, "da'
    )
    assert lessons.latest() == (2, 6.0)
    stale.write_text('{"step": 1, "data": {"train/loss": 0.5}}\n')
    assert lessons.latest() == (3, 0.5)


def test_the_warm_start_moves_the_bar_and_says_a_line_now_and_then(tmp_path: Path) -> None:
    screen = io.StringIO()
    with Progress(console=Console(file=screen, width=100)) as bar:
        view = TrainingView(bar, tmp_path)
        for taken, message in ((1, ""), (40, "step 40 of up to 90  loss 0.500"), (41, "")):
            view.tell(Told(phase="warm_start", elapsed_s=9.0, message=message, lesson_steps=taken, total_steps=90))
        (task,) = bar.tasks
        assert (task.description, task.completed, task.total) == ("warm start", 41, 90)
    assert screen.getvalue().count("step 40 of up to 90  loss 0.500") == 1
    assert screen.getvalue().count("0:09") == 1
