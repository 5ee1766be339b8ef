"""Tasks in Contacts: add, change, delete, look up."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone import contact_flows
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, literal, pick, same_answer
from rlfactory.envs.tasks.phone.pools import Person, number, people
from rlfactory.envs.tasks.phone.reading import contact_names, contact_numbers
from rlfactory.envs.tasks.phone.seeding import seed_contacts
from rlfactory.envs.tasks.task import Check, Outcome


@dataclass(frozen=True, kw_only=True)
class ContactsTask(PhoneTask):
    """One person matters; the others, and those whom a new phone knows, are there to be left alone."""

    apps: ClassVar[tuple[str, ...]] = (contact_flows.CONTACTS,)
    max_turns: ClassVar[int] = 20
    knows_person: ClassVar[bool] = True
    """Whether the person is saved at the start."""

    person: Person
    others: tuple[Person, ...]

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        person, *others = people(rng, split, rng.randint(3, 4))
        return cls(wording=pick(rng, cls.wordings, split), person=person, others=tuple(others))

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        known = (*self.others, *((self.person,) if self.knows_person else ()))
        await seed_contacts(device, sorted(known, key=lambda person: person.digits), timeout_s=timeout_s)

    def may_change(self) -> Sequence[str]:
        return (contact_pattern(self.person),)


def contact_pattern(person: Person) -> str:
    """Return the pattern of all numbers under this person's name."""
    return f"{literal(f'contacts/{person.full_name}')}/*"


def is_saved(outcome: Outcome, person: Person) -> Check:
    holds = contact_numbers(outcome.state, person.full_name) == {person.digits: 1}
    return Check(name=f"{person.full_name} is saved once, with {person.number} and no other number", holds=holds)


