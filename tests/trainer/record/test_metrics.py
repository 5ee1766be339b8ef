"""Where the time of a step went, and what a run's summary says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.trainer.record.metrics import (
    TIME_PARTS,
    length,
    overlap,
    rollout_time,
    step_record,
    time_parts,
    time_shares,
    union,
)
from rlfactory.trainer.record.recorder import Outcome
from rlfactory.trainer.record.runlog import Phase, RunSummary
from rlfactory.trainer.run.train import summarise

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 10)).map(lambda s: (float(s[0]), float(s[0] + s[1]))))


def outcome(
    *, step: int = 1, phase: Phase = "train", success: bool = True, dropped: bool = False, **more: object
) -> Outcome:
    return Outcome(
        id="e",
        phase=phase,
        step=step,
        task="t",
        group="g",
        dropped=dropped,
        success=success,
        turns=2,
        **more,  # type: ignore[arg-type]
    )


@given(SPANS, SPANS)
def test_covered_time_is_counted_once(first: list[tuple[float, float]], second: list[tuple[float, float]]) -> None:
    def seconds(spans: list[tuple[float, float]]) -> set[int]:
        return {second for start, end in spans for second in range(int(start), int(end))}

    assert length(union(first)) == len(seconds(first))
    assert overlap(first, second) == len(seconds(first) & seconds(second))


def test_the_environment_answers_for_the_time_when_nobody_generates() -> None:
    outcomes = [
        outcome(env_spans=((0.0, 2.0), (5.0, 6.0)), generate_spans=((2.0, 5.0),)),
        outcome(env_spans=((0.0, 3.0),), generate_spans=((3.0, 5.5),)),
    ]
    env, generate, both = rollout_time(outcomes)
    assert (env, generate, both) == (2.5, 3.5, 1.5)
    verl = {"timing_s/step": 12.0, "timing_s/save_checkpoint": 1.0, "timing_s/update_actor": 3.0, "timing_s/ref": 1.0}
    parts = time_parts(verl, outcomes)
    assert tuple(parts) == TIME_PARTS
    assert sum(parts.values()) == pytest.approx(11.0)
    assert parts["env"] == 2.5


def test_summary_tells_start_from_end_and_counts_what_was_lost() -> None:
    outcomes = [
        outcome(step=0, phase="eval", success=False),
        outcome(step=1, success=True, malformed=1),
        outcome(step=1, success=False),
        outcome(step=1, dropped=True, success=False, infra_retries=2),
        outcome(step=1, phase="eval", success=True),
    ]
    verl = {"timing_s/step": 4.0, "training/rollout_probs_diff_max": 1e-6, "actor/entropy": 0.5, "actor/kl_loss": 0.1}
    records = [step_record(step, elapsed_s=step, verl=verl if step else {}, outcomes=outcomes) for step in (0, 1)]
    assert (records[1].episodes, records[1].success, records[1].malformed) == (2, 0.5, 0.25)
    assert (records[1].entropy, records[1].kl) == (0.5, 0.1)
    summary = summarise(records, RunSummary(recipe="r", seed=0, status="finished"))
    assert (summary.eval_success_start, summary.eval_success_end, summary.eval_episodes) == (0.0, 1.0, 1)
    assert (summary.infra_dropped, summary.infra_retries, summary.episodes_per_step) == (1, 2, 2)
    assert summary.rollout_train_prob_diff_max == 1e-6
    assert sum(summary.time_share.values()) == pytest.approx(1.0)
    assert time_shares([]) == {}
    nothing = summarise([], RunSummary(recipe="r", seed=0, status="stopped"))
    assert nothing.eval_success_start is None and nothing.eval_success_end is None
