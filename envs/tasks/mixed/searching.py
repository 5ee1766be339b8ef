"""Tasks that search the directory, then act in Contacts, Clock or Notes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.mixed import directory
from rlfactory.envs.tasks.mixed.base import (
    CLOCK,
    CONTACTS,
    NOTES,
    MixedTask,
    named,
    rings,
    saved,
    saved_pattern,
    written,
)
from rlfactory.envs.tasks.mixed.directory import DirectoryIndex, Entry, made_directory
from rlfactory.envs.tasks.phone import clock_flows, contact_flows, note_flows
from rlfactory.envs.tasks.phone.base import Pool
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.search_qa.question import SEARCH
from rlfactory.envs.tasks.task import Check, Outcome
from rlfactory.envs.tools.search.tool import SearchTool
from rlfactory.envs.tools.tool import ToolFactory

LOOKUP: Final = (
    "The tool `search` finds passages of a directory: on towns, which say who has which trade there, and on people."
)


@dataclass(frozen=True, kw_only=True)
class SearchingTask(MixedTask):
    """About one person of the directory."""

    tools: ClassVar[tuple[str, ...]] = ("phone", SEARCH, "finish")
    apps: ClassVar[tuple[str, ...]] = (CONTACTS,)
    lookup: ClassVar[str] = LOOKUP

    entry: Entry

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"entry": rng.choice(made_directory().entries[split])}

    @classmethod
    def strangers(cls, drawn: Mapping[str, Any]) -> Sequence[str]:
        return (drawn["entry"].person.full_name,)

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {SEARCH: lambda context: SearchTool(context.services.of(DirectoryIndex).retriever)}


class NumberToContact(SearchingTask):
    name: ClassVar[str] = "mixed.number_to_contact"
    description: ClassVar[str] = "Search for a person's number, save it as a contact"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Save {entry.person.full_name} as a new contact; look up the present phone number.",
            "Find the number under which {entry.person.full_name} is reached now, and add both to Contacts.",
        ),
        "validation": ("Create a contact for {entry.person.full_name} with the number that is in use today.",),
        "test": ("I want to be able to call {entry.person.full_name}: put name and current number into Contacts.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return saved(outcome, self.entry.person)

    def may_change(self) -> Sequence[str]:
        return (saved_pattern(self.entry.person),)

    async def solve(self, hand: Hand) -> None:
        name = self.entry.person.full_name
        await contact_flows.add(hand, named(name, await directory.number_of(hand, name)))
        await hand.finish()


class TradeToContact(NumberToContact):
    name: ClassVar[str] = "mixed.trade_to_contact"
    description: ClassVar[str] = "Search for who has a trade in a town, save them as a contact"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Add the {entry.trade} of {entry.town} to my contacts: full name and present phone number.",
            "Who is the {entry.trade} in {entry.town}? Save that person with the number that is in use now.",
        ),
        "validation": ("Create a contact for the {entry.trade} of {entry.town}, with name and current number.",),
        "test": ("I need the {entry.trade} of {entry.town} among my contacts, by name and today's number.",),
    }

    async def solve(self, hand: Hand) -> None:
        name = await directory.name_of_trade(hand, self.entry.trade, self.entry.town)
        await contact_flows.add(hand, named(name, await directory.number_of(hand, name)))
        await hand.finish()


class ChangedNumber(SearchingTask):
    name: ClassVar[str] = "mixed.changed_number"
    description: ClassVar[str] = "Search for a contact's new number, replace the old one"
    wordings: ClassVar[Pool[str]] = {
        "train": ("The {entry.trade} of {entry.town} has a new number. Replace the old one in my contacts.",),
        "validation": ("My contacts hold an old number of the {entry.trade} of {entry.town}. Put in the present one.",),
        "test": ("Bring the number of {entry.town}'s {entry.trade} up to date in my contacts.",),
    }

    @property
    def before(self) -> Person:
        return Person(first=self.entry.person.first, last=self.entry.person.last, number=self.entry.old_number)

    @property
    def start_contacts(self) -> tuple[Person, ...]:
        return (*self.contacts, self.before)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return saved(outcome, self.entry.person)[1:]

    def may_change(self) -> Sequence[str]:
        return (saved_pattern(self.entry.person),)

    async def solve(self, hand: Hand) -> None:
        name = await directory.name_of_trade(hand, self.entry.trade, self.entry.town)
        number = await directory.number_of(hand, name)
        shown = named(name, self.entry.old_number)
        await contact_flows.change(hand, shown, named(name, number))
        await hand.finish()


class OpeningAlarm(SearchingTask):
    name: ClassVar[str] = "mixed.opening_alarm"
    description: ClassVar[str] = "Search for when a shop opens, set an alarm for then"
    apps: ClassVar[tuple[str, ...]] = (CLOCK,)
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Set an alarm for the time at which the {entry.trade} of {entry.town} opens.",
            "When does the {entry.trade} in {entry.town} open? Make an alarm for exactly then.",
        ),
        "validation": ("I want an alarm at the opening time of the {entry.trade} of {entry.town}.",),
        "test": ("Let the clock ring the minute the {entry.trade} of {entry.town} opens in the morning.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (rings(outcome, self.entry.opens),)

    def may_change(self) -> Sequence[str]:
        return (f"alarms/{self.entry.opens}/*",)

    async def solve(self, hand: Hand) -> None:
        name = await directory.name_of_trade(hand, self.entry.trade, self.entry.town)
        await clock_flows.add_alarm(hand, await directory.opening_of(hand, name))
        await hand.finish()


class AddressNote(SearchingTask):
    name: ClassVar[str] = "mixed.address_note"
    description: ClassVar[str] = "Search for an address, write it into a new note"
    splits: ClassVar[tuple[Split, ...]] = ("test",)
    apps: ClassVar[tuple[str, ...]] = (NOTES,)
    wordings: ClassVar[Pool[str]] = {
        "test": (
            "Write the address of the {entry.trade} of {entry.town}, street and number only, into a new Markor note "
            "{note.name}.",
        ),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return written(outcome, self.note, self.entry.address)

    def may_change(self) -> Sequence[str]:
        return (self.note.key,)

    async def solve(self, hand: Hand) -> None:
        name = await directory.name_of_trade(hand, self.entry.trade, self.entry.town)
        await note_flows.create(hand, self.note.name, await directory.address_of(hand, name))
        await hand.finish()


SEARCHING: tuple[type[SearchingTask], ...] = (
    *(NumberToContact, TradeToContact, ChangedNumber, OpeningAlarm, AddressNote),
)
