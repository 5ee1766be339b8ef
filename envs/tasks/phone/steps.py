"""Tasks of many turns of which few decide: a round through Settings, Clock, Contacts and Files.

At each stop something has to be on, off, starred or gone. Where a template says so, that is already so in half of the
episodes, and then the job is to leave it: only the page tells. Those are the decisions that matter; everything else is
the way there and back, the same in every episode. The oracle goes to every stop, as whoever has to look does.

Splits differ in the people, times and files that the pages show.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from typing import ClassVar, Final, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import Want, run, setting_is
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.flows import files as file_flows
from rlfactory.envs.tasks.phone.flows.common import SETTINGS
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.phone.seeding import CLOCK, SeedAlarm, SeedFile, seed_alarms, seed_contacts, seed_files
from rlfactory.envs.tasks.phone.times import Time
from rlfactory.envs.tasks.phone.tiny import DARK_THEME
from rlfactory.envs.tasks.phone.wants import alarm_is, contact_starred, file_gone
from rlfactory.envs.tasks.task import Check, Outcome, Task, variant
from rlfactory.envs.tasks.ui_driver import UiDriver

FOLDER: Final = "Download"


@dataclass(frozen=True, kw_only=True)
class Looks:
    """What the pages of an episode show."""

    times: tuple[str, str, str]
    people: tuple[str, str]
    files: tuple[str, str]

    def shuffled(self, rng: random.Random) -> Looks:
        """Return the same pages, on which a control stands elsewhere: taps that are right by heart are wrong there."""
        first, second, third = rng.sample(self.times, 3)
        one, other = rng.sample(self.people, 2)
        old, new = rng.sample(self.files, 2)
        return Looks(times=(first, second, third), people=(one, other), files=(old, new))


LOOKS: Final[dict[Split, tuple[Looks, ...]]] = {
    "train": (
        Looks(times=("06:00", "07:30", "09:00"), people=("Ann Lee", "Bob Kay"), files=("draft.txt", "old.txt")),
        Looks(times=("05:30", "08:00", "09:30"), people=("Eva Moss", "Jim Ray"), files=("list.txt", "plan.txt")),
    ),
    "validation": (
        Looks(times=("06:30", "07:00", "10:00"), people=("Ida Fox", "Leo Hall"), files=("copy.txt", "memo.txt")),
    ),
    "test": (
        Looks(times=("05:00", "08:30", "10:30"), people=("Kim Dean", "Max Bell"), files=("data.txt", "text.txt")),
    ),
}


class Kind(StrEnum):
    """What can be changed at a stop; the stops of a task come in this order of its controls."""

    THEME = "theme"
    ALARM = "alarm"
    STAR = "star"
    FILE = "file"


Control = tuple[Kind, int]
"""Of what kind, and which of the episode's alarms, people or files."""


