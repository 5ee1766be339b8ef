"""Tasks in Contacts: add, change, delete, look up."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import Name, PhoneNumber
from rlfactory.envs.tasks.phone.base import PhoneTask, Want
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.pools import Person, number, people, strangers
from rlfactory.envs.tasks.phone.seeding import seed_contacts
from rlfactory.envs.tasks.phone.wants import contact_added, contact_changed, contact_removed
from rlfactory.envs.tasks.task import Outcome
from rlfactory.envs.tasks.ui_driver import UiDriver


@dataclass(frozen=True, kw_only=True)
class ContactsTask(PhoneTask):
    """One person matters; the others, and those whom a new phone knows, are there to be left alone."""

    apps: ClassVar[tuple[str, ...]] = (contact_flows.CONTACTS,)
    max_turns: ClassVar[int] = 24
    knows_person: ClassVar[bool] = True
    """Whether the person is saved at the start."""

    person: Person
    others: tuple[Person, ...]

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        person, *others = people(rng, split, rng.randint(3, 4))
        return {"person": person, "others": tuple(others)}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        known = (*self.others, *((self.person,) if self.knows_person else ()), *strangers(self.look))
        await seed_contacts(device, sorted(known, key=lambda person: person.digits), timeout_s=timeout_s)


class AddContact(ContactsTask):
    name = "contacts.add"
    knows_person: ClassVar[bool] = False

    def wants(self) -> Sequence[Want]:
        return (contact_added(self.person),)

    async def perform(self, ui: UiDriver) -> None:
        await contact_flows.add(ui, self.person)


@dataclass(frozen=True, kw_only=True)
class AddTwoContacts(ContactsTask):
    name = "contacts.add_two"
    knows_person: ClassVar[bool] = False

    second: Person

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        person, second, *others = people(rng, split, 4)
        return {"person": person, "second": second, "others": tuple(others)}

    def wants(self) -> Sequence[Want]:
        return contact_added(self.person), contact_added(self.second)

    async def perform(self, ui: UiDriver) -> None:
        await contact_flows.add(ui, self.person)
        await contact_flows.add(ui, self.second)


class DeleteContact(ContactsTask):
    name = "contacts.delete"

    def wants(self) -> Sequence[Want]:
        return (contact_removed(self.person),)

    async def perform(self, ui: UiDriver) -> None:
        await contact_flows.delete(ui, self.person)


@dataclass(frozen=True, kw_only=True)
class ChangeNumber(ContactsTask):
    name = "contacts.change_number"

    new_number: str

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        person, *others = people(rng, split, 4)
        new_number = person.number
        while new_number == person.number:
            new_number = number(rng, split)
        return {"person": person, "others": tuple(others), "new_number": new_number}

    @property
    def changed(self) -> Person:
        return Person(first=self.person.first, last=self.person.last, number=self.new_number)

    def wants(self) -> Sequence[Want]:
        return (contact_changed(self.person, self.changed),)

    async def perform(self, ui: UiDriver) -> None:
        await contact_flows.change(ui, self.person, self.changed)


@dataclass(frozen=True, kw_only=True)
class RenameContact(ContactsTask):
    name = "contacts.rename"

    new: Person

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        person, spouse, *others = people(rng, split, 4)
        new = Person(first=person.first, last=spouse.last, number=person.number)
        return {"person": person, "others": tuple(others), "new": new}

    def wants(self) -> Sequence[Want]:
        return (contact_changed(self.person, self.new),)

    async def perform(self, ui: UiDriver) -> None:
        await contact_flows.change(ui, self.person, self.new)


class FindNumber(ContactsTask):
    name = "contacts.find_number"

    def redraw(self, rng: random.Random) -> dict[str, Any]:
        return {"person": self.person.renumbered(rng)}

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        right = PhoneNumber(number=self.person.number).accepts(outcome.answer)
        return {f"the answer is {self.person.full_name}'s number": right}

    async def perform(self, ui: UiDriver) -> str:
        return await contact_flows.read_number(ui, self.person)


class WhoseNumber(ContactsTask):
    name = "contacts.whose_number"

    def redraw(self, rng: random.Random) -> dict[str, Any]:
        return {"person": self.person.renamed(rng, beside=self.others)}

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        name = Name(text=self.person.full_name, also=(f"{self.person.last}, {self.person.first}",))
        return {f"the answer names who has {self.person.number}": name.accepts(outcome.answer)}

    async def perform(self, ui: UiDriver) -> str:
        return await contact_flows.name_of(ui, self.person.number)


TASKS: tuple[type[PhoneTask], ...] = (
    AddContact,
    AddTwoContacts,
    DeleteContact,
    ChangeNumber,
    RenameContact,
    FindNumber,
    WhoseNumber,
)
