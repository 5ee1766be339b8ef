"""Tasks in Clock: alarms, timers, the stopwatch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone import clock_flows
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, literal, pick, sample
from rlfactory.envs.tasks.phone.pools import ALARM_LABELS
from rlfactory.envs.tasks.phone.reading import alarms_at
from rlfactory.envs.tasks.phone.seeding import SeedAlarm, seed_alarms
from rlfactory.envs.tasks.phone.times import LENGTHS, Time, TimerLength, draw_times
from rlfactory.envs.tasks.task import Check, Outcome

STOPWATCH = "stopwatch"
"""Its state key; see `rlfactory.emulators.device.state`."""


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
    def sample(cls, rng: random.Random, split: Split) -> Self:
        time, other_time, *times = draw_times(rng, split, 4)
        label, *labels = sample(rng, ALARM_LABELS, split, 3)
        others = tuple(
            SeedAlarm(time=when, label=what, on=rng.random() < 0.5) for when, what in zip(times, labels, strict=True)
        )
        return cls(
            wording=pick(rng, cls.wordings, split),
            time=time,
            label=label,
            other_time=other_time,
            length=pick(rng, LENGTHS, split),
            others=others,
        )

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        own = () if self.seeded is None else (SeedAlarm(time=self.time, label=self.label, on=self.seeded),)
        await seed_alarms(device, (*self.others, *own), timeout_s=timeout_s)

    def may_change(self) -> Sequence[str]:
        return (f"alarms/{self.time}/*",)


class AddAlarm(ClockTask):
    name: ClassVar[str] = "clock.add_alarm"
    description: ClassVar[str] = "Set an alarm"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Set an alarm for {time}.", "Wake me at {time}: add that alarm in Clock."),
        "validation": ("Create an alarm at {time}.",),
        "test": ("I have to get up at {time}. Set the alarm for that time.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        holds = "on" in alarms_at(outcome.state, self.time.text).values()
        return (Check(name=f"an alarm at {self.time} is on", holds=holds),)

    async def solve(self, hand: Hand) -> None:
        await clock_flows.add_alarm(hand, self.time)
        await hand.finish()


class AddLabelledAlarm(ClockTask):
    name: ClassVar[str] = "clock.add_labelled_alarm"
    description: ClassVar[str] = "Set an alarm and give it a label"
    max_turns: ClassVar[int] = 25
    wordings: ClassVar[Pool[str]] = {
        "train": ('Set an alarm for {time} with the label "{label}".',),
        "validation": ('Create an alarm at {time} labelled "{label}".',),
        "test": ('Add a "{label}" alarm at {time}; its label has to say just that.',),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        found = alarms_at(outcome.state, self.time.text)
        return (
            Check(name=f"an alarm at {self.time} is on", holds="on" in found.values()),
            Check(name=f"the only alarm at {self.time} is called {self.label}", holds=found == {self.label: "on"}),
        )

    async def solve(self, hand: Hand) -> None:
        await clock_flows.add_alarm(hand, self.time, label=self.label)
        await hand.finish()


class SwitchAlarmOff(ClockTask):
    name: ClassVar[str] = "clock.alarm_off"
    description: ClassVar[str] = "Switch an alarm off without deleting it"
    seeded: ClassVar[bool | None] = True
    wanted: ClassVar[str] = "off"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Switch the {time} alarm off, but keep it.", "Turn off my alarm at {time} without deleting it."),
        "validation": ("Disable the alarm at {time}; do not delete it.",),
        "test": ("I can sleep in: the alarm at {time} should stay in the list, but be off.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        holds = alarms_at(outcome.state, self.time.text) == {self.label: self.wanted}
        return (Check(name=f"the alarm at {self.time} is {self.wanted}", holds=holds),)

    def may_change(self) -> Sequence[str]:
        return (literal(f"alarms/{self.time}/{self.label}"),)

    async def solve(self, hand: Hand) -> None:
        await clock_flows.toggle_alarm(hand, self.time)
        await hand.finish()


class SwitchAlarmOn(SwitchAlarmOff):
    name: ClassVar[str] = "clock.alarm_on"
    description: ClassVar[str] = "Switch on an alarm that is off"
    seeded: ClassVar[bool | None] = False
    wanted: ClassVar[str] = "on"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Switch on the {time} alarm that is already in Clock.", "Turn on my existing alarm at {time}."),
        "validation": ("Enable the alarm at {time}.",),
        "test": ("The alarm at {time} is in the list, but off. It has to ring.",),
    }


class DeleteAlarm(ClockTask):
    name: ClassVar[str] = "clock.delete_alarm"
    description: ClassVar[str] = "Delete an alarm"
    seeded: ClassVar[bool | None] = True
    wordings: ClassVar[Pool[str]] = {
        "train": ("Delete the {time} alarm.", "Remove the alarm at {time} from Clock altogether."),
        "validation": ("Erase the alarm set for {time}.",),
        "test": ("I never want to see the {time} alarm again; delete it.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name=f"no alarm at {self.time}", holds=not alarms_at(outcome.state, self.time.text)),)

    async def solve(self, hand: Hand) -> None:
        await clock_flows.delete_alarm(hand, self.time)
        await hand.finish()


class MoveAlarm(ClockTask):
    name: ClassVar[str] = "clock.move_alarm"
    description: ClassVar[str] = "Give an alarm another time"
    seeded: ClassVar[bool | None] = True
    max_turns: ClassVar[int] = 25
    wordings: ClassVar[Pool[str]] = {
        "train": ('Change the time of the "{label}" alarm from {time} to {other_time}.',),
        "validation": ('Move the "{label}" alarm to {other_time}; it must not ring at {time} any more.',),
        "test": ('"{label}" starts at {other_time} now, not at {time}. Correct that alarm and keep its label.',),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (
            Check(
                name=f"{self.label} rings at {self.other_time}",
                holds=alarms_at(outcome.state, self.other_time.text) == {self.label: "on"},
            ),
            Check(name=f"no alarm at {self.time}", holds=not alarms_at(outcome.state, self.time.text)),
        )

    def may_change(self) -> Sequence[str]:
        return f"alarms/{self.time}/*", f"alarms/{self.other_time}/*"

    async def solve(self, hand: Hand) -> None:
        await clock_flows.move_alarm(hand, self.time, self.other_time)
        await hand.finish()


class StartTimer(ClockTask):
    name: ClassVar[str] = "clock.start_timer"
    description: ClassVar[str] = "Start a timer"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Start a timer for {length.text}.", "Set a {length.text} timer in Clock and start it."),
        "validation": ("Let a timer of {length.text} run.",),
        "test": ("The cake needs {length.text}. Start a timer for that long.",),
    }

    @property
    def key(self) -> str:
        return f"timers/{self.length.seconds}"

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        holds = outcome.state.get(self.key) == "running"
        return (Check(name=f"one timer of {self.length.text} runs", holds=holds),)

    def may_change(self) -> Sequence[str]:
        return (self.key,)

    async def solve(self, hand: Hand) -> None:
        await clock_flows.start_timer(hand, self.length.digits)
        await hand.finish()


class StartStopwatch(ClockTask):
    name: ClassVar[str] = "clock.start_stopwatch"
    description: ClassVar[str] = "Start the stopwatch"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Start the stopwatch and leave it running.", "Let the stopwatch in Clock run."),
        "validation": ("Get the Clock app's stopwatch going.",),
        "test": ("I am about to run a lap: start the stopwatch, and do not stop it.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="the stopwatch runs", holds=outcome.state.get(STOPWATCH) == "running"),)

    def may_change(self) -> Sequence[str]:
        return (STOPWATCH,)

    async def solve(self, hand: Hand) -> None:
        await clock_flows.start_stopwatch(hand)
        await hand.finish()


class PauseStopwatch(StartStopwatch):
    name: ClassVar[str] = "clock.pause_stopwatch"
    description: ClassVar[str] = "Start the stopwatch and pause it"
    splits: ClassVar[tuple[Split, ...]] = ("test",)
    wordings: ClassVar[Pool[str]] = {"test": ("Start the stopwatch, then pause it; do not reset it.",)}

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (
            Check(name="the stopwatch was started", holds=STOPWATCH in outcome.state),
            Check(name="it is paused", holds=outcome.state.get(STOPWATCH) == "paused"),
        )

    async def solve(self, hand: Hand) -> None:
        await clock_flows.start_stopwatch(hand)
        await hand.tap("Pause")
        await hand.finish()


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
