"""Tasks in Clock: alarms, timers, the stopwatch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import PhoneTask, StateTask, Want, pick, sample
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.look import Look
from rlfactory.envs.tasks.phone.pools import ALARM_LABELS
from rlfactory.envs.tasks.phone.seeding import SeedAlarm, alarms_beside, seed_alarms, seed_stopwatch
from rlfactory.envs.tasks.phone.times import LENGTHS, Time, TimerLength, draw_times
from rlfactory.envs.tasks.phone.wants import (
    alarm_added,
    alarm_is,
    alarm_moved,
    alarm_removed,
    stopwatch_is,
    timer_started,
)
from rlfactory.envs.tasks.ui_driver import UiDriver

BESIDE: Final = (6, 24)
"""Of every three, one is an alarm."""


@dataclass(frozen=True, kw_only=True)
class ClockTask(PhoneTask):
    """One alarm matters; the others are there to be left alone."""

    apps: ClassVar[tuple[str, ...]] = (clock_flows.CLOCK,)
    max_turns: ClassVar[int] = 30
    time: Time
    label: str
    other_time: Time
    """What an alarm is to be moved to, in the task that asks for it."""
    length: TimerLength
    """Of the timer to start, in the task that asks for it."""
    others: tuple[SeedAlarm, ...]

    @property
    def seeded(self) -> bool | None:
        """Whether the alarm is there at the start, and on or off; None for not there."""
        return None

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
        await super().setup(device, timeout_s=timeout_s)
        own = () if self.seeded is None else (SeedAlarm(time=self.time, label=self.label, on=self.seeded),)
        await seed_alarms(device, (*self.others, *own, *alarms_beside(self.look)), timeout_s=timeout_s)


class AddAlarm(ClockTask):
    name = "clock.add_alarm"

    def wants(self) -> Sequence[Want]:
        return (alarm_added(self.time.text),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.add_alarm(ui, self.time)


class AddLabelledAlarm(ClockTask):
    name = "clock.add_labelled_alarm"

    def wants(self) -> Sequence[Want]:
        return (alarm_added(self.time.text, label=self.label),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.add_alarm(ui, self.time, label=self.label)


@dataclass(frozen=True, kw_only=True)
class SwitchAlarmOff(StateTask, ClockTask):
    name = "clock.alarm_off"
    wanted: ClassVar[bool] = False

    @property
    def seeded(self) -> bool:
        return self.wanted is self.already

    def wants(self) -> Sequence[Want]:
        return (alarm_is(self.time.text, self.label, on=self.wanted),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.see_to_alarm(ui, self.time, change=not self.already)


class SwitchAlarmOn(SwitchAlarmOff):
    name = "clock.alarm_on"
    wanted: ClassVar[bool] = True


class OneOfManyAlarms(ClockTask):
    """An alarm that has to be found: among longer lists than elsewhere, for the taps are few once it is."""

    seeded = True

    @classmethod
    def draw_world(cls, rng: random.Random) -> dict[str, Any]:
        return {"look": replace(Look.draw(rng), beside=rng.randint(*BESIDE))}


class DeleteAlarm(OneOfManyAlarms):
    name = "clock.delete_alarm"

    def wants(self) -> Sequence[Want]:
        return (alarm_removed(self.time.text, self.label),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.delete_alarm(ui, self.time)


class MoveAlarm(OneOfManyAlarms):
    name = "clock.move_alarm"

    def wants(self) -> Sequence[Want]:
        return (alarm_moved(self.time.text, self.label, self.other_time.text),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.move_alarm(ui, self.time, self.other_time)


class StartTimer(ClockTask):
    name = "clock.start_timer"

    @property
    def key(self) -> str:
        return f"timers/{self.length.seconds}"

    def wants(self) -> Sequence[Want]:
        return (timer_started(self.length.seconds, self.length.text),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.start_timer(ui, self.length.digits)


@dataclass(frozen=True, kw_only=True)
class StartStopwatch(StateTask, ClockTask):
    name = "clock.start_stopwatch"

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        await seed_stopwatch(device, running=self.already, timeout_s=timeout_s)

    def wants(self) -> Sequence[Want]:
        return (stopwatch_is("running", name="the stopwatch runs on from its time"),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.open_tab(ui, "Stopwatch")
        if not self.already:
            await ui.tap("Start")


@dataclass(frozen=True, kw_only=True)
class PauseStopwatch(StartStopwatch):
    name = "clock.pause_stopwatch"

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await ClockTask.setup(self, device, timeout_s=timeout_s)
        await seed_stopwatch(device, running=not self.already, timeout_s=timeout_s)

    def wants(self) -> Sequence[Want]:
        return (stopwatch_is("paused", name="the stopwatch is paused, and keeps its time"),)

    async def perform(self, ui: UiDriver) -> None:
        await clock_flows.open_tab(ui, "Stopwatch")
        if not self.already:
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
