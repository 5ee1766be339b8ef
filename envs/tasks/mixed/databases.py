"""Databases that the suite queries, each drawn so that an answer which overlooks a condition is another one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.mixed.people import TOWNS, citizens
from rlfactory.envs.tasks.phone.base import Pool, pick
from rlfactory.envs.tasks.phone.pools import MINUTES, Person
from rlfactory.envs.tasks.phone.times import Time
from rlfactory.envs.tasks.table import filled
from rlfactory.envs.tools.sql.database import SqliteBytes

YEAR: Final = 2023
"""The year of the phone's clock."""
CATEGORIES: Pool[str] = {
    "train": ("groceries", "fuel", "books", "repairs", "gifts"),
    "validation": ("medicine", "concerts", "tools"),
    "test": ("taxi", "stamps", "paint", "swimming"),
}
MONTHS: Pool[int] = {"train": (1, 2, 3, 4, 5), "validation": (6, 7), "test": (8, 9)}
MONTH_NAMES: Final = ("", *("January", "February", "March", "April", "May", "June", "July", "August", "September"))


@dataclass(frozen=True)
class Table:
    """A database of one schema; its bytes are made when they are asked for."""

    ddl: str
    rows: tuple[tuple[str, tuple[object, ...]], ...]
    """(table, values) each."""

    @cached_property
    def database(self) -> SqliteBytes:
        return filled(self.ddl, self.rows)


# --- a timetable ------------------------------------------------------------------------------------------------------

TIMETABLE: Final = """\
CREATE TABLE train (
  number INTEGER PRIMARY KEY,
  origin TEXT NOT NULL,
  destination TEXT NOT NULL,
  leaves TEXT NOT NULL, -- HH:MM
  runs TEXT NOT NULL -- 'daily', 'weekdays' or 'weekends'
);"""


@dataclass(frozen=True, kw_only=True)
class Ride:
    """Who wants to go where, when, and which train that is."""

    origin: str
    destination: str
    after: Time
    leaves: Time
    """Of the first train after that on a weekday."""
    weekend: Time
    """Of an earlier one, which does not run then."""
    timetable: Table


def draw_ride(rng: random.Random, split: Split, *, destination: str = "") -> Ride:
    """Draw a timetable, and a ride that it has one right train for."""
    destination = destination or pick(rng, TOWNS, split)
    origin = rng.choice([town for town in TOWNS[split] if town != destination])
    after = Time(rng.randrange(6, 18), rng.choice((0, 15, 30)))
    leaves = Time(after.hour + 2, rng.choice(MINUTES[split]))
    weekend = Time(after.hour + 1, rng.choice(MINUTES[split]))
    trains = [
        (origin, destination, leaves, rng.choice(("daily", "weekdays"))),
        (origin, destination, weekend, "weekends"),
        (origin, destination, Time(after.hour - 1, rng.choice(MINUTES[split])), "daily"),
        (origin, destination, Time(leaves.hour + 1, rng.choice(MINUTES[split])), "weekdays"),
        (origin, destination, Time(leaves.hour + 2, rng.choice(MINUTES[split])), "daily"),
        (destination, origin, Time(after.hour + 1, 5), "daily"),
    ]
    towns = [town for town in TOWNS[split] if town not in (origin, destination)]
    for _ in range(12):
        other = rng.choice(towns)
        ends = rng.choice([(other, destination), (destination, other), (origin, other), (other, origin)])
        time = Time(rng.randrange(5, 23), rng.choice(MINUTES[split]))
        trains.append((*ends, time, rng.choice(("daily", "weekdays", "weekends"))))
    rng.shuffle(trains)
    rows = [
        ("train", (number, start, end, time.text, runs))
        for number, (start, end, time, runs) in zip(rng.sample(range(100, 1_000), len(trains)), trains, strict=True)
    ]
    return Ride(
        origin=origin,
        destination=destination,
        after=after,
        leaves=leaves,
        weekend=weekend,
        timetable=Table(TIMETABLE, tuple(rows)),
    )


# --- expenses ---------------------------------------------------------------------------------------------------------

EXPENSES: Final = """\
CREATE TABLE expense (
  id INTEGER PRIMARY KEY,
  day TEXT NOT NULL, -- YYYY-MM-DD
  category TEXT NOT NULL,
  amount REAL NOT NULL,
  refunded INTEGER NOT NULL -- 1 if the money came back
);"""


