"""Programs as a user runs them: the command `rlfactory`, a training cut short, `docker`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlfactory.trainer.record.runlog import RunLog, RunSummary

ROOT = Path(__file__).resolve().parent.parent
RLFACTORY = (sys.executable, "-m", "rlfactory")
SHORT = (
    "rlfactory.warm_start.batch=8",
    "rlfactory.warm_start.micro_batch=8",
    "rlfactory.stall_timeout_s=600",  # a busy machine is no failure
)
SHORT_PHONE = (
    *SHORT,
    "rlfactory.service.phones=8",
    "rlfactory.warm_start.episodes=64",
    "data.episodes.validation.count=8",
    "data.val_batch_size=8",
)


def run(
    *command: str, environment: Mapping[str, str] | None = None, timeout_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program at the repository's root; `environment` is added to ours."""
    variables = {**os.environ, **(environment or {})}
    return subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=timeout_s, check=False
    )


def output_of(*command: str, environment: Mapping[str, str] | None = None, timeout_s: float | None = None) -> str:
    """Return what a program prints that has to succeed."""
    done = run(*command, environment=environment, timeout_s=timeout_s)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tracked(*paths: str) -> list[str]:
    """Return the files of the repository (below these paths): tracked, and new ones that git does not ignore."""
    listed = output_of("git", "ls-files", "--cached", "--others", "--exclude-standard", *paths).splitlines()
    return [name for name in sorted(set(listed)) if (ROOT / name).exists()]


def rlfactory_json(*arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    return json.loads(output_of(*RLFACTORY, *arguments, "--json", environment=environment))


def docker(*arguments: str) -> str:
    return output_of("docker", *arguments, timeout_s=60).strip()


def train(recipe: str, runs: Path, *overrides: str, environment: Mapping[str, str] | None = None) -> RunLog:
    """Train as runs/short; return what that left."""
    options = ("--runs", str(runs), "--name", "short")
    output_of(*RLFACTORY, "train", recipe, *options, *overrides, environment=environment)
    return RunLog(runs / "short")


def assert_finished(log: RunLog, *, steps: int, transport: str) -> RunSummary:
    """A run came to its end, without a lost episode, and trained on what was sampled."""
    summary = log.summary()
    assert summary is not None
    assert (summary.status, summary.steps, summary.transport) == ("finished", steps, transport)
    assert summary.infra_dropped == 0
    assert summary.rollout_train_prob_diff_max is not None
    assert summary.rollout_train_prob_diff_max < 2e-3
    return summary


def assert_checkpoint_plays(policy: Path, suite: str, *options: str) -> dict[str, Any]:
    """A policy that a training left plays four episodes; return the figures."""
    result: dict[str, Any] = rlfactory_json(
        *("eval", "--policy", f"checkpoint:{policy}", "--suite", suite, "--episodes", "4", *options)
    )
    assert (result["episodes"], result["infra_dropped"]) == (4, 0)
    assert result["step_ms"]["generate"] > 0
    return result
