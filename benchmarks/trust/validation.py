"""What `rlfactory validate` says of every template that ships, and of templates broken on purpose."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from benchmarks.trust import broken_tasks
from benchmarks.trust.check import Check, Finding, Size
from rlfactory.envs.client.validation import Status
from rlfactory.envs.tasks.suites import SHIPPED_TASKS
from rlfactory.trainer.run.validating import ValidateConfig, validate


def run(size: Size) -> Finding:
    names = size.of(sorted(task.name for task in SHIPPED_TASKS))
    own = asyncio.run(validate(ValidateConfig(targets=tuple(names)), quiet=True))
    wrong = [each for each in own if each.status in (Status.FAILED, Status.SKIPPED)]
    broken = asyncio.run(validate(ValidateConfig(targets=(str(Path(broken_tasks.__file__)),)), quiet=True))
    found = {(each.task, each.rule.name) for each in broken if each.status in (Status.FAILED, Status.WARNED)}
    missed = [f"{name} passes {check!r}" for name, check in broken_tasks.BROKEN.items() if (name, check) not in found]
    blamed = [each.line() for each in broken if each.task == broken_tasks.GOOD.name and each.evidence]
    figures = {
        "templates": len(names),
        "failed": sum(each.status is Status.FAILED for each in own),
        "skipped": sum(each.status is Status.SKIPPED for each in own),
        "broken": len(broken_tasks.BROKEN),
        "broken_found": len(broken_tasks.BROKEN) - len(missed),
    }
    return Finding(figures=figures, faults=[*(each.line() for each in wrong), *missed, *blamed])


CHECK: Final = Check(
    name="validation",
    what="Every check of every template holds (`templates`, `failed` 0, `skipped` 0), and all broken ones are found.",
    run=run,
)
