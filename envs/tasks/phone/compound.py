"""Tasks across apps: what one app says has to be done in another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import PhoneNumber
from rlfactory.envs.tasks.phone.base import PhoneTask, Want, run, setting_is
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.flows import common as flows
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.flows import notes as note_flows
from rlfactory.envs.tasks.phone.notes import Note, draw_notes, seed_notes
from rlfactory.envs.tasks.phone.pools import Person, people
from rlfactory.envs.tasks.phone.seeding import seed_alarms, seed_contacts
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

    @classmethod
    def note_text(cls, person: Person, second: Person, time: Time) -> str:
        """Return what the note says."""
        return f"Ask {person.full_name} about the key."

    @property
    def start_people(self) -> tuple[Person, ...]:
        return (*self.other_people, self.person)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await seed_notes(device, (self.note, *self.other_notes), timeout_s=timeout_s)
        await seed_contacts(device, sorted(self.start_people, key=lambda who: who.digits), timeout_s=timeout_s)
        await seed_alarms(device, (), timeout_s=timeout_s)


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

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await seed_notes(device, self.other_notes, timeout_s=timeout_s)
        await seed_contacts(device, sorted(self.start_people, key=lambda who: who.digits), timeout_s=timeout_s)

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


class OfflineAlarm(CompoundTask):
    name = "compound.wifi_off_and_alarm"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS, clock_flows.CLOCK)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, ["svc wifi enable"], timeout_s=timeout_s)
        await seed_alarms(device, (), timeout_s=timeout_s)

    def wants(self) -> Sequence[Want]:
        return setting_is(WIFI, "0", name="Wi-Fi is off"), alarm_added(self.time.text)

    async def perform(self, ui: UiDriver) -> None:
        await flows.toggle_wifi(ui)
        await clock_flows.add_alarm(ui, self.time)


class WifiOnAndOpenApp(CompoundTask):
    name = "compound.wifi_on_and_open_app"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS, contact_flows.CONTACTS)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, ["svc wifi disable"], timeout_s=timeout_s)

    def wants(self) -> Sequence[Want]:
        return setting_is(WIFI, "1", name="Wi-Fi is on"), in_front(contact_flows.CONTACTS, "Contacts")

    async def perform(self, ui: UiDriver) -> None:
        await flows.toggle_wifi(ui)
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
