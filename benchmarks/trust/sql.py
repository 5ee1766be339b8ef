"""Wrong queries: mutants of the gold ones, which the databases of a verdict have to tell from the right one."""

from __future__ import annotations

from typing import Final

from benchmarks.trust.check import Check, Finding, Size
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.text2sql.base import Text2SqlTask
from rlfactory.envs.tasks.validation.sql_mutants import told_apart

SEEDS: Final = range(10)
OTHERS: Final = 30
"""Databases, regular and pointed at the query each, on which a mutant is tried before it counts as equal."""


def run(size: Size) -> Finding:
    registry = default_registry()
    cases = [
        (task.name, split, seed)
        for task in registry
        if issubclass(task, Text2SqlTask)
        for split in task.splits
        for seed in SEEDS
    ]
    wrong, faults = 0, []
    for name, split, seed in size.of(cases):
        task = registry.draw(name, seed=seed, split=split)
        assert isinstance(task, Text2SqlTask)
        told = told_apart(task, others=OTHERS)
        wrong += told.wrong
        faults += [f"{name} {split} {seed} takes {query!r} for {task.question.gold!r}" for query in told.accepted]
    return Finding(figures={"sql_mutants": wrong, "sql_accepted": len(faults)}, faults=faults)


CHECK: Final = Check(
    name="sql",
    what="No query that is wrong on any database is taken for right (`sql_mutants` of them, `sql_accepted` 0).",
    run=run,
)
