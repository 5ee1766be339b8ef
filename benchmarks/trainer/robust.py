"""A training whose phones die (10 % of them in each episode) and whose calls hang (5 %), after a quiet warm start.

What must hold: the run ends, nothing without a verdict is learnt from, what hangs costs its episode and not the step.
It takes 20 steps of 64 episodes: six minutes on two quiet cores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from benchmarks.trainer.start import shown
from rlfactory.trainer.record.recorder import Outcome, read_outcomes
from rlfactory.trainer.record.runlog import RunLog, RunSummary, StepRecord
from rlfactory.trainer.run.train import Progress, run

STEPS: Final = 20
MIN_GROUP: Final = 2
"""As base.yaml has it."""


def measure(steps: int = STEPS, *overrides: str) -> dict[str, Any]:
    """Train, and return the figures."""
    with tempfile.TemporaryDirectory(prefix="rlfactory-robust-") as place:
        trigger, runs = Path(place, "faults"), Path(place, "runs")

        def tell(told: Progress) -> None:
            if told.phase == "grpo_start":
                trigger.touch()
            shown(told)

        with faulty_service(trigger) as address:
            bound = (f"trainer.total_training_steps={steps}", f"trainer.test_freq={steps}", "trainer.save_freq=-1")
            served = ("rlfactory.service=null", f"rlfactory.address='{address}'", "rlfactory.seed=1")
            summary = run("tiny_phone", [*served, *bound, *overrides], runs=runs, name="robust", progress=tell)
        log = RunLog(runs / "robust")
        return figures(summary, log.steps(), list(read_outcomes(log.folder)))


@contextmanager
def faulty_service(trigger: Path) -> Iterator[str]:
    """Serve phones for the block, faulty as long as the file exists; yield the service's address."""
    command = [sys.executable, "-m", "benchmarks.trainer.faulty_phones", "--while", str(trigger)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdin is not None and service.stdout is not None
        try:
            yield json.loads(service.stdout.readline())["address"]
        finally:
            service.stdin.close()


def figures(summary: RunSummary, records: Sequence[StepRecord], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return what is measured of a run."""
    trained = [record for record in records if record.episodes]
    step_s = [record.step_s for record in trained]
    played = [each for each in outcomes if each.phase == "train"]
    return {
        "steps": len(trained),
        "slowest_over_median": round(max(step_s) / median(step_s), 3),
        "step_s_median": round(median(step_s), 2),
        "infra_in_loss": sum(_learnt_otherwise(record, played) for record in trained),
        "infra_dropped_share": round(fmean(each.dropped for each in played), 4),
        "infra_retried_share": round(fmean(each.infra_retries > 0 for each in played), 4),
        "robust_success_start": summary.eval_success_start,
        "robust_success_end": summary.eval_success_end,
    }


def _learnt_otherwise(record: StepRecord, played: Iterable[Outcome]) -> bool:
    """Tell whether the rows that verl learnt from have another mean reward than the step's episodes with a verdict."""
    groups: dict[str, list[float]] = defaultdict(list)
    for each in played:
        if each.step == record.step and not each.dropped:
            groups[each.group].append(each.reward)
    rewards = [reward for group in groups.values() if len(group) >= MIN_GROUP for reward in group]
    return abs(record.verl["critic/score/mean"] - fmean(rewards)) > 1e-5
