"""Tasks across apps: what one app says has to be done in another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone import clock_flows, contact_flows, flows, note_flows
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, literal, pick, run, same_answer
from rlfactory.envs.tasks.phone.contacts import contact_pattern, is_saved
from rlfactory.envs.tasks.phone.notes import Note, draw_notes, seed_notes
from rlfactory.envs.tasks.phone.pools import Person, people
from rlfactory.envs.tasks.phone.reading import alarms_at, contact_names, flag, holds_text
from rlfactory.envs.tasks.phone.seeding import seed_alarms, seed_contacts
from rlfactory.envs.tasks.phone.settings import WIFI
from rlfactory.envs.tasks.phone.times import Time, draw_times
from rlfactory.envs.tasks.task import Check, Outcome


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
    def sample(cls, rng: random.Random, split: Split) -> Self:
        note, *other_notes = draw_notes(rng, split, 3)
        person, *other_people = people(rng, split, 3)
        (time,) = draw_times(rng, split, 1)
        note = Note(name=note.name, text=cls.note_text(person, other_people[0], time), modified=note.modified)
        return cls(
            wording=pick(rng, cls.wordings, split),
            note=note,
            other_notes=tuple(other_notes),
            person=person,
            other_people=tuple(other_people),
            time=time,
        )

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


def rings(outcome: Outcome, time: Time) -> bool:
    return "on" in alarms_at(outcome.state, time.text).values()


class NoteToContact(CompoundTask):
    name: ClassVar[str] = "compound.note_to_contact"
    description: ClassVar[str] = "Save the person whom a note names as a contact"
    wordings: ClassVar[Pool[str]] = {
        "train": ("The Markor note {note.name} holds a name and a phone number. Save them as a new contact.",),
        "validation": ("Create a contact from the name and the number in the Markor note {note.name}.",),
        "test": ("Someone's name and number are in my Markor note {note.name}; add that person to Contacts.",),
    }

    @classmethod
    def note_text(cls, person: Person, second: Person, time: Time) -> str:
        return f"{person.full_name}: {person.number}"

    @property
    def start_people(self) -> tuple[Person, ...]:
        return self.other_people

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        named = self.person.full_name in contact_names(outcome.state)
        return (
            Check(name=f"a contact {self.person.full_name} exists", holds=named),
            is_saved(outcome, self.person),
        )

    def may_change(self) -> Sequence[str]:
        return (contact_pattern(self.person),)

    async def solve(self, hand: Hand) -> None:
        name, _, number = (await note_flows.read(hand, self.note.name)).partition(": ")
        first, _, last = name.partition(" ")
        await contact_flows.add(hand, Person(first=first, last=last, number=number))
        await hand.finish()


class NoteToAlarm(CompoundTask):
    name: ClassVar[str] = "compound.note_to_alarm"
    description: ClassVar[str] = "Set an alarm for the time that a note names"
    apps: ClassVar[tuple[str, ...]] = (note_flows.NOTES, clock_flows.CLOCK)
    wordings: ClassVar[Pool[str]] = {
        "train": ("Set an alarm for the time written in the Markor note {note.name}.",),
        "validation": ("Read the Markor note {note.name} and set an alarm in Clock for the time it names.",),
        "test": ("When I have to get up is in my Markor note {note.name}. Make an alarm for exactly then.",),
    }

    @classmethod
    def note_text(cls, person: Person, second: Person, time: Time) -> str:
        return f"Get up at {time}"

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name=f"an alarm at {self.time} is on", holds=rings(outcome, self.time)),)

    def may_change(self) -> Sequence[str]:
        return (f"alarms/{self.time}/*",)

    async def solve(self, hand: Hand) -> None:
        text = await note_flows.read(hand, self.note.name)
        await clock_flows.add_alarm(hand, Time.parse(text.rpartition(" ")[2]))
        await hand.finish()


class ContactToNote(CompoundTask):
    name: ClassVar[str] = "compound.contact_to_note"
    description: ClassVar[str] = "Write a contact's number into a new note"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Create a Markor note named {note.name} that holds {person.full_name}'s phone number and nothing else.",
        ),
        "validation": ("Copy the number of {person.full_name} from Contacts into a new Markor note {note.name}.",),
        "test": ("Put {person.full_name}'s saved number, and only that, into a new note {note.name} in Markor.",),
    }

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await seed_notes(device, self.other_notes, timeout_s=timeout_s)
        await seed_contacts(device, sorted(self.start_people, key=lambda who: who.digits), timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        spelled = any(holds_text(outcome.state, self.note.key, text) for text in self.person.spellings)
        return (
            Check(name=f"{self.note.name} exists", holds=self.note.key in outcome.state),
            Check(name="it holds the number", holds=spelled),
        )

    def may_change(self) -> Sequence[str]:
        return (literal(self.note.key),)

    async def solve(self, hand: Hand) -> None:
        number = await contact_flows.read_number(hand, self.person)
        await note_flows.create(hand, self.note.name, number)
        await hand.finish()


class NoteAndContactAnswer(CompoundTask):
    name: ClassVar[str] = "compound.number_of_noted_person"
    description: ClassVar[str] = "Say the number of the person whom a note names"
    wordings: ClassVar[Pool[str]] = {
        "train": ("The Markor note {note.name} names a person. What is that person's phone number? Answer with it.",),
        "validation": ("Look up the phone number of whoever the Markor note {note.name} names; answer with it only.",),
        "test": ("Whom does my Markor note {note.name} name? Answer with that contact's phone number only.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        right = same_answer(outcome.answer, self.person.number)
        return (Check(name=f"the answer is {self.person.full_name}'s number", holds=right),)

    async def solve(self, hand: Hand) -> None:
        text = await note_flows.read(hand, self.note.name)
        named = next(who for who in self.start_people if who.full_name in text)
        await hand.finish(answer=await contact_flows.read_number(hand, named))


class DeleteNotedContacts(CompoundTask):
    name: ClassVar[str] = "compound.delete_noted_contacts"
    description: ClassVar[str] = "Delete the two contacts whom a note names"
    splits: ClassVar[tuple[Split, ...]] = ("test",)
    wordings: ClassVar[Pool[str]] = {
        "test": ("The Markor note {note.name} lists two people. Delete both from Contacts, and keep the note.",)
    }

    @classmethod
    def note_text(cls, person: Person, second: Person, time: Time) -> str:
        return f"To remove: {person.full_name}, {second.full_name}"

    @property
    def victims(self) -> tuple[Person, Person]:
        return self.person, self.other_people[0]

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        names = contact_names(outcome.state)
        return tuple(
            Check(name=f"{victim.full_name} is gone", holds=victim.full_name not in names) for victim in self.victims
        )

    def may_change(self) -> Sequence[str]:
        return tuple(contact_pattern(victim) for victim in self.victims)

    async def solve(self, hand: Hand) -> None:
        text = await note_flows.read(hand, self.note.name)
        for victim in (who for who in self.start_people if who.full_name in text):
            await contact_flows.delete(hand, victim)
        await hand.finish()


class OfflineAlarm(CompoundTask):
    name: ClassVar[str] = "compound.wifi_off_and_alarm"
    description: ClassVar[str] = "Turn Wi-Fi off and set an alarm"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS, clock_flows.CLOCK)
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Wi-Fi off and set an alarm for {time}.",),
        "validation": ("Set an alarm for {time}, then switch Wi-Fi off.",),
        "test": ("For the night: Wi-Fi off, and an alarm at {time}.",),
    }

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, ["svc wifi enable"], timeout_s=timeout_s)
        await seed_alarms(device, (), timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (
            Check(name="Wi-Fi is off", holds=not flag(outcome.state, WIFI)),
            Check(name=f"an alarm at {self.time} is on", holds=rings(outcome, self.time)),
        )

    def may_change(self) -> Sequence[str]:
        return WIFI, f"alarms/{self.time}/*"

    async def solve(self, hand: Hand) -> None:
        await flows.toggle_wifi(hand)
        await clock_flows.add_alarm(hand, self.time)
        await hand.finish()


class WifiOnAndOpenApp(CompoundTask):
    name: ClassVar[str] = "compound.wifi_on_and_open_app"
    description: ClassVar[str] = "Turn Wi-Fi on and open an app"
    splits: ClassVar[tuple[Split, ...]] = ("test",)
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS, contact_flows.CONTACTS)
    wordings: ClassVar[Pool[str]] = {"test": ("Turn on Wi-Fi, then open the Contacts app and stop there.",)}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, ["svc wifi disable"], timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        package = outcome.state.get("foreground", "").partition("/")[0]
        return (
            Check(name="Wi-Fi is on", holds=flag(outcome.state, WIFI)),
            Check(name="Contacts is in front", holds=package == contact_flows.CONTACTS),
        )

    def may_change(self) -> Sequence[str]:
        return (WIFI,)

    async def solve(self, hand: Hand) -> None:
        await flows.toggle_wifi(hand)
        await hand.open("Contacts")
        await hand.finish()


TASKS: tuple[type[PhoneTask], ...] = (
    NoteToContact,
    NoteToAlarm,
    ContactToNote,
    NoteAndContactAnswer,
    DeleteNotedContacts,
    OfflineAlarm,
    WifiOnAndOpenApp,
)
