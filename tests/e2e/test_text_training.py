"""Training without phones as a user runs it, cut short: it searches over gRPC, and its checkpoint plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import SHORT, assert_checkpoint_plays, assert_finished, train

pytestmark = [pytest.mark.train, pytest.mark.training, pytest.mark.timeout(900)]

ONE_STEP = (
    *SHORT,
    "rlfactory.warm_start.episodes=48",
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
)


def test_a_step_of_grpo_without_a_phone_and_a_checkpoint_that_plays(tmp_path: Path) -> None:
    log = train("tiny_search", tmp_path, *ONE_STEP)
    assert_finished(log, steps=1, transport="")
    [step] = [record for record in log.steps() if record.episodes]
    assert {"search_r1", "exact_match", "f1", "format", "support"} == set(step.reward_parts)
    assert '"reward_parts":{"exact_match"' in (log.folder / "report.html").read_text()
    assert_checkpoint_plays(log.policy, "tiny_search")
