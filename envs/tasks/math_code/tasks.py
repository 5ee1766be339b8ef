"""The suite's tasks: one a kind of problem."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, Self

from rlfactory.envs.api.types import Split, ToolStatus
from rlfactory.envs.rewards.answers import Number
from rlfactory.envs.rewards.rubric import SUCCESS, Part, Rubric, Verdict
from rlfactory.envs.sandbox.sandboxes import Sandboxes
from rlfactory.envs.sandbox.tool import PythonTool
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.math_code import problems
from rlfactory.envs.tasks.math_code.problems import Draw, Maker, Problem
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver
from rlfactory.envs.tools.tool import ToolFactory

INSTRUCTIONS: Final = (
    "Work it out with the tool `python`, then call `finish` with the number alone as the answer, in digits."
)


def ran_code(verdict: Verdict) -> float:
    """Return 1 if a call of the tool `python` ended well, else 0."""
    return float(
        any(each.call.name == "python" and each.result.status is ToolStatus.OK for each in verdict.outcome.calls)
    )


@dataclass(frozen=True, kw_only=True)
class MathTask(Task):
    """One problem."""

    suite: ClassVar[str] = "math_code"
    tools: ClassVar[tuple[str, ...]] = ("python", "finish")
    max_turns: ClassVar[int] = 8
    needs_device: ClassVar[bool] = False
    makers: ClassVar[Sequence[Maker]]
    only_tested: ClassVar[Sequence[Maker]] = ()
    """Kinds of problems that are in the test split alone."""

    problem: Problem

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        makers = (*cls.makers, *cls.only_tested) if split == "test" else cls.makers
        return cls(problem=rng.choice(makers)(Draw(rng, split)))

    @property
    def goal(self) -> str:
        return f"{self.problem.text}\n\n{INSTRUCTIONS}"

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {"python": partial(PythonTool, suite=self.suite)}

    async def verify(self, outcome: Outcome, *, services: Services, timeout_s: float) -> Mapping[str, float]:
        if not outcome.turns:  # without a place to run code, the episode is refused as it begins
            await services.of(Sandboxes).require()
        return {}

    def rubric(self) -> Rubric:
        return Rubric(parts=(SUCCESS, Part(name="ran_code", weight=0.0, score=ran_code)))

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        right = outcome.finished and Number(value=self.problem.answer).accepts(outcome.answer)
        return (Check(name="right", holds=right),)

    async def solve(self, ui: UiDriver) -> None:
        try:
            answer = await ui.call("python", code=self.problem.code)
        except OracleStuck:  # the tool says of a sandbox that was lost that the next call has a new one
            answer = await ui.call("python", code=self.problem.code)
        await ui.finish(answer=answer)


class Counting(MathTask):
    name = "math_code.count"
    description = "How many numbers or days have a property, or what is their sum?"
    makers = (problems.primes_with_last_digit, problems.multiples_without, problems.digit_sums)
    only_tested = (problems.fridays,)


class Simulating(MathTask):
    name = "math_code.simulate"
    description = "What does a process come to after many steps?"
    makers = (problems.recurrence, problems.longest_collatz, problems.grid_paths)
    only_tested = (problems.coins,)


class Tabulating(MathTask):
    name = "math_code.table"
    description = "A figure of a table that is given as text"
    makers = (problems.table_total, problems.table_best_day)
    only_tested = (problems.table_median,)
