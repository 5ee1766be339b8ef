"""A short training by verl's vLLM server, watched: what the tests on a CPU and on a GPU share."""

from __future__ import annotations

from pathlib import Path

from rlfactory.trainer.record.runlog import RunSummary
from tests.commands import SHORT_PHONE, train
from tests.e2e import weight_trace

SHORT = (
    *SHORT_PHONE,
    "rlfactory.warm_start.lessons=[{sloppiness: 0.5, steps: 60, lr: 1.0e-3, lr_warmup_steps: 1}]",
    "trainer.total_training_steps=3",
    "trainer.val_before_train=false",
    "trainer.test_freq=-1",
    "trainer.save_freq=-1",
)


def train_short(folder: Path, *overrides: str) -> RunSummary:
    """Train `tiny_phone` for three steps; the records are in folder/runs/short."""
    environment = weight_trace.installed(folder / "trace")
    summary = train("tiny_phone", folder / "runs", *SHORT, *overrides, environment=environment).summary()
    assert summary is not None
    assert (summary.status, summary.steps, summary.infra_dropped) == ("finished", 3, 0)
    return summary


def assert_weights_change(folder: Path, *, syncs: int) -> None:
    """The server got other weights at each sync."""
    found = weight_trace.digests(folder / "trace")
    assert len(found) == len(set(found)) == syncs, found
