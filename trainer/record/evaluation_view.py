"""How an evaluation looks in a terminal: a progress bar while it runs, a table per template after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rlfactory.trainer.episode.rollout import Dropped, Episode
from rlfactory.trainer.record.evaluate import Evaluation
from rlfactory.trainer.record.evaluate import Progress as OnPlayed

SHOWN_FAILURES = 5


@contextmanager
def progress_bar(console: Console, total: int) -> Iterator[OnPlayed]:
    """Show how many episodes are done and solved; yield what is to be told of each."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    solved = judged = 0
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("playing", total=total)

        def on_played(played: Episode | Dropped) -> None:
            nonlocal solved, judged
            if isinstance(played, Episode):
                judged += 1
                solved += played.reward.success
            bar.update(task, advance=1, description=f"{solved} of {judged} solved")

        yield on_played


def evaluation_view(result: Evaluation) -> RenderableType:
    """Return the tables of an evaluation."""
    lines: list[RenderableType] = [task_table(result), ""]
    if result.regimes:
        lines += [regime_table(result), ""]
    lines.append(figures(result))
    if result.failures:
        shown = [Text(f"  {line}", style="yellow") for line in result.failures]
        lines += ["", *shown[:SHOWN_FAILURES]]
        if len(shown) > SHOWN_FAILURES:
            lines.append(f"  and {len(shown) - SHOWN_FAILURES} more; --json lists them")
    return Group(*lines)


def task_table(result: Evaluation) -> Table:
    blanked = ", screenshots blanked" if result.ablation else ""
    title = f"{result.policy} on {result.split}{blanked}"
    # One blank between columns: the longest name of a task then fits a terminal of 80 columns.
    table = Table(title=title, title_justify="left", header_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("task", no_wrap=True)
    for name in ("played", "solved", "success", "95 %", "turns", "malformed"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in result.tasks:
        table.add_row(
            row.task,
            str(row.episodes),
            str(row.successes),
            percent(row.success),
            interval(row.interval),
            f"{row.turns:.1f}",
            str(row.malformed or ""),
        )
    table.add_section()
    verdicts, solved = sum(row.episodes for row in result.tasks), sum(row.successes for row in result.tasks)
    total = (str(verdicts), str(solved), percent(result.success), interval(result.interval))
    table.add_row("all", *total, "", str(result.malformed or ""), style="bold")
    return table


def regime_table(result: Evaluation) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("what is new", no_wrap=True)
    for name in ("templates", "pairs", "success", "95 %"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in result.regimes:
        counts = (str(row.templates), str(row.pairs))
        table.add_row(row.regime, *counts, percent(row.success), interval(row.interval))
    return table


def figures(result: Evaluation) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row("pass@k", "  ".join(f"{k}: {percent(share)}" for k, share in result.pass_at.items()))
    table.add_row("a step", f"{sum(result.step_ms.values()):.1f} ms")
    for name, value in result.step_ms.items():
        if value >= 0.05:
            table.add_row(f"  {name}", f"{value:.1f} ms")
    table.add_row("infrastructure", f"{result.infra_retries} retried, {result.infra_dropped} dropped")
    table.add_row("in all", f"{result.steps} steps in {result.wall_s:.1f} s")
    return table


def percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def interval(band: tuple[float, float]) -> str:
    return f"{band[0] * 100:.0f}–{band[1] * 100:.0f}"
