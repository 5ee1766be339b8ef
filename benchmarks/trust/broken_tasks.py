"""Templates broken on purpose, each in one way: `BROKEN` says which check has to find it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.rubric import SUCCESS, Part, Rubric
from rlfactory.envs.tasks.phone.base import run
from rlfactory.envs.tasks.task import Check, Outcome, Task, variant
from rlfactory.envs.tasks.text2sql.levels import GeneratedTask
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.calculator import CALCULATOR_SCHEMA, CalculatorTool
from rlfactory.envs.tools.sql.database import SqliteBytes
from rlfactory.envs.tools.tool import ToolFactory

_CLOCK: Final = itertools.count()
"""What a careless author takes for chance."""


@dataclass(frozen=True, kw_only=True)
class Sum(Task):
    """What is the sum of two numbers? Nothing is wrong with it."""

    suite: ClassVar[str] = "broken"
    tools: ClassVar[tuple[str, ...]] = ("calculator", "finish")
    needs_device: ClassVar[bool] = False
    max_turns: ClassVar[int] = 4

    one: int
    other: int
    split: Split

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(one=rng.randrange(1_000, 9_000), other=rng.randrange(1_000, 9_000), split=split)

    @property
    def goal(self) -> str:
        return f"What is {self.one} + {self.other} ({self.split})? Answer with the number alone."

    @property
    def answer(self) -> int:
        return self.one + self.other

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="the sum is right", holds=outcome.answer == str(self.answer)),)

    async def solve(self, ui: UiDriver) -> None:
        await ui.finish(answer=await ui.call("calculator", expression=f"{self.one} + {self.other}"))


class SameGoals(Sum):
    goal = "What is the sum? Answer with the number alone."


class FewDraws(Sum):
    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(one=rng.randrange(5_000, 5_010), other=rng.choice((1_000, 2_000)), split=split)


class FewAnswers(Sum):
    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        one = rng.randrange(1_000, 9_000)
        return cls(one=one, other=10_000 - one if rng.random() < 0.5 else rng.randrange(1_000, 9_000), split=split)


class FewWorlds(Sum):
    """What its goal does not tell is one of four things."""

    @property
    def goal(self) -> str:
        return f"What is {self.one} and the number behind the door ({self.split})? Answer with the number alone."

    def elsewhere(self, rng: random.Random) -> Self:
        return replace(self, other=self.one + 10 * rng.randrange(4))


class TakesAnything(Sum):
    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="there is an answer", holds=bool(outcome.answer)),)


class TakesPart(Sum):
    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="the sum is in it", holds=str(self.answer) in outcome.answer),)


class TakesNothing(Sum):
    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="it is finished", holds=outcome.finished),)


class Unlike(Sum):
    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(one=1_000 + next(_CLOCK), other=rng.randrange(1_000, 9_000), split=split)


class Unfilled(Sum):
    goal = "What is {one} + {other}?"


class Tells(Sum):
    @property
    def goal(self) -> str:
        return f"What is {self.one} + {self.other} ({self.split})? It is {self.answer}. Answer with the number alone."


class ToolTells(Sum):
    def own_tools(self) -> Mapping[str, ToolFactory]:
        schema = replace(CALCULATOR_SCHEMA, description=f"Adds numbers; {self.answer}, for example.")
        return {"calculator": type("Telling", (CalculatorTool,), {"schema": schema})}


class WrongOracle(Sum):
    async def solve(self, ui: UiDriver) -> None:
        await ui.finish(answer=str(self.answer + 1))


class StuckOracle(Sum):
    async def solve(self, ui: UiDriver) -> None:
        await ui.tap("OK")


class ShortOfTurns(Sum):
    max_turns: ClassVar[int] = 2


class PaysTooMuch(Sum):
    def rubric(self) -> Rubric:
        return Rubric(parts=(SUCCESS, Part(name="bonus", weight=0.5, score=lambda verdict: float(verdict.success))))


class PaysEarly(Sum):
    def rubric(self) -> Rubric:
        return Rubric(parts=(Part(name="calls", weight=1.0, score=lambda verdict: float(bool(verdict.outcome.calls))),))


class PaysBelowZero(Sum):
    def rubric(self) -> Rubric:
        return Rubric(parts=(SUCCESS, Part(name="turns", weight=-0.5, score=lambda v: float(v.outcome.turns == 1))))


class Fickle(Sum):
    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (
            *super().checks(outcome),
            Check(name="it is an even moment", holds=outcome.finished or next(_CLOCK) % 2 == 0),
        )


class Raises(Sum):
    def checks(self, outcome: Outcome) -> Sequence[Check]:
        raise ZeroDivisionError("the verdict divides by nothing")


class OneDatabase(GeneratedTask):
    """Its verdict sees the database that the agent queries, and no other."""

    suite: ClassVar[str] = "broken"
    level: ClassVar[int] = 1

    @property
    def databases(self) -> Sequence[SqliteBytes]:
        return self._alike[:1]


@dataclass(frozen=True, kw_only=True)
class Switch(Task):
    """Turn Wi-Fi on: it always starts off, on a page that stands still."""

    suite: ClassVar[str] = "broken"
    apps: ClassVar[tuple[str, ...]] = ("com.android.settings",)
    number: int
    split: Split

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(number=rng.randrange(1_000), split=split)

    @property
    def goal(self) -> str:
        return f"Turn Wi-Fi on ({self.number}, {self.split})."

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        page = "com.android.settings/.Settings$WifiSettingsActivity"
        await run(device, ["svc wifi disable", f"am start -n '{page}'"], timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="Wi-Fi is on", holds=outcome.state.get("settings/global/wifi_on") == "1"),)

    def allowed(self) -> Sequence[str]:
        return "foreground", "settings/global/wifi_on"

    async def solve(self, ui: UiDriver) -> None:
        await ui.tap("Wi-Fi")
        await ui.finish()


class AlreadyDone(Switch):
    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        await run(device, ["svc wifi enable"], timeout_s=timeout_s)

    async def solve(self, ui: UiDriver) -> None:
        await ui.finish()


class ForgetsToAllow(Switch):
    def allowed(self) -> Sequence[str]:
        return ("foreground",)


class AllowsAll(Switch):
    def allowed(self) -> Sequence[str]:
        return ("*",)


class HalfDone(Switch):
    """Its goal asks for two things, and its verdict for one."""

    @property
    def goal(self) -> str:
        return f"Turn Wi-Fi and the dark theme on ({self.number}, {self.split})."

    def allowed(self) -> Sequence[str]:
        return *super().allowed(), "settings/secure/ui_night_mode"

    async def solve(self, ui: UiDriver) -> None:
        await ui.tap("Wi-Fi")
        await ui.open("Settings")
        await ui.tap("Display")
        await ui.tap("Dark theme")
        await ui.finish()


_BROKEN: Final[Sequence[tuple[type[Any], str]]] = (
    (SameGoals, "splits"),
    (FewDraws, "variety"),
    (FewAnswers, "no constant answer"),
    (FewWorlds, "sightless"),
    (TakesAnything, "no constant answer"),
    (TakesPart, "mutants"),
    (TakesNothing, "idle"),
    (Unlike, "drawn alike"),
    (Unfilled, "described"),
    (Tells, "secret"),
    (ToolTells, "secret"),
    (WrongOracle, "oracle"),
    (StuckOracle, "oracle"),
    (ShortOfTurns, "limit"),
    (PaysTooMuch, "range"),
    (PaysEarly, "range"),
    (PaysBelowZero, "range"),
    (Fickle, "asked twice"),
    (Raises, "no constant answer"),
    (OneDatabase, "queries"),
    (Switch, "blind"),
    (AlreadyDone, "idle"),
    (ForgetsToAllow, "oracle"),
    (AllowsAll, "damage"),
    (HalfDone, "mutants"),
)
_NAMED: Final = [
    (variant(base, f"broken.{base.__name__.lower()}", description=base.__name__), check) for base, check in _BROKEN
]
BROKEN: Final[Mapping[str, str]] = {task.name: check for task, check in _NAMED}
"""By the name of each, the check that has to find it."""
GOOD: Final = variant(Sum, "broken.not", description="The sum of two numbers")
globals().update({task.__name__: task for task, _ in _NAMED})
