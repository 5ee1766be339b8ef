"""Checks that draw a task and play nothing."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Outcome, Task
from rlfactory.envs.tasks.text2sql.base import Text2SqlTask
from rlfactory.envs.tasks.validation.finding import Level, Rule
from rlfactory.envs.tasks.validation.sql_mutants import told_apart

Draw = Callable[[int, Split], Task]
SEEDS: Final = range(60)
LEAST_DRAWS: Final = 40
"""Different draws, of five times as many seeds, below which a template can be learnt by heart."""
MAX_CONSTANT: Final = 0.10
"""Of episodes that one answer, always given, may win."""


def describes(template: type[Task], drawn: Draw, chance: float) -> str:
    if not re.fullmatch(r"[\w-]+\.[\w.-]+", template.name):
        return f"the name {template.name!r} is not AREA.WHAT"
    if not template.description or template.description.endswith("."):
        return f"the description is {template.description!r}"
    if not template.splits or template.max_turns < 1:
        return f"splits {template.splits}, {template.max_turns} turns"
    goals = [drawn(seed, split).goal for split in template.splits for seed in (0, 1)]
    return next((f"the goal is {goal!r}" for goal in goals if not goal.strip() or re.search(r"\{\w+\}", goal)), "")


def draws_alike(template: type[Task], drawn: Draw, chance: float) -> str:
    for split, seed in itertools.product(template.splits, range(8)):
        one, other = drawn(seed, split), drawn(seed, split)
        if one.goal != other.goal or _shown(one) != _shown(other):
            return f"seed {seed} of {split} is drawn in two ways: {one.goal!r} and {other.goal!r}"
    return ""


def _shown(task: Task) -> str:
    """Return the parameters, for tasks that are dataclasses; else the goal."""
    return repr(task) if is_dataclass(task) else task.goal


def splits_differ(template: type[Task], drawn: Draw, chance: float) -> str:
    goals = {split: {drawn(seed, split).goal for seed in SEEDS} for split in template.splits}
    for one, other in itertools.combinations(template.splits, 2):
        if shared := goals[one] & goals[other]:
            return f"{len(shared)} of {len(goals[other])} goals of {other} are in {one}, too: {min(shared)!r}"
    return ""


def draws_many(template: type[Task], drawn: Draw, chance: float) -> str:
    split = template.splits[0]
    different = {_shown(drawn(seed, split).elsewhere(random.Random(0))) for seed in range(5 * LEAST_DRAWS)}
    return "" if len(different) >= LEAST_DRAWS else f"only {len(different)} different draws in {split}, worlds aside"


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant:
    """One answer, always given."""

    answer: str
    won: int
    played: int

    @property
    def share(self) -> float:
        return self.won / self.played


def best_constant(template: type[Task], drawn: Draw) -> Constant | None:
    """Return the best of the right answers of some seeds, and of a few that anybody would try, on others.

    None: the template asks for no answer; finishing at once is played.
    """
    split = template.splits[0]
    tasks = [drawn(seed, split) for seed in range(100, 500)]
    if any(wins_by_answer(task, "") for task in tasks):
        return None
    tried = {"0", "1", "2", "3", "yes", "no", *(str(getattr(drawn(seed, split), "answer", "")) for seed in range(20))}
    won = {answer: sum(wins_by_answer(task, answer) for task in tasks) for answer in sorted(tried)}
    best = max(won, key=lambda answer: won[answer])
    return Constant(answer=best, won=won[best], played=len(tasks))


def no_answer_for_all(template: type[Task], drawn: Draw, chance: float) -> str:
    best = best_constant(template, drawn)
    if best is None or not too_often(best.won, best.played, max(MAX_CONSTANT, chance)):
        return ""
    return f"{best.answer!r} is right in {best.won} of {best.played} episodes"


def too_often(won: int, played: int, chance: float, *, deviations: float = 1.64) -> bool:
    """Tell whether this is more than a chance explains: at 95 %, or at what so many standard deviations stand for."""
    return won / played > chance + deviations * math.sqrt(chance * (1 - chance) / played)


def wins_by_answer(task: Task, answer: str) -> bool:
    """Tell whether an answer alone fulfils the checks: on a phone that shows nothing, by what takes no work."""
    checks = task.checks(Outcome(state={}, initial={}, finished=True, claimed_success=True, answer=answer))
    return bool(checks) and all(check.holds for check in checks)


def tells_queries_apart(template: type[Task], drawn: Draw, chance: float) -> str:
    for split, seed in itertools.product(template.splits, range(2)):
        task = drawn(seed, split)
        if not isinstance(task, Text2SqlTask):
            return ""
        if accepted := told_apart(task, others=10).accepted:
            return f"seed {seed} of {split} takes {accepted[0]!r} for {task.question.gold!r}"
    return ""


StaticCheck = Callable[[type[Task], Draw, float], str]
STATIC: Final[Sequence[tuple[Rule, StaticCheck]]] = tuple(
    (Rule(name=name, level=Level.STATIC, what=what, mend=mend), check)
    for name, what, mend, check in (
        (
            *("described", "it has a name, a description, splits, turns and goals", "fill in what is missing"),
            describes,
        ),
        (
            *("drawn alike", "one seed and split always stand for the same task"),
            *("draw from the `rng` of `sample` alone", draws_alike),
        ),
        (
            *("splits", "no goal is in two splits"),
            *("give each split values or wordings of its own", splits_differ),
        ),
        (
            *("variety", f"{5 * LEAST_DRAWS} seeds draw at least {LEAST_DRAWS} different tasks, worlds aside"),
            *("draw from larger pools, or make the values", draws_many),
        ),
        (
            *("no constant answer", f"no answer is right in more than {MAX_CONSTANT:.0%} of episodes"),
            *("draw from more answers, more evenly", no_answer_for_all),
        ),
        (
            *("queries", "no wrong query is taken for the right one"),
            *("add databases, or draw others, until each wrong mutant differs on one", tells_queries_apart),
        ),
    )
)


def drawing(registry: TaskRegistry, name: str) -> Draw:
    """Return what draws this template: (seed, split)."""
    return lambda seed, split: registry.draw(name, seed=seed, split=split)
