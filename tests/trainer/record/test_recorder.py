"""What a run has recorded can be completed and taken back."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from rlfactory.envs.api.types import EpisodeState
from rlfactory.trainer.credit.turns import Credit, Estimator
from rlfactory.trainer.record.recorder import Outcome, Recorder, read_outcomes
from rlfactory.trainer.record.runlog import EpisodeRecord, RunLog, TurnRecord, append_line


def log_with(folder: Path, rewards: dict[tuple[int, str, str], float]) -> RunLog:
    """`rewards`: by (step, group, id)."""
    log = RunLog(folder)
    log.create()
    for (step, group, name), reward in rewards.items():
        outcome = Outcome(
            id=name, phase="train", step=step, task="t", group=group, dropped=False, reward=reward, env_spans=((0, 1),)
        )
        append_line(folder / "rollouts.jsonl", asdict(outcome))
        log.add_episode(
            EpisodeRecord(
                id=name,
                phase="train",
                step=step,
                task="t",
                seed=0,
                split="train",
                group=group,
                goal="g",
                turns=(),
                state=EpisodeState.FINISHED,
                reward_total=reward,
                reward_parts={},
                success=reward > 0,
            )
        )
    return log


def test_advantages_compare_the_siblings_of_a_group(tmp_path: Path) -> None:
    log = log_with(
        tmp_path / "run", {(1, "a", "a0"): 1.0, (1, "a", "a1"): 0.0, (1, "b", "b0"): 1.0, (1, "b", "b1"): 1.0}
    )
    Recorder(log).fill_in_advantages()
    found = {record.id: record.advantage for record in log.episodes()}
    assert found == {
        "a0": pytest.approx(0.7071, abs=1e-3),
        "a1": pytest.approx(-0.7071, abs=1e-3),
        "b0": pytest.approx(0.0),
        "b1": pytest.approx(0.0),
    }


def test_each_turn_of_a_group_that_was_recorded_whole_has_its_credit(tmp_path: Path) -> None:
    log = log_with(tmp_path / "run", {(1, "a", "a0"): 1.0, (1, "a", "a1"): 0.0, (1, "b", "b0"): 1.0})
    ends = {"a0": "right", "a1": "wrong", "b0": "right"}

    def turn(state: str) -> TurnRecord:
        return TurnRecord(
            image=None, context_text="", model_text="", token_ids=(), log_probs=(), loss_span=(0, 0), state_hash=state
        )

    log.replace_episodes(replace(each, turns=(turn("fork"), turn(ends[each.id]), turn(""))) for each in log.episodes())
    append_line(log.folder / "rollouts.jsonl", asdict(replace(next(read_outcomes(log.folder)), id="b1", group="b")))
    Recorder(log).fill_in_advantages(Credit(estimator=Estimator.STATE_VALUES))
    found = {record.id: [turn.advantage for turn in record.turns] for record in log.episodes()}
    assert found["a0"] == pytest.approx([-0.7071, 0.7071, 0.0], abs=1e-3)  # where the first began is not recorded
    assert found["a1"] == pytest.approx([0.7071, -0.7071, 0.0], abs=1e-3)
    assert found["b0"] == [None] * 3  # a sibling of it is counted, but not recorded


def test_what_came_after_a_checkpoint_is_forgotten(tmp_path: Path) -> None:
    log = log_with(tmp_path / "run", {(1, "a", "a0"): 1.0, (2, "b", "b0"): 0.0, (3, "c", "c0"): 0.0})
    Recorder(log).forget_after(2)
    assert [outcome.id for outcome in read_outcomes(log.folder)] == ["a0", "b0"]
    assert [record.id for record in log.episodes()] == ["a0", "b0"]
    assert next(read_outcomes(log.folder)).env_spans == ((0, 1),)