@dataclass(frozen=True, kw_only=True)
class StepsTask(Task):
    """A round of stops."""

    suite: ClassVar[str] = "steps"
    apps: ClassVar[tuple[str, ...]] = (SETTINGS, CLOCK, contact_flows.CONTACTS, file_flows.FILES)
    turns: ClassVar[int]
    """That a round takes at most."""
    decisions: ClassVar[int]
    """How many of the controls, from the first, may be as wanted already."""
    controls: ClassVar[tuple[Control, ...]]

    looks: Looks
    wanted: tuple[bool, ...]
    """Of each control: on, starred, or there."""
    start: tuple[bool, ...]

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        looks = rng.choice(LOOKS[split]).shuffled(rng)
        wanted = tuple(kind is not Kind.FILE and rng.random() < 0.5 for kind, _ in cls.controls)
        start = tuple(want == (number < cls.decisions and rng.random() < 0.5) for number, want in enumerate(wanted))
        return cls(looks=looks, wanted=wanted, start=start)

    @property
    def goal(self) -> str:
        words = (self._words(control, on) for control, on in zip(self.controls, self.wanted, strict=True))
        return f"Make sure: {', '.join(words)}."

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        starts = dict(zip(self.controls, self.start, strict=True))
        looks, shell = self.looks, [DARK_THEME.put(starts.get((Kind.THEME, 0), False))]
        alarms = [
            SeedAlarm(time=Time.parse(time), label="", on=starts.get((Kind.ALARM, index), True))
            for index, time in enumerate(looks.times)
        ]
        await seed_alarms(device, alarms, timeout_s=timeout_s)
        people = [self._person(index) for index in range(len(looks.people))]
        await seed_contacts(device, people, timeout_s=timeout_s)
        starred = [looks.people[index] for (kind, index), on in starts.items() if kind is Kind.STAR and on]
        shell += [
            "content update --uri content://com.android.contacts/raw_contacts --bind starred:i:1 "
            f"--where \"display_name='{name}'\""
            for name in starred
        ]
        there = [SeedFile(path=f"{FOLDER}/keep.txt", text="keep")] + [
            SeedFile(path=f"{FOLDER}/{looks.files[index]}", text="gone soon")
            for (kind, index), on in starts.items()
            if kind is Kind.FILE and on
        ]
        await seed_files(device, there, emptied=(FOLDER,), timeout_s=timeout_s)
        await run(device, shell, timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return tuple(Check(name=each.name, holds=each.holds(outcome.initial, outcome.state)) for each in self._wants)

    def allowed(self) -> Sequence[str]:
        return tuple(key for each in self._wants for key in each.keys)

    @cached_property
    def _wants(self) -> Sequence[Want]:
        """One for each control: it is as wanted, and what it belongs to is else as it was."""
        return tuple(
            replace(self._want(control, on), name=self._words(control, on))
            for control, on in zip(self.controls, self.wanted, strict=True)
        )

    async def solve(self, ui: UiDriver) -> None:
        wrong = [
            control for control, on, start in zip(self.controls, self.wanted, self.start, strict=True) if on != start
        ]
        for kind, stop in groupby(self.controls, key=lambda control: control[0]):
            match kind:
                case Kind.THEME:
                    await ui.open("Settings")
                    await ui.tap("Display")
                case Kind.ALARM:
                    await ui.open("Clock")
                case Kind.FILE:
                    await ui.open("Files")
                    await ui.tap(FOLDER)
                case Kind.STAR:
                    pass
            for control in stop:
                await self._change(ui, control, needed=control in wrong)
        await ui.finish()

    async def _change(self, ui: UiDriver, control: Control, *, needed: bool) -> None:
        match control:
            case (Kind.STAR, index):
                await contact_flows.open_list(ui)
                await ui.tap(self.looks.people[index])
                if needed:
                    await ui.tap(resource_id="menu_star")
            case (Kind.THEME, _) if needed:
                await ui.tap("Dark theme")
            case (Kind.ALARM, index) if needed:
                await ui.tap(f"Alarm {self.looks.times[index]}")
            case (Kind.FILE, index) if needed:
                await file_flows.delete(ui, self.looks.files[index])

    def _person(self, index: int) -> Person:
        first, _, last = self.looks.people[index].partition(" ")
        return Person(first=first, last=last, number=f"415-555-010{index}")

    def _words(self, control: Control, on: bool) -> str:
        match control:
            case (Kind.THEME, _):
                return f"dark theme {'on' if on else 'off'}"
            case (Kind.ALARM, index):
                return f"alarm {self.looks.times[index]} {'on' if on else 'off'}"
            case (Kind.STAR, index):
                return f"{self.looks.people[index]} {'starred' if on else 'not starred'}"
            case (_, index):
                return f"{self.looks.files[index]} deleted"

    def _want(self, control: Control, on: bool) -> Want:
        match control:
            case (Kind.THEME, _):
                return setting_is(DARK_THEME.key, DARK_THEME.on if on else DARK_THEME.off)
            case (Kind.ALARM, index):
                return alarm_is(self.looks.times[index], "", on=on)
            case (Kind.STAR, index):
                return contact_starred(self.looks.people[index], on=on)
            case (_, index):
                return file_gone(f"files/{FOLDER}/{self.looks.files[index]}")


_THEME: Final[Control] = (Kind.THEME, 0)
_ALARMS: Final[tuple[Control, ...]] = tuple((Kind.ALARM, index) for index in range(3))
_STARS: Final[tuple[Control, ...]] = tuple((Kind.STAR, index) for index in range(2))
_FILES: Final[tuple[Control, ...]] = tuple((Kind.FILE, index) for index in range(2))
_ROUND: Final = (_THEME, *_ALARMS[:2], _STARS[0], _FILES[0])
_TEMPLATES: Final[Sequence[tuple[int, int, tuple[Control, ...]]]] = (
    (4, 1, _STARS[:1]),
    (4, 2, _ALARMS[:2]),
    (8, 1, (_ALARMS[0], _FILES[0])),
    (8, 2, (_ALARMS[0], _FILES[0])),
    (8, 4, (*_ALARMS, _STARS[0])),
    *((16, decisions, _ROUND) for decisions in (1, 2, 4)),
    *((24, decisions, (_THEME, *_ALARMS, *_STARS, *_FILES)) for decisions in (1, 2, 4)),
)
"""Turns, decisions, and what the stops are."""

STEPS_TASKS: tuple[type[Task], ...] = tuple(
    variant(
        *(StepsTask, f"steps.turns{turns}_decisions{decisions}"),
        description=f"A round of {turns} turns through {len({kind for kind, _ in controls})} apps; {decisions} decide",
        turns=turns,
        decisions=decisions,
        controls=controls,
        max_turns=turns * 3 // 2,
    )
    for turns, decisions, controls in _TEMPLATES
)
