"""Tasks that query a database, then act in Clock, Notes or Contacts."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.mixed import databases
from rlfactory.envs.tasks.mixed.base import CLOCK, CONTACTS, NOTES, MixedTask, named
from rlfactory.envs.tasks.mixed.databases import BEST, TWINS, YEAR, Clientele, Ride, Spending, Table
from rlfactory.envs.tasks.phone.base import Want
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.flows import notes as note_flows
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.phone.times import Time
from rlfactory.envs.tasks.phone.wants import alarm_added, contact_added, note_says
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver
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
    name = "mixed.train_alarm"
    apps: ClassVar[tuple[str, ...]] = (CLOCK,)

    ride: Ride

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"ride": databases.draw_ride(rng, split)}

    @property
    def table(self) -> Table:
        return self.ride.timetable

    def wants(self) -> Sequence[Want]:
        return (alarm_added(self.ride.leaves.text),)

    async def perform(self, ui: UiDriver) -> None:
        leaves = await first_train(ui, self.ride.origin, self.ride.destination, self.ride.after)
        await clock_flows.add_alarm(ui, leaves)


@dataclass(frozen=True, kw_only=True)
class TotalNote(QueryingTask):
    name = "mixed.total_note"
    apps: ClassVar[tuple[str, ...]] = (NOTES,)

    spending: Spending

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"spending": databases.draw_spending(rng, split)}

    @property
    def table(self) -> Table:
        return self.spending.expenses

    def wants(self) -> Sequence[Want]:
        return (note_says(self.note.key, self.spending.total, new=True),)

    async def perform(self, ui: UiDriver) -> None:
        [total] = await first_row(
            ui,
            f"SELECT printf('%.2f', sum(amount)) FROM expense WHERE category = '{self.spending.category}' "
            f"AND day LIKE '{self.spending.period}-%' AND NOT refunded",
        )
        await note_flows.create(ui, self.note.name, total)


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

    def wants(self) -> Sequence[Want]:
        return (contact_added(self.person),)


class BestCustomer(CustomerTask):
    name = "mixed.best_customer"
    wanted: ClassVar[int] = BEST

    async def perform(self, ui: UiDriver) -> None:
        name, phone = await first_row(
            ui,
            "SELECT name, phone FROM customer JOIN purchase ON customer.id = customer_id "
            f"WHERE day LIKE '{YEAR}-%' GROUP BY customer.id ORDER BY sum(amount) DESC LIMIT 1",
        )
        await contact_flows.add(ui, named(name, phone))


class NotedCustomer(CustomerTask):
    name = "mixed.noted_customer"
    apps: ClassVar[tuple[str, ...]] = (NOTES, CONTACTS)
    wanted: ClassVar[int] = TWINS[0]

    @classmethod
    def note_text(cls, drawn: Mapping[str, Any]) -> str:
        clientele: Clientele = drawn["clientele"]
        return f"Call {clientele.names[cls.wanted]} of {clientele.towns[cls.wanted]}"

    async def perform(self, ui: UiDriver) -> None:
        text = await note_flows.read(ui, self.note.name)
        name, _, town = text.removeprefix("Call ").partition(" of ")
        [phone] = await first_row(ui, f"SELECT phone FROM customer WHERE name = '{name}' AND town = '{town}'")
        await contact_flows.add(ui, named(name, phone))


async def first_train(ui: UiDriver, origin: str, destination: str, after: Time) -> Time:
    """Query the timetable for the first train on a weekday. Raises: OracleStuck: there is none."""
    [leaves] = await first_row(
        ui,
        f"SELECT leaves FROM train WHERE origin = '{origin}' AND destination = '{destination}' "
        f"AND leaves > '{after}' AND runs <> 'weekends' ORDER BY leaves LIMIT 1",
    )
    return Time.parse(leaves)


async def first_row(ui: UiDriver, query: str) -> list[str]:
    """Query, and return the first row as it is shown. Raises: OracleStuck: there is none."""
    said = await ui.call(SQL, query=query)
    lines = said.splitlines()
    if len(lines) < 3:
        raise OracleStuck(f"no row: {said}")
    return lines[1].split(" | ")


QUERYING: tuple[type[QueryingTask], ...] = (TrainAlarm, TotalNote, BestCustomer, NotedCustomer)
