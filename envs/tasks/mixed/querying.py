"""Tasks that query a database, then act in Clock, Notes or Contacts."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand, OracleStuck
from rlfactory.envs.tasks.mixed import databases
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
from rlfactory.envs.tasks.mixed.databases import BEST, TWINS, YEAR, Clientele, Ride, Spending, Table
from rlfactory.envs.tasks.phone import clock_flows, contact_flows, note_flows
from rlfactory.envs.tasks.phone.base import Pool
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.phone.times import Time
from rlfactory.envs.tasks.task import Check, Outcome
from rlfactory.envs.tools.sql.tool import sql_tool
from rlfactory.envs.tools.tool import ToolFactory

SQL: Final = "sql"


@dataclass(frozen=True, kw_only=True)
class QueryingTask(MixedTask):
    """About one database, of which the agent is shown the tables."""

    tools: ClassVar[tuple[str, ...]] = ("phone", SQL, "finish")

    @property
    @abstractmethod
    def table(self) -> Table:
        """What is queried."""

    @property
    def goal(self) -> str:
        return f"{super().goal}\n\n{self.table.ddl}"

    lookup: ClassVar[str] = "The tool `sql` queries this SQLite database:"

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {SQL: sql_tool(self.table.database)}


@dataclass(frozen=True, kw_only=True)
class TrainAlarm(QueryingTask):
    name: ClassVar[str] = "mixed.train_alarm"
    description: ClassVar[str] = "Query a timetable for a train, set an alarm for its departure"
    apps: ClassVar[tuple[str, ...]] = (CLOCK,)
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Set an alarm for the departure of the first train from {ride.origin} to {ride.destination} that leaves "
            "after {ride.after} on a Monday.",
            "On Monday I take the first train after {ride.after} from {ride.origin} to {ride.destination}. Set an "
            "alarm for the minute it leaves.",
        ),
        "validation": (
            "Which is the first Monday train from {ride.origin} to {ride.destination} after {ride.after}? Make an "
            "alarm for its departure.",
        ),
        "test": (
            "It is Monday, past {ride.after}, and I want to get from {ride.origin} to {ride.destination}: let the "
            "clock ring when the next train leaves.",
        ),
    }

    ride: Ride

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"ride": databases.draw_ride(rng, split)}

    @property
    def table(self) -> Table:
        return self.ride.timetable

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (rings(outcome, self.ride.leaves),)

    def may_change(self) -> Sequence[str]:
        return (f"alarms/{self.ride.leaves}/*",)

    async def solve(self, hand: Hand) -> None:
        leaves = await first_train(hand, self.ride.origin, self.ride.destination, self.ride.after)
        await clock_flows.add_alarm(hand, leaves)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class TotalNote(QueryingTask):
    name: ClassVar[str] = "mixed.total_note"
    description: ClassVar[str] = "Query expenses for a total, write it into a new note"
    apps: ClassVar[tuple[str, ...]] = (NOTES,)
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Add up what I spent on {spending.category} in {spending.month_name} 2023, without what was refunded, and "
            "write the total into a new Markor note {note.name}: the number only, as in 12.50.",
        ),
        "validation": (
            "New Markor note {note.name}, please: in it my spending on {spending.category} in {spending.month_name} "
            "2023, refunds left out, as a number like 12.50 and nothing else.",
        ),
        "test": (
            "How much did {spending.category} cost me in {spending.month_name} 2023, not counting what came back? Put "
            "the sum (like 12.50, only the number) into a Markor note named {note.name}.",
        ),
    }

    spending: Spending

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"spending": databases.draw_spending(rng, split)}

    @property
    def table(self) -> Table:
        return self.spending.expenses

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return written(outcome, self.note, self.spending.total)

    def may_change(self) -> Sequence[str]:
        return (self.note.key,)

    async def solve(self, hand: Hand) -> None:
        [total] = await first_row(
            hand,
            f"SELECT printf('%.2f', sum(amount)) FROM expense WHERE category = '{self.spending.category}' "
            f"AND day LIKE '{self.spending.period}-%' AND NOT refunded",
        )
        await note_flows.create(hand, self.note.name, total)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class CustomerTask(QueryingTask):
    """About one customer, who is to become a contact."""

    apps: ClassVar[tuple[str, ...]] = (CONTACTS,)
    wanted: ClassVar[int]

    clientele: Clientele

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"clientele": databases.draw_clientele(rng, split)}

    @classmethod
    def strangers(cls, drawn: Mapping[str, Any]) -> Sequence[str]:
        names: Sequence[str] = drawn["clientele"].names
        return names

    @property
    def table(self) -> Table:
        return self.clientele.customers

    @property
    def person(self) -> Person:
        return self.clientele.people[self.wanted]

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return saved(outcome, self.person)

    def may_change(self) -> Sequence[str]:
        return (saved_pattern(self.person),)


class BestCustomer(CustomerTask):
    name: ClassVar[str] = "mixed.best_customer"
    description: ClassVar[str] = "Query for the best customer of a year, save them as a contact"
    wanted: ClassVar[int] = BEST
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Save the customer whose purchases of 2023 add up to most as a new contact, with name and number.",
            "Who bought for most in the year 2023? Add that customer to Contacts, name and phone number.",
        ),
        "validation": ("Make a contact of the customer with the highest total of purchases in 2023.",),
        "test": ("Our best customer of 2023, by the sum of the purchases, should be among my contacts.",),
    }

    async def solve(self, hand: Hand) -> None:
        name, phone = await first_row(
            hand,
            "SELECT name, phone FROM customer JOIN purchase ON customer.id = customer_id "
            f"WHERE day LIKE '{YEAR}-%' GROUP BY customer.id ORDER BY sum(amount) DESC LIMIT 1",
        )
        await contact_flows.add(hand, named(name, phone))
        await hand.finish()


class NotedCustomer(CustomerTask):
    name: ClassVar[str] = "mixed.noted_customer"
    description: ClassVar[str] = "Read whom a note names, query for the number, save a contact"
    apps: ClassVar[tuple[str, ...]] = (NOTES, CONTACTS)
    wanted: ClassVar[int] = TWINS[0]
    wordings: ClassVar[Pool[str]] = {
        "train": ("The Markor note {note.name} says which customer I have to call. Save that customer as a contact.",),
        "validation": ("Add the customer of the Markor note {note.name} to Contacts, with name and number.",),
        "test": ("Whoever my Markor note {note.name} tells me to call should be a contact; the number is on file.",),
    }

    @classmethod
    def note_text(cls, drawn: Mapping[str, Any]) -> str:
        clientele: Clientele = drawn["clientele"]
        return f"Call {clientele.names[cls.wanted]} of {clientele.towns[cls.wanted]}"

    async def solve(self, hand: Hand) -> None:
        text = await note_flows.read(hand, self.note.name)
        name, _, town = text.removeprefix("Call ").partition(" of ")
        [phone] = await first_row(hand, f"SELECT phone FROM customer WHERE name = '{name}' AND town = '{town}'")
        await contact_flows.add(hand, named(name, phone))
        await hand.finish()


async def first_train(hand: Hand, origin: str, destination: str, after: Time) -> Time:
    """Query the timetable for the first train on a weekday. Raises: OracleStuck: there is none."""
    [leaves] = await first_row(
        hand,
        f"SELECT leaves FROM train WHERE origin = '{origin}' AND destination = '{destination}' "
        f"AND leaves > '{after}' AND runs <> 'weekends' ORDER BY leaves LIMIT 1",
    )
    return Time.parse(leaves)


async def first_row(hand: Hand, query: str) -> list[str]:
    """Query, and return the first row as it is shown. Raises: OracleStuck: there is none."""
    said = await hand.call(SQL, query=query)
    lines = said.splitlines()
    if len(lines) < 3:
        raise OracleStuck(f"no row: {said}")
    return lines[1].split(" | ")


QUERYING: tuple[type[QueryingTask], ...] = (TrainAlarm, TotalNote, BestCustomer, NotedCustomer)
