"""A run's files can be read back as they were written."""

from __future__ import annotations

from pathlib import Path

from rlfactory.envs.api.types import EpisodeState, ImageFormat, ImageRef, ToolStatus
from rlfactory.trainer.record.runlog import (
    CallRecord,
    EpisodeRecord,
    RunLog,
    RunSummary,
    StepRecord,
    TurnRecord,
    point_to_latest,
)


def _log(folder: Path) -> RunLog:
    log = RunLog(folder)
    log.create()
    return log


def test_episodes_read_back_equal(tmp_path: Path) -> None:
    log = _log(tmp_path / "run")
    link = log.add_image(ImageRef(data=b"picture", format=ImageFormat.JPEG, width_px=112, height_px=252, digest="d1"))
    turn = TurnRecord(
        image=link,
        context_text="<|im_start|>user",
        model_text="tap",
        token_ids=(5, 6),
        log_probs=(-0.5, -0.25),
        loss_span=(10, 12),
        calls=(CallRecord(name="phone", arguments={"x": 3}, status=ToolStatus.OK, points=((0.5, 0.25),)),),
    )
    episode = EpisodeRecord(
        id="e",
        phase="train",
        step=3,
        task="t",
        seed=7,
        split="train",
        goal="Turn Wi-Fi on.",
        turns=(turn,),
        state=EpisodeState.FINISHED,
        reward_total=1.0,
        reward_parts={"success": 1.0},
        success=True,
        side_effects=("x",),
        final_image=link,
    )
    log.add_episode(episode)
    assert log.episodes() == [episode]
    assert (log.folder / link.path).read_bytes() == b"picture"


def test_a_step_redone_after_resume_counts_once_and_torn_lines_are_skipped(tmp_path: Path) -> None:
    log = _log(tmp_path / "run")
    log.add_step(StepRecord(step=1, elapsed_s=1.0, success=0.25))
    log.add_step(StepRecord(step=2, elapsed_s=2.0, success=0.5))
    log.add_step(StepRecord(step=2, elapsed_s=3.0, success=0.75))
    with log.metrics_path.open("a") as stream:
        stream.write('{"step": 3, "elap')
    assert [(record.step, record.success) for record in log.steps()] == [(1, 0.25), (2, 0.75)]


def test_summary_and_latest(tmp_path: Path) -> None:
    log = _log(tmp_path / "first")
    assert log.summary() is None
    summary = RunSummary(recipe="tiny_phone", seed=1, status="finished", time_share={"env": 0.1}, tasks=("a", "b"))
    log.write_summary(summary)
    assert log.summary() == summary
    for name in ("first", "second"):
        point_to_latest(_log(tmp_path / name).folder)
    assert (tmp_path / "latest").resolve() == (tmp_path / "second").resolve()
