"""A training whose phones die (10 % of them in each episode) and whose calls hang (5 %), after a quiet warm start.

What must hold: the run ends, nothing without a verdict is learnt from, what hangs costs its episode and not the step,
and the policy learns as it does without faults: its curve is compared with those of three trainings without any, from
the same warm start. Each takes 20 steps of 64 episodes, all together a quarter of an hour on two quiet cores.
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
from rlfactory.trainer.record.statistics import wilson_interval
from rlfactory.trainer.run.train import Progress, run

STEPS: Final = 20
MIN_GROUP: Final = 2
"""As base.yaml has it."""
FAULTLESS_SEEDS: Final = (1, 2, 3)
WINDOW: Final = 5
"""Steps that a point of a curve is the mean of."""


def measure(steps: int = STEPS, *overrides: str) -> dict[str, Any]:
    """Train with faults, then without, and return the figures."""
    with tempfile.TemporaryDirectory(prefix="rlfactory-robust-") as place:
        trigger, runs = Path(place, "faults"), Path(place, "runs")

        def tell(told: Progress) -> None:
            if told.phase == "grpo_start":
                trigger.touch()
            shown(told)

        with faulty_service(trigger) as address:
            bound = (f"trainer.total_training_steps={steps}", f"trainer.test_freq={steps}", "trainer.save_freq=-1")
            served = ("rlfactory.service=null", f"rlfactory.address='{address}'", *bound, *overrides)
            summary = run("tiny_phone", ["rlfactory.seed=1", *served], runs=runs, name="robust", progress=tell)
            trigger.unlink()
            log = RunLog(runs / "robust")
            taught = ("rlfactory.tiny_model=null", "rlfactory.warm_start=null", "trainer.val_before_train=false")
            faultless = []
            for seed in FAULTLESS_SEEDS:
                asked = [*served, f"rlfactory.seed={seed}", *taught, f"actor_rollout_ref.model.path={log.model}"]
                run("tiny_phone", asked, runs=runs, name=f"faultless{seed}", progress=shown)
                faultless.append(RunLog(runs / f"faultless{seed}").steps())
        learnt = figures(summary, log.steps(), list(read_outcomes(log.folder)))
        return learnt | compared(log.steps(), faultless)


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
        "slowest_over_median": _slowest_over_median(records),
        "step_s_median": round(median(step_s), 2),
        "infra_in_loss": sum(_learnt_otherwise(record, played) for record in trained),
        "infra_dropped_share": round(fmean(each.dropped for each in played), 4),
        "infra_retried_share": round(fmean(each.infra_retries > 0 for each in played), 4),
        "robust_success_start": summary.eval_success_start,
        "robust_success_end": summary.eval_success_end,
    }


def compared(faulty: Sequence[StepRecord], faultless: Sequence[Sequence[StepRecord]]) -> dict[str, Any]:
    """Return the curves, and whether the one with faults lies among those without: at each point within the outermost
    ends of their 95 % intervals."""
    curve, *others = [_curve(records) for records in (faulty, *faultless)]
    within = [
        min(low for low, _ in ends) <= success <= max(high for _, high in ends)
        for (success, _), *points in zip(curve, *others, strict=True)
        if (ends := [wilson_interval(share * count, count) for share, count in points])
    ]
    return {
        "robust_curve": [round(success, 3) for success, _ in curve],
        "faultless_curves": [[round(success, 3) for success, _ in other] for other in others],
        "robust_curve_within": all(within),
        "faultless_slowest_over_median": max(_slowest_over_median(records) for records in faultless),
    }


def _curve(records: Sequence[StepRecord]) -> list[tuple[float, int]]:
    """Return (success, episodes) of each window of steps."""
    trained = [(record.success or 0.0, record.episodes) for record in records if record.episodes]
    windows = [trained[end - WINDOW : end] for end in range(WINDOW, len(trained) + 1)]
    counts = [sum(count for _, count in window) for window in windows]
    return [(sum(s * n for s, n in window) / count, count) for window, count in zip(windows, counts, strict=True)]


def _slowest_over_median(records: Sequence[StepRecord]) -> float:
    step_s = [record.step_s for record in records if record.episodes]
    return round(max(step_s) / median(step_s), 3)


def _learnt_otherwise(record: StepRecord, played: Iterable[Outcome]) -> bool:
    """Tell whether the rows that verl learnt from have another mean reward than the step's episodes with a verdict."""
    groups: dict[str, list[float]] = defaultdict(list)
    for each in played:
        if each.step == record.step and not each.dropped:
            groups[each.group].append(each.reward)
    rewards = [reward for group in groups.values() if len(group) >= MIN_GROUP for reward in group]
    return abs(record.verl["critic/score/mean"] - fmean(rewards)) > 1e-5
