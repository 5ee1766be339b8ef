"""How a training run looks in a terminal while it goes on, and what it says at its end."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.processes.descendants import ChildFailed
from rlfactory.trainer.record.report import duration, percent, write_report
from rlfactory.trainer.record.runlog import RunSummary, StepRecord
from rlfactory.trainer.run.checks import show
from rlfactory.trainer.run.dry_run import dry_run
from rlfactory.trainer.run.train import DEFAULT_RECIPE, run
from rlfactory.trainer.run.train import Progress as Told

REPORT_EVERY_S: Final = 60.0
"""While a run goes on."""
PHASES = {
    "service": "service",
    "demonstrations": "demonstrations",
    "warm_start": "warm start",
    "grpo_start": "trainer",
    "grpo": "learning",
    "save": "saving",
}


class TrainingView:
    """A line for each phase and step, and on a terminal a bar below them."""

    def __init__(self, bar: Progress, folder: Path) -> None:
        self.began = False
        """The run has a folder."""
        self._bar = bar
        self._folder = folder
        self._reported_s = -math.inf
        self._task = bar.add_task("starting", total=None)

    def tell(self, told: Told) -> None:
        """Show what the run tells."""
        self.began = True
        name = PHASES[told.phase]
        line = step_line(told.step, told.total_steps) if told.step else Text(told.message, style="dim")
        start = ((f"{clock(told.elapsed_s):>7}  ", "dim"), (f"{name:<15}", "cyan"))
        if line:
            self._bar.console.print(Text.assemble(*start, line), soft_wrap=True)
        if told.lesson_steps:
            self._bar.update(self._task, description=name, completed=told.lesson_steps, total=told.total_steps)
        elif told.step:
            self._bar.update(self._task, description=name, completed=told.step.step, total=told.total_steps)
            self._report(told.elapsed_s)
        else:
            self._bar.update(self._task, description=name)

    def _report(self, elapsed_s: float) -> None:
        """Write the report anew, not more often than it is worth."""
        if elapsed_s - self._reported_s >= REPORT_EVERY_S:
            write_report(self._folder)
            self._reported_s = elapsed_s


@contextmanager
def training_view(console: Console, folder: Path) -> Iterator[TrainingView]:
    """Show a run as it goes, for the block."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield TrainingView(bar, folder)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def step_line(step: StepRecord, total: int) -> Text:
    """Return the line of a step that ended: training success, evaluation, time."""
    parts = [f"step {step.step:>3} of {total}"]
    if step.success is not None:
        parts.append(f"success {percent(step.success):>5}  reward {step.reward or 0:5.2f}  {duration(step.step_s)}")
    if step.infra_dropped:
        parts.append(f"{step.infra_dropped} dropped")
    line = Text("  ".join(parts))
    if step.eval_success is not None:
        line.append(f"  held-out {percent(step.eval_success)} of {step.eval_episodes}", style="bold green")
    return line


def summary_view(summary: RunSummary, page: Path) -> RenderableType:
    """Return what a run ends with."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    if summary.eval_success_start is not None and summary.eval_success_end is not None:
        change = f"{percent(summary.eval_success_start)} → {percent(summary.eval_success_end)}"
        table.add_row("held-out success", f"[bold]{change}[/] on {summary.eval_episodes} episodes")
    table.add_row("wall time", f"{duration(summary.wall_s)}, {summary.steps} steps of {duration(summary.step_s_mean)}")
    table.add_row("environment", f"{percent(summary.time_share.get('env'))} of a step")
    table.add_row("infrastructure", f"{summary.infra_retries} retried, {summary.infra_dropped} dropped")
    table.add_row("report", str(page))
    return table


def train_in_terminal(
    recipe: str | None, overrides: Sequence[str], *, runs: Path, name: str | None, resume: bool
) -> None:
    """Train by a recipe, shown as it goes on; write its report, whatever happens. See `run` for what it raises."""
    console = Console(highlight=False)
    folder = runs / (name or "latest")
    with training_view(console, folder) as view:
        try:
            summary = run(recipe, overrides, runs=runs, name=name, resume=resume, progress=view.tell)
        except ChildFailed as error:
            raise InfrastructureError(str(error)) from error
        except KeyboardInterrupt:
            kept = f"stopped; what was learnt is kept in {folder.resolve()}; go on with: {_resuming(folder)}"
            console.print(kept, soft_wrap=True)
            raise
        finally:
            if view.began:  # also a run that was stopped or failed has something to show
                page = write_report(folder)
    console.print(summary_view(summary, page), soft_wrap=True)


def check_in_terminal(recipe: str | None, overrides: Sequence[str]) -> bool:
    """Show what a run would begin with; tell whether it could. See `dry_run` for what it raises."""
    name = recipe or DEFAULT_RECIPE
    return show(dry_run(name, overrides), title=f"{name}, nothing started", as_json=False)


def _resuming(folder: Path) -> str:
    return shlex.join(["rlfactory", "train", "--resume", "--runs", str(folder.parent), "--name", folder.resolve().name])
