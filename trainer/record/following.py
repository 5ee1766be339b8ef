"""What a run's step records are made from: verl's metrics files and the episodes that were played.

`Follower` reads along while verl runs. `catch_up` puts the records of a run that was killed in order before it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rlfactory.trainer.record.metrics import step_record
from rlfactory.trainer.record.recorder import Recorder, read_outcomes
from rlfactory.trainer.record.runlog import RunLog, StepRecord, read_lines


class Follower:
    """Turns new lines of verl's metrics file into step records."""

    def __init__(self, metrics: Path, log: RunLog, *, elapsed_s: Callable[[], float]) -> None:
        """Args: elapsed_s: tells for how long the run has gone on."""
        self._metrics = metrics
        self._log = log
        self._elapsed_s = elapsed_s
        self._seen = 0
        self._recorded = {record.step: record.verl for record in log.steps()}

    def new_steps(self) -> list[StepRecord]:
        rows = list(read_lines(self._metrics))[self._seen :]
        self._seen += len(rows)
        if not rows:
            return []
        outcomes = list(read_outcomes(self._log.folder))
        records = []
        for row in rows:
            step = int(row["step"])
            # A run that goes on may begin with the evaluation of a step that was recorded without.
            verl = {**self._recorded.get(step, {}), **_numbers(row["data"])}
            records.append(step_record(step, elapsed_s=self._elapsed_s(), verl=verl, outcomes=outcomes))
            self._log.add_step(records[-1])
        return records


class LessonFollower:
    """Counts the steps of the warm start by verl's metrics files, one for each lesson."""

    def __init__(self, log: RunLog, *, lessons: int) -> None:
        self._metrics = [log.lesson_metrics(number) for number in range(lessons)]
        for path in self._metrics:
            path.unlink(missing_ok=True)  # of a warm start that was stopped

    def latest(self) -> tuple[int, float | None]:
        """Return how many steps all lessons have taken so far, and the loss of the last one."""
        taken, loss = 0, None
        for path in self._metrics:
            for row in read_lines(path):
                taken, loss = taken + 1, _numbers(row["data"]).get("train/loss", loss)
        return taken, loss


def catch_up(log: RunLog, saved: int) -> bool:
    """Bring the records to the last checkpoint's step, after which all is going to be played again.

    verl saves a step before it evaluates and logs it, so a run that was killed in between lacks the step's line: then
    the step is recorded by its episodes. Of an evaluation that did not come to its end nothing is kept.

    Returns: whether that step (0: before the first) was evaluated.
    """
    files = sorted(log.logs.glob("verl-*.jsonl"), key=lambda path: path.stat().st_mtime)
    # Of the last process: what those before it logged was caught up with when it began.
    logged = {int(row["step"]): _numbers(row["data"]) for path in files[-1:] for row in read_lines(path)}
    records = {record.step: record for record in log.steps() if record.step <= saved}
    evaluated = saved in logged or (saved in records and records[saved].eval_success is not None)
    Recorder(log).forget_after(saved, evaluated=evaluated)
    outcomes = list(read_outcomes(log.folder))
    elapsed_s = max((record.elapsed_s for record in records.values()), default=0.0)
    for step in {outcome.step for outcome in outcomes} - records.keys():
        records[step] = step_record(step, elapsed_s=elapsed_s, verl=logged.get(step, {}), outcomes=outcomes)
    log.replace_steps(records[step] for step in sorted(records))
    return saved in records and records[saved].eval_success is not None


def _numbers(data: Mapping[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in data.items() if isinstance(value, int | float)}
