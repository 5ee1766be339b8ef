"""Tasks that search the directory, then act in Contacts, Clock or Notes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.mixed import directory
from rlfactory.envs.tasks.mixed.base import CLOCK, CONTACTS, NOTES, MixedTask, named
from rlfactory.envs.tasks.mixed.directory import DirectoryIndex, Entry, made_directory
from rlfactory.envs.tasks.phone.base import Want
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.flows import notes as note_flows
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.phone.wants import alarm_added, contact_added, contact_changed, note_says
from rlfactory.envs.tasks.search_qa.question import SEARCH
from rlfactory.envs.tasks.ui_driver import UiDriver
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
    name = "mixed.number_to_contact"

    def wants(self) -> Sequence[Want]:
        return (contact_added(self.entry.person),)

    async def perform(self, ui: UiDriver) -> None:
        name = self.entry.person.full_name
        await contact_flows.add(ui, named(name, await directory.number_of(ui, name)))


class TradeToContact(NumberToContact):
    name = "mixed.trade_to_contact"

    async def perform(self, ui: UiDriver) -> None:
        name = await directory.name_of_trade(ui, self.entry.trade, self.entry.town)
        await contact_flows.add(ui, named(name, await directory.number_of(ui, name)))


class ChangedNumber(SearchingTask):
    name = "mixed.changed_number"

    @property
    def before(self) -> Person:
        return Person(first=self.entry.person.first, last=self.entry.person.last, number=self.entry.old_number)

    @property
    def start_contacts(self) -> tuple[Person, ...]:
        return (*self.contacts, self.before)

    def wants(self) -> Sequence[Want]:
        return (contact_changed(self.before, self.entry.person),)

    async def perform(self, ui: UiDriver) -> None:
        name = await directory.name_of_trade(ui, self.entry.trade, self.entry.town)
        number = await directory.number_of(ui, name)
        shown = named(name, self.entry.old_number)
        await contact_flows.change(ui, shown, named(name, number))


class OpeningAlarm(SearchingTask):
    name = "mixed.opening_alarm"
    apps: ClassVar[tuple[str, ...]] = (CLOCK,)

    def wants(self) -> Sequence[Want]:
        return (alarm_added(self.entry.opens.text),)

    async def perform(self, ui: UiDriver) -> None:
        name = await directory.name_of_trade(ui, self.entry.trade, self.entry.town)
        await clock_flows.add_alarm(ui, await directory.opening_of(ui, name))


class AddressNote(SearchingTask):
    name = "mixed.address_note"
    apps: ClassVar[tuple[str, ...]] = (NOTES,)

    def wants(self) -> Sequence[Want]:
        return (note_says(self.note.key, self.entry.address, new=True),)

    async def perform(self, ui: UiDriver) -> None:
        name = await directory.name_of_trade(ui, self.entry.trade, self.entry.town)
        await note_flows.create(ui, self.note.name, await directory.address_of(ui, name))


SEARCHING: tuple[type[SearchingTask], ...] = (
    *(NumberToContact, TradeToContact, ChangedNumber, OpeningAlarm, AddressNote),
)
