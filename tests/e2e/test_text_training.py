"""Training without phones as a user runs it, cut short: it searches over gRPC, and its checkpoint plays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rlfactory.trainer.record.runlog import RunLog

pytestmark = [pytest.mark.train, pytest.mark.training, pytest.mark.timeout(900)]

SHORT = (
    "rlfactory.warm_start.episodes=48",
    "rlfactory.warm_start.batch=8",
    "rlfactory.warm_start.micro_batch=8",
    "rlfactory.warm_start.lessons=[{guesses: 0.5, steps: 3, lr: 1.0e-3, lr_warmup_steps: 1}]",
    "rlfactory.record.every_train=1",
    "data.episodes.validation.count=6",
    "data.val_batch_size=6",
    "data.train_batch_size=2",
    "actor_rollout_ref.actor.ppo_mini_batch_size=2",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16",
    "trainer.total_training_steps=1",
    "trainer.test_freq=1",
    "trainer.save_freq=1",
    "trainer.val_before_train=false",
    "rlfactory.stall_timeout_s=600",  # a busy machine is no failure
)


def test_a_step_of_grpo_without_a_phone_and_a_checkpoint_that_plays(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rlfactory", "train", "tiny_search", "--runs", str(tmp_path), "--name", "short"]
    done = subprocess.run([*command, *SHORT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    log = RunLog(tmp_path / "short")
    summary = log.summary()
    assert summary is not None
    assert (summary.status, summary.steps, summary.transport, summary.infra_dropped) == ("finished", 1, "", 0)
    assert summary.rollout_train_prob_diff_max is not None
    assert summary.rollout_train_prob_diff_max < 2e-3
    [step] = [record for record in log.steps() if record.episodes]
    assert {"search_r1", "exact_match", "f1", "format", "support"} == set(step.reward_parts)
    assert '"reward_parts":{"exact_match"' in (log.folder / "report.html").read_text()
    assert_checkpoint_plays(log.policy)


def assert_checkpoint_plays(policy: Path) -> None:
    command = [sys.executable, "-m", "rlfactory", "eval", "--policy", f"checkpoint:{policy}", "--json"]
    options = ["--suite", "tiny_search", "--episodes", "4"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["episodes"], result["infra_dropped"]) == (4, 0)
    assert result["step_ms"]["generate"] > 0
