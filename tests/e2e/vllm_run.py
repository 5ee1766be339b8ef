"""A short training by verl's vLLM server, watched: what the tests on a CPU and on a GPU share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rlfactory.trainer.record.runlog import RunLog, RunSummary
from tests.e2e import weight_trace

SHORT = (
    "rlfactory.service.phones=8",
    "rlfactory.warm_start.episodes=64",
    "rlfactory.warm_start.batch=8",
    "rlfactory.warm_start.micro_batch=8",
    "rlfactory.warm_start.lessons=[{sloppiness: 0.5, steps: 60, lr: 1.0e-3, lr_warmup_steps: 1}]",
    "data.episodes.validation.count=8",
    "data.val_batch_size=8",
    "trainer.total_training_steps=3",
    "trainer.val_before_train=false",
    "trainer.test_freq=-1",
    "trainer.save_freq=-1",
    "rlfactory.stall_timeout_s=600",  # a busy machine is no failure
)


def train_short(folder: Path, *overrides: str) -> RunSummary:
    """Train `tiny_phone` for three steps; the records are in folder/runs/short."""
    command = [sys.executable, "-m", "rlfactory", "train", "tiny_phone", "--runs", str(folder / "runs")]
    environment = {**os.environ, **weight_trace.installed(folder / "trace")}
    done = subprocess.run(
        [*command, "--name", "short", *SHORT, *overrides], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    summary = RunLog(folder / "runs" / "short").summary()
    assert summary is not None
    assert (summary.status, summary.steps, summary.infra_dropped) == ("finished", 3, 0)
    return summary


def assert_weights_change(folder: Path, *, syncs: int) -> None:
    """The server got other weights at each sync."""
    found = weight_trace.digests(folder / "trace")
    assert len(found) == len(set(found)) == syncs, found