@dataclass(frozen=True, kw_only=True)
class Spending:
    """A category and a month, and what was spent."""

    category: str
    month: int
    total: str
    """As "120.50", without what was refunded."""
    with_refunds: str
    """What one says who overlooks that."""
    expenses: Table

    @property
    def month_name(self) -> str:
        return MONTH_NAMES[self.month]

    @property
    def period(self) -> str:
        """How a day of that month begins."""
        return f"{YEAR}-{self.month:02d}"


def draw_spending(rng: random.Random, split: Split) -> Spending:
    category, month = pick(rng, CATEGORIES, split), pick(rng, MONTHS, split)
    kept = [rng.randrange(200, 15_000) for _ in range(rng.randint(2, 4))]
    refunded = [rng.randrange(200, 15_000) for _ in range(rng.randint(1, 2))]
    lines = [(YEAR, month, category, cents, 0) for cents in kept]
    lines += [(YEAR, month, category, cents, 1) for cents in refunded]
    lines.append((YEAR - 1, month, category, rng.randrange(200, 15_000), 0))
    lines.append((YEAR, month + 1, category, rng.randrange(200, 15_000), 0))
    others = [each for each in CATEGORIES[split] if each != category]
    for _ in range(15):
        lines.append((YEAR, rng.randint(1, 10), rng.choice(others), rng.randrange(200, 15_000), rng.randrange(2)))
    rng.shuffle(lines)
    rows = [
        ("expense", (number, f"{year}-{each:02d}-{rng.randint(1, 28):02d}", kind, cents / 100, back))
        for number, (year, each, kind, cents, back) in enumerate(lines, start=1)
    ]
    return Spending(
        category=category,
        month=month,
        total=f"{sum(kept) / 100:.2f}",
        with_refunds=f"{sum(kept + refunded) / 100:.2f}",
        expenses=Table(EXPENSES, tuple(rows)),
    )


# --- customers --------------------------------------------------------------------------------------------------------

CUSTOMERS: Final = """\
CREATE TABLE customer (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  town TEXT NOT NULL,
  phone TEXT NOT NULL
);
CREATE TABLE purchase (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customer(id),
  day TEXT NOT NULL, -- YYYY-MM-DD
  amount REAL NOT NULL
);"""
BEST, BEST_EVER, BIGGEST = 0, 1, 2
"""The customer of most in the year; of most in all years; of the largest single purchase."""
TWINS: Final = (3, 4)
"""Two customers of one name, in different towns."""


@dataclass(frozen=True, kw_only=True)
class Clientele:
    """Customers, by number; some have a part to play (`BEST` to `TWINS`)."""

    people: tuple[Person, ...]
    towns: tuple[str, ...]
    customers: Table

    @property
    def names(self) -> Sequence[str]:
        return [person.full_name for person in self.people]


def draw_clientele(rng: random.Random, split: Split) -> Clientele:
    drawn = list(citizens(rng, split, 8))
    one, other = TWINS
    drawn[other] = Person(first=drawn[one].first, last=drawn[one].last, number=drawn[other].number)
    towns = [pick(rng, TOWNS, split) for _ in drawn]
    towns[one], towns[other] = rng.sample(TOWNS[split], 2)
    amounts: list[tuple[int, int, float]] = [(BEST, YEAR, 90 + rng.randrange(30)) for _ in range(4)]
    amounts += [(BEST_EVER, YEAR - 1, 200 + rng.randrange(30)) for _ in range(4)]
    amounts += [(BIGGEST, YEAR, 280 + rng.randrange(40))]
    for customer in range(BEST_EVER, len(drawn)):
        amounts += [(customer, YEAR, rng.randrange(100, 2_000) / 100) for _ in range(rng.randint(1, 2))]
    rng.shuffle(amounts)
    ids = rng.sample(range(1, 100), len(drawn))
    rows: list[tuple[str, tuple[object, ...]]] = sorted(
        ("customer", (number, who.full_name, town, who.number))
        for number, who, town in zip(ids, drawn, towns, strict=True)
    )
    rows += [
        ("purchase", (number, ids[who], f"{year}-{rng.randint(1, 9):02d}-{rng.randint(1, 28):02d}", amount))
        for number, (who, year, amount) in enumerate(amounts, start=1)
    ]
    return Clientele(people=tuple(drawn), towns=tuple(towns), customers=Table(CUSTOMERS, tuple(rows)))
