"""Tasks in Clock: alarms, timers, the stopwatch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import PhoneTask, literal, pick, sample
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.pools import ALARM_LABELS
from rlfactory.envs.tasks.phone.reading import alarms_at
from rlfactory.envs.tasks.phone.seeding import SeedAlarm, seed_alarms
from rlfactory.envs.tasks.phone.times import LENGTHS, Time, TimerLength, draw_times
from rlfactory.envs.tasks.task import Outcome
from rlfactory.envs.tasks.ui_driver import UiDriver

STOPWATCH = "stopwatch"
"""Its state key; see `rlfactory.emulators.device.state`."""


def rings(outcome: Outcome, time: Time) -> dict[str, bool]:
    return {f"an alarm at {time} is on": "on" in alarms_at(outcome.state, time.text).values()}


@dataclass(frozen=True, kw_only=True)
class ClockTask(PhoneTask):
    """One alarm matters; the others are there to be left alone."""

    apps: ClassVar[tuple[str, ...]] = (clock_flows.CLOCK,)
    max_turns: ClassVar[int] = 20
    seeded: ClassVar[bool | None] = None
    """Whether the alarm is there at the start, and on or off; None for not there."""

    time: Time
    label: str
    other_time: Time
    """What an alarm is to be moved to, in the task that asks for it."""
    length: TimerLength
    """Of the timer to start, in the task that asks for it."""
    others: tuple[SeedAlarm, ...]

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        time, other_time, *times = draw_times(rng, split, 4)
        label, *labels = sample(rng, ALARM_LABELS, split, 3)
        others = tuple(
            SeedAlarm(time=when, label=what, on=rng.random() < 0.5) for when, what in zip(times, labels, strict=True)
        )
        return {"time": time, "label": label, "other_time": other_time, "others": others}

    @classmethod
    def draw_rest(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"length": pick(rng, LENGTHS, split)}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        own = () if self.seeded is None else (SeedAlarm(time=self.time, label=self.label, on=self.seeded),)
        await seed_alarms(device, (*self.others, *own), timeout_s=timeout_s)

    def may_change(self) -> Sequence[str]:
        return (f"alarms/{self.time}/*",)


class AddAlarm(ClockTask):
    name = "clock.add_alarm"

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        return rings(outcome, self.time)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.add_alarm(ui, self.time)


class AddLabelledAlarm(ClockTask):
    name = "clock.add_labelled_alarm"

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        found = alarms_at(outcome.state, self.time.text)
        return {
            f"an alarm at {self.time} is on": "on" in found.values(),
            f"the only alarm at {self.time} is called {self.label}": found == {self.label: "on"},
        }

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.add_alarm(ui, self.time, label=self.label)


class SwitchAlarmOff(ClockTask):
    name = "clock.alarm_off"
    seeded: ClassVar[bool | None] = True
    wanted: ClassVar[str] = "off"

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        holds = alarms_at(outcome.state, self.time.text) == {self.label: self.wanted}
        return {f"the alarm at {self.time} is {self.wanted}": holds}

    def may_change(self) -> Sequence[str]:
        return (literal(f"alarms/{self.time}/{self.label}"),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.toggle_alarm(ui, self.time)


class SwitchAlarmOn(SwitchAlarmOff):
    name = "clock.alarm_on"
    seeded: ClassVar[bool | None] = False
    wanted: ClassVar[str] = "on"


class DeleteAlarm(ClockTask):
    name = "clock.delete_alarm"
    seeded: ClassVar[bool | None] = True

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        return {f"no alarm at {self.time}": not alarms_at(outcome.state, self.time.text)}

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.delete_alarm(ui, self.time)


class MoveAlarm(ClockTask):
    name = "clock.move_alarm"
    seeded: ClassVar[bool | None] = True

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        return {
            f"{self.label} rings at {self.other_time}": alarms_at(outcome.state, self.other_time.text)
            == {self.label: "on"},
            f"no alarm at {self.time}": not alarms_at(outcome.state, self.time.text),
        }

    def may_change(self) -> Sequence[str]:
        return f"alarms/{self.time}/*", f"alarms/{self.other_time}/*"

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.move_alarm(ui, self.time, self.other_time)


class StartTimer(ClockTask):
    name = "clock.start_timer"

    @property
    def key(self) -> str:
        return f"timers/{self.length.seconds}"

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        holds = outcome.state.get(self.key) == "running"
        return {f"one timer of {self.length.text} runs": holds}

    def may_change(self) -> Sequence[str]:
        return (self.key,)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.start_timer(ui, self.length.digits)


class StartStopwatch(ClockTask):
    name = "clock.start_stopwatch"

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        return {"the stopwatch runs": outcome.state.get(STOPWATCH) == "running"}

    def may_change(self) -> Sequence[str]:
        return (STOPWATCH,)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.start_stopwatch(ui)


class PauseStopwatch(StartStopwatch):
    name = "clock.pause_stopwatch"

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        return {
            "the stopwatch was started": STOPWATCH in outcome.state,
            "it is paused": outcome.state.get(STOPWATCH) == "paused",
        }

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.start_stopwatch(ui)
        await ui.tap("Pause")


TASKS: tuple[type[PhoneTask], ...] = (
    AddAlarm,
    AddLabelledAlarm,
    SwitchAlarmOff,
    SwitchAlarmOn,
    DeleteAlarm,
    MoveAlarm,
    StartTimer,
    StartStopwatch,
    PauseStopwatch,
)
