"""Tasks across apps: what one app says has to be done in another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import PhoneNumber
from rlfactory.envs.tasks.phone.base import PhoneTask, StateTask, Want, run, setting_is
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.flows import common as flows
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.flows import notes as note_flows
from rlfactory.envs.tasks.phone.notes import Note, draw_notes, notes_beside, seed_notes
from rlfactory.envs.tasks.phone.pools import Person, people, strangers
from rlfactory.envs.tasks.phone.seeding import alarms_beside, seed_alarms, seed_contacts
from rlfactory.envs.tasks.phone.times import Time, draw_times
from rlfactory.envs.tasks.phone.wants import (
    WIFI,
    alarm_added,
    contact_added,
    contact_removed,
    in_front,
    note_says,
    same_number,
)
from rlfactory.envs.tasks.task import Outcome
from rlfactory.envs.tasks.ui_driver import UiDriver


@dataclass(frozen=True, kw_only=True)
class CompoundTask(PhoneTask):
    """A note that matters among others, and people of whom the first matters."""

    max_turns: ClassVar[int] = 30
    tells_time: ClassVar[bool] = False
    """The note does, not the goal."""
    apps: ClassVar[tuple[str, ...]] = (note_flows.NOTES, contact_flows.CONTACTS)

    note: Note
    other_notes: tuple[Note, ...]
    person: Person
    other_people: tuple[Person, ...]
    time: Time

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        note, *other_notes = draw_notes(rng, split, 3)
        person, *other_people = people(rng, split, 3)
        (time,) = draw_times(rng, split, 1)
        return {
            "note": replace(note, text=cls.note_text(person, other_people[0], time)),
            "other_notes": tuple(other_notes),
            "person": person,
            "other_people": tuple(other_people),
            "time": time,
        }

    def redraw(self, rng: random.Random) -> dict[str, Any]:
        person = self.person.renumbered(rng)
        minute = rng.choice([minute for minute in range(0, 60, 5) if minute != self.time.minute])
        time = Time(self.time.hour, minute) if self.tells_time else self.time
        text = self.note_text(person, self.other_people[0], time)
        return {"person": person, "time": time, "note": replace(self.note, text=text)}

    @classmethod
    def note_text(cls, person: Person, second: Person, time: Time) -> str:
        """Return what the note says."""
        return f"Ask {person.full_name} about the key."

    @property
    def start_people(self) -> tuple[Person, ...]:
        return (*self.other_people, self.person)

    @property
    def start_notes(self) -> tuple[Note, ...]:
        return (self.note, *self.other_notes)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        await seed_notes(device, (*self.start_notes, *notes_beside(self.look)), look=self.look, timeout_s=timeout_s)
        known = (*self.start_people, *strangers(self.look))
        await seed_contacts(device, sorted(known, key=lambda who: who.digits), timeout_s=timeout_s)
        await seed_alarms(device, alarms_beside(self.look), timeout_s=timeout_s)


class NoteToContact(CompoundTask):
    name = "compound.note_to_contact"

    @classmethod
    def note_text(cls, person: Person, second: Person, time: Time) -> str:
        return f"{person.full_name}: {person.number}"

    @property
    def start_people(self) -> tuple[Person, ...]:
        return self.other_people

    def wants(self) -> Sequence[Want]:
        return (contact_added(self.person),)

    async def perform(self, ui: UiDriver) -> None:
        name, _, number = (await note_flows.read(ui, self.note.name)).partition(": ")
        first, _, last = name.partition(" ")
        await contact_flows.add(ui, Person(first=first, last=last, number=number))


class NoteToAlarm(CompoundTask):
    name = "compound.note_to_alarm"
    tells_time: ClassVar[bool] = True
    apps: ClassVar[tuple[str, ...]] = (note_flows.NOTES, clock_flows.CLOCK)

    @classmethod
    def note_text(cls, person: Person, second: Person, time: Time) -> str:
        return f"Get up at {time}"

    def wants(self) -> Sequence[Want]:
        return (alarm_added(self.time.text),)

    async def perform(self, ui: UiDriver) -> None:
        text = await note_flows.read(ui, self.note.name)
        await clock_flows.add_alarm(ui, Time.parse(text.rpartition(" ")[2]))


class ContactToNote(CompoundTask):
    name = "compound.contact_to_note"

    @property
    def start_notes(self) -> tuple[Note, ...]:
        return self.other_notes

    def wants(self) -> Sequence[Want]:
        return (note_says(self.note.key, self.person.number, new=True, same=same_number),)

    async def perform(self, ui: UiDriver) -> None:
        number = await contact_flows.read_number(ui, self.person)
        await note_flows.create(ui, self.note.name, number)


class NoteAndContactAnswer(CompoundTask):
    name = "compound.number_of_noted_person"

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        right = PhoneNumber(number=self.person.number).accepts(outcome.answer)
        return {f"the answer is {self.person.full_name}'s number": right}

    async def perform(self, ui: UiDriver) -> str:
        text = await note_flows.read(ui, self.note.name)
        named = next(who for who in self.start_people if who.full_name in text)
        return await contact_flows.read_number(ui, named)


class DeleteNotedContacts(CompoundTask):
    name = "compound.delete_noted_contacts"
    max_turns: ClassVar[int] = 40

    @classmethod
    def note_text(cls, person: Person, second: Person, time: Time) -> str:
        return f"To remove: {person.full_name}, {second.full_name}"

    @property
    def victims(self) -> tuple[Person, Person]:
        return self.person, self.other_people[0]

    def wants(self) -> Sequence[Want]:
        return tuple(contact_removed(victim) for victim in self.victims)

    async def perform(self, ui: UiDriver) -> None:
        text = await note_flows.read(ui, self.note.name)
        for victim in (who for who in self.start_people if who.full_name in text):
            await contact_flows.delete(ui, victim)


@dataclass(frozen=True, kw_only=True)
class WifiTask(StateTask, CompoundTask):
    """Wi-Fi has to be on, or off, and something else is to be done."""

    wifi: ClassVar[bool]
    is_so_already = False

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        first = "enable" if self.wifi is self.already else "disable"
        await run(device, [f"svc wifi {first}"], timeout_s=timeout_s)

    def wants(self) -> Sequence[Want]:
        wanted = "on" if self.wifi else "off"
        return setting_is(WIFI, str(int(self.wifi)), name=f"Wi-Fi is {wanted}"), *self.wants_more()

    def wants_more(self) -> Sequence[Want]:
        return (alarm_added(self.time.text),)

    async def perform(self, ui: UiDriver) -> None:
        await flows.see_to(ui, *flows.WIFI, change=not self.already)
        await self.perform_more(ui)

    async def perform_more(self, ui: UiDriver) -> None:
        await clock_flows.add_alarm(ui, self.time)


class OfflineAlarm(WifiTask):
    name = "compound.wifi_off_and_alarm"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS, clock_flows.CLOCK)
    wifi: ClassVar[bool] = False


class WifiOnAndOpenApp(WifiTask):
    name = "compound.wifi_on_and_open_app"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS, contact_flows.CONTACTS)
    wifi: ClassVar[bool] = True

    def wants_more(self) -> Sequence[Want]:
        return (in_front(contact_flows.CONTACTS, "Contacts"),)

    async def perform_more(self, ui: UiDriver) -> None:
        await ui.open("Contacts")


TASKS: tuple[type[PhoneTask], ...] = (
    NoteToContact,
    NoteToAlarm,
    ContactToNote,
    NoteAndContactAnswer,
    DeleteNotedContacts,
    OfflineAlarm,
    WifiOnAndOpenApp,
)
