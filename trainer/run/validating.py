"""`rlfactory validate`: what is asked for, two services to play it on, and what is said of it."""

from __future__ import annotations

import contextlib
import html
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.validation import Finding, Level, Status, Validation, chosen, read_policy
from rlfactory.tables import print_table
from rlfactory.trainer.run.local_service import ServiceConfig, local_service

__all__ = ["Level", "Status", "ValidateConfig", "as_html", "as_json", "show", "validate"]
AT_ONCE: Final = 4
"""Templates: each of two services plays two, and some episodes again for the other."""
COLORS: Final = {
    Status.PASSED: "green",
    Status.ALLOWED: "cyan",
    Status.WARNED: "yellow",
    Status.FAILED: "red",
    Status.SKIPPED: "magenta",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidateConfig:
    """What is validated."""

    targets: tuple[str, ...] = ()
    """Suites, tasks, or Python files of tasks; none for all that there is."""
    app_files: tuple[Path, ...] = ()
    """Of the phones that they are played on."""
    levels: tuple[Level, ...] = tuple(Level)
    policy: Path | None = None
    """None: the one that ships."""


async def validate(config: ValidateConfig, *, quiet: bool = False) -> list[Finding]:
    """Make all checks, and show how far it is.

    Raises: UnknownName, TaskError: see `chosen`. InfrastructureError: a service did not come up.
    """
    wanted = chosen(config.targets)
    policy = read_policy(config.policy)
    phones = AT_ONCE + 2 if any(task.needs_device for task in wanted.templates) else 0
    bar = Progress(
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()),
        console=Console(stderr=True),
        transient=True,
        disable=quiet,
    )
    with bar:
        row = bar.add_task("templates", total=len(wanted.templates))
        async with contextlib.AsyncExitStack() as stack:
            clients = None
            if set(config.levels) - {Level.STATIC}:
                service = ServiceConfig(
                    phones=phones,
                    width_px=540,
                    height_px=1200,
                    task_files=wanted.files,
                    app_files=config.app_files,
                    unsafe_local=True,
                )
                first, second = [await stack.enter_async_context(local_service(service)) for _ in range(2)]
                clients = (
                    await stack.enter_async_context(EnvClient(first.address)),
                    await stack.enter_async_context(EnvClient(second.address)),
                )
            asked = Validation(
                registry=wanted.registry, policy=policy, levels=config.levels, clients=clients, at_once=AT_ONCE
            )
            return await asked.of(wanted.templates, told=lambda name: bar.advance(row))


def as_json(findings: Sequence[Finding]) -> str:
    rows = [
        {
            "task": each.task,
            "check": each.rule.name,
            "level": each.rule.level,
            "status": each.status,
            "evidence": each.evidence,
            "mend": each.rule.mend if each.evidence else "",
        }
        for each in findings
    ]
    counts = Counter(each.status for each in findings)
    return json.dumps({**{status: counts[status] for status in Status}, "findings": rows}, indent=2)


def _by_task(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    by_task: dict[str, list[Finding]] = {}
    for each in findings:
        by_task.setdefault(each.task, []).append(each)
    return by_task


def show(findings: Sequence[Finding]) -> None:
    """Print a line for each template, then each check that does not hold, with what mends it."""
    by_task = _by_task(findings)
    table = Table(
        title=f"{len(by_task)} templates", title_justify="left", header_style="bold", box=None, pad_edge=False
    )
    table.add_column("task", style="cyan", no_wrap=True)
    for status in Status:
        table.add_column(status, justify="right")
    table.add_column("what does not hold", overflow="fold")
    for name, own in by_task.items():
        counts = Counter(each.status for each in own)
        broken = (f"{each.rule.name} ({each.status})" for each in own if each.evidence)
        table.add_row(name, *(str(counts[status] or "") for status in Status), ", ".join(broken))
    print_table(table)
    console = Console(highlight=False)
    for each in findings:
        if each.evidence:
            console.print(f"[{COLORS[each.status]}]{each.status}[/] ", end="")
            console.print(f"{each.line()} -> {each.rule.mend}", markup=False, soft_wrap=True)


PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Validation of tasks</title><style>
body{{font:15px system-ui;margin:2rem}}td,th{{padding:.2rem .6rem;text-align:left;vertical-align:top}}
.up th{{writing-mode:vertical-rl;vertical-align:bottom;padding:.6rem .1rem}}.up td+td{{text-align:center;padding:.1rem}}
.failed{{color:#b00}}.warned{{color:#a60}}.allowed{{color:#067}}.skipped{{color:#808}}.passed{{color:#070}}
</style><h1>Validation of tasks</h1><p>{counts}</p><h2>What does not hold</h2><table>{broken}</table>
<h2>Templates</h2><table class="up">{templates}</table><h2>Checks</h2><table>{rules}</table></html>
"""
MARKS: Final = {
    Status.PASSED: "\N{CHECK MARK}",
    Status.ALLOWED: "a",
    Status.WARNED: "w",
    Status.FAILED: "\N{BALLOT X}",
    Status.SKIPPED: "?",
}


def as_html(findings: Sequence[Finding]) -> str:
    """Return one page that opens offline: what does not hold, a line for each template, and what the checks are."""
    by_task = _by_task(findings)
    counts = Counter(each.status for each in findings)
    known = {each.rule.name: each.rule for each in findings}
    broken = sorted((each for each in findings if each.evidence), key=lambda each: list(COLORS).index(each.status))[
        ::-1
    ]
    return PAGE.format(
        counts=f"{len(by_task)} templates. Checks: "
        + ", ".join(f"{counts[status]} {status} {mark}" for status, mark in MARKS.items()),
        broken=_row("task", "check", "verdict", "what was seen", "how to mend it", tag="th")
        + "".join(
            _row(each.task, each.rule.name, each.status, each.evidence, each.rule.mend, status=each.status)
            for each in broken
        ),
        templates=_row("", *known, tag="th")
        + "".join(
            f"<tr><td>{html.escape(task)}"
            + "".join(
                f"<td class='{each.status}' title='{html.escape(each.rule.name)}'>{MARKS[each.status]}" for each in own
            )
            for task, own in by_task.items()
        ),
        rules=_row("check", "level", "holds if", "how to mend it", tag="th")
        + "".join(_row(rule.name, rule.level, rule.what, rule.mend) for rule in known.values()),
    )


def _row(*cells: str, status: str = "", tag: str = "td") -> str:
    return f"<tr class='{status}'>{''.join(f'<{tag}>{html.escape(cell)}' for cell in cells)}"
