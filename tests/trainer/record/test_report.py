"""What the report is made of; how it looks is tested in tests/browser."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.record.report import (
    ReportLimits,
    choose_episodes,
    duration,
    headline,
    number,
    percent,
    script_json,
    write_report,
)
from rlfactory.trainer.record.runlog import EpisodeRecord, RunLog, RunSummary, StepRecord


def episode(index: int, *, step: int) -> EpisodeRecord:
    return EpisodeRecord(
        id=str(index),
        phase="train",
        step=step,
        task="tiny.privacy",
        seed=index,
        split="train",
        goal="",
        turns=(),
        state=None,
        reward_total=0.0,
        reward_parts={},
        success=False,
    )


def test_episodes_are_chosen_evenly_over_the_steps(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    for index in range(30):
        log.add_episode(episode(index, step=index // 10))
    chosen, _, total = choose_episodes(log, ReportLimits(episodes=6))
    assert total == 30
    assert [record.id for record in chosen] == ["0", "1", "10", "11", "20", "21"]


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no run in"):
        write_report(tmp_path)


def test_json_cannot_end_its_script_element() -> None:
    text = script_json({"goal": "</script><script>alert(1)</script>\u2028"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"goal": "</script><script>alert(1)</script>\u2028"}


def test_the_headline_of_a_stopped_run_comes_from_its_steps() -> None:
    steps = [
        StepRecord(step=0, elapsed_s=1.0, eval_success=0.25, eval_episodes=100),
        StepRecord(step=1, elapsed_s=2.0),
        StepRecord(step=2, elapsed_s=3.0, eval_success=0.5, eval_episodes=100),
    ]
    stopped = RunSummary(recipe="tiny_phone", seed=1, status="stopped", eval_success_start=0.25, eval_episodes=100)
    for summary in (None, stopped):
        shown = headline(summary, steps)
        assert shown is not None
        assert (shown.start, shown.end) == (0.25, 0.5)
        assert shown.end_band == pytest.approx((0.404, 0.596), abs=1e-3)
    assert headline(replace(stopped, eval_success_start=None), []) is None
    early = headline(stopped, steps[:2])
    assert early is not None and (early.start, early.end, early.end_band) == (0.25, None, None)


def test_a_run_that_was_stopped_early_shows_no_end(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.create()
    log.add_step(StepRecord(step=0, elapsed_s=1.0, eval_success=0.25, eval_episodes=100))
    log.write_summary(RunSummary(recipe="tiny_phone", seed=1, status="stopped"))
    page = write_report(tmp_path).read_text()
    assert "The end was not evaluated" in page and 'class="to"' not in page
    for unmeasured in ("A step takes", "Token drift", "Malformed", "Environment", "Parameters"):
        assert f"<dt>{unmeasured}" not in page


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0421, "42 ms"), (7.46, "7.5 s"), (312.4, "5 min 12 s"), (7260, "2 h 1 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"), [(None, "–"), (0.0, "0 %"), (0.004, "0.4 %"), (0.921, "92 %"), (1.0, "100 %")]
)
def test_shares(share: float | None, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(("value", "text"), [(950, "950"), (12_300, "12.3 k"), (1_120_000, "1.1 M")])
def test_counts(value: float, text: str) -> None:
    assert number(value) == text