class AddContact(ContactsTask):
    name: ClassVar[str] = "contacts.add"
    description: ClassVar[str] = "Save a new contact with a number"
    knows_person: ClassVar[bool] = False
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Create a contact for {person.full_name} with the phone number {person.number}.",
            "Add {person.full_name} to my contacts; the number is {person.number}.",
        ),
        "validation": ("Save {person.number} as a new contact named {person.full_name}.",),
        "test": ("Put {person.full_name}, phone {person.number}, into Contacts as a new contact.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        named = self.person.full_name in contact_names(outcome.state)
        return (
            Check(name=f"a contact {self.person.full_name} exists", holds=named),
            is_saved(outcome, self.person),
        )

    async def solve(self, hand: Hand) -> None:
        await contact_flows.add(hand, self.person)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class AddTwoContacts(ContactsTask):
    name: ClassVar[str] = "contacts.add_two"
    description: ClassVar[str] = "Save two new contacts"
    max_turns: ClassVar[int] = 30
    wordings: ClassVar[Pool[str]] = {
        "train": ("Add two contacts: {person.full_name}, {person.number}, and {second.full_name}, {second.number}.",),
        "validation": (
            "Create contacts for {person.full_name} ({person.number}) and for {second.full_name} ({second.number}).",
        ),
        "test": (
            "Save both {person.full_name}, {person.number}, and {second.full_name}, {second.number}, as contacts.",
        ),
    }

    second: Person

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        person, second, *others = people(rng, split, 4)
        wording = pick(rng, cls.wordings, split)
        return cls(wording=wording, person=person, second=second, others=tuple(others))

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await seed_contacts(device, self.others, timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return is_saved(outcome, self.person), is_saved(outcome, self.second)

    def may_change(self) -> Sequence[str]:
        return contact_pattern(self.person), contact_pattern(self.second)

    async def solve(self, hand: Hand) -> None:
        await contact_flows.add(hand, self.person)
        await contact_flows.add(hand, self.second)
        await hand.finish()


class DeleteContact(ContactsTask):
    name: ClassVar[str] = "contacts.delete"
    description: ClassVar[str] = "Delete one contact"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Delete the contact {person.full_name}.", "Remove {person.full_name} from my contacts."),
        "validation": ("Erase {person.full_name}'s contact.",),
        "test": ("I no longer need {person.full_name}'s number; delete that contact.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        gone = self.person.full_name not in contact_names(outcome.state)
        return (Check(name=f"{self.person.full_name} is gone", holds=gone),)

    async def solve(self, hand: Hand) -> None:
        await contact_flows.delete(hand, self.person)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class ChangeNumber(ContactsTask):
    name: ClassVar[str] = "contacts.change_number"
    description: ClassVar[str] = "Replace a contact's number"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "{person.full_name} has a new number: {new_number}. Replace the old one in Contacts.",
            "Change {person.full_name}'s phone number to {new_number}.",
        ),
        "validation": ("Update the contact {person.full_name}: the only number has to be {new_number}.",),
        "test": ("Correct {person.full_name}'s phone number in Contacts; it should read {new_number}.",),
    }

    new_number: str

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        person, *others = people(rng, split, 4)
        new_number = person.number
        while new_number == person.number:
            new_number = number(rng, split)
        wording = pick(rng, cls.wordings, split)
        return cls(wording=wording, person=person, others=tuple(others), new_number=new_number)

    @property
    def changed(self) -> Person:
        return Person(first=self.person.first, last=self.person.last, number=self.new_number)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (is_saved(outcome, self.changed),)

    async def solve(self, hand: Hand) -> None:
        await contact_flows.change(hand, self.person, self.changed)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class RenameContact(ContactsTask):
    name: ClassVar[str] = "contacts.rename"
    description: ClassVar[str] = "Give a contact another last name"
    wordings: ClassVar[Pool[str]] = {
        "train": ("{person.full_name} is now called {new.full_name}. Change the contact's name.",),
        "validation": ("Rename the contact {person.full_name} to {new.full_name}.",),
        "test": ("After the wedding {person.full_name} goes by {new.full_name}; rename the contact.",),
    }

    new: Person

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        person, spouse, *others = people(rng, split, 4)
        new = Person(first=person.first, last=spouse.last, number=person.number)
        return cls(wording=pick(rng, cls.wordings, split), person=person, others=tuple(others), new=new)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        gone = self.person.full_name not in contact_names(outcome.state)
        return is_saved(outcome, self.new), Check(name=f"no contact {self.person.full_name}", holds=gone)

    def may_change(self) -> Sequence[str]:
        return contact_pattern(self.person), contact_pattern(self.new)

    async def solve(self, hand: Hand) -> None:
        await contact_flows.change(hand, self.person, self.new)
        await hand.finish()


class FindNumber(ContactsTask):
    name: ClassVar[str] = "contacts.find_number"
    description: ClassVar[str] = "Say a contact's number"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "What is {person.full_name}'s phone number? Answer with the number only.",
            "Look up {person.full_name} in Contacts and answer with the phone number only.",
        ),
        "validation": ("Tell me the number of {person.full_name}, digits only.",),
        "test": ("I want to call {person.full_name}. Which number is saved? Answer with just the number.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        right = same_answer(outcome.answer, self.person.number)
        return (Check(name=f"the answer is {self.person.full_name}'s number", holds=right),)

    def may_change(self) -> Sequence[str]:
        return ()

    async def solve(self, hand: Hand) -> None:
        await hand.finish(answer=await contact_flows.read_number(hand, self.person))


class WhoseNumber(ContactsTask):
    name: ClassVar[str] = "contacts.whose_number"
    description: ClassVar[str] = "Say whose number a given one is"
    splits: ClassVar[tuple[Split, ...]] = ("test",)
    wordings: ClassVar[Pool[str]] = {
        "test": ("I missed a call from {person.number}. Which contact is that? Answer with the full name only.",)
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        right = same_answer(outcome.answer, self.person.full_name)
        return (Check(name=f"the answer names who has {self.person.number}", holds=right),)

    def may_change(self) -> Sequence[str]:
        return ()

    async def solve(self, hand: Hand) -> None:
        await hand.finish(answer=await contact_flows.name_of(hand, self.person.number))


TASKS: tuple[type[PhoneTask], ...] = (
    AddContact,
    AddTwoContacts,
    DeleteContact,
    ChangeNumber,
    RenameContact,
    FindNumber,
    WhoseNumber,
)
