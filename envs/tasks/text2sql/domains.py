"""Worlds that the suite's databases are about. All have one shape, and no word of one world is in another.

A *maker* has *things*; an *event* is about one thing, on a day, with an amount. Train, validation and test worlds
differ, so a query learned by heart is of no use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.table import frozen, read_table


@dataclass(frozen=True, slots=True)
class Noun:
    """A table and what people call its rows."""

    table: str
    one: str
    many: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    """One world: its tables, their columns, and words to fill them with."""

    name: str
    maker: Noun
    maker_place: str
    """Column of the maker: where it is at home."""
    thing: Noun
    thing_kind: str
    """Column of the thing: a category."""
    thing_number: str
    """Column of the thing: a whole number."""
    number_words: str
    """What people call that number: "the number of pages"."""
    event: Noun
    event_amount: str
    """Column of the event: a number with cents."""
    amount_words: str
    makers: Sequence[str]
    places: Sequence[str]
    things: Sequence[str]
    kinds: Sequence[str]
    numbers: tuple[int, int]
    """Least and most."""

    @property
    def maker_key(self) -> str:
        return f"{self.maker.table}_id"

    @property
    def thing_key(self) -> str:
        return f"{self.thing.table}_id"

    @property
    def ddl(self) -> str:
        """The schema as the agent is shown it."""
        return f"""\
CREATE TABLE {self.maker.table} (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  {self.maker_place} TEXT
);
CREATE TABLE {self.thing.table} (
  id INTEGER PRIMARY KEY,
  {self.maker_key} INTEGER NOT NULL REFERENCES {self.maker.table}(id),
  name TEXT NOT NULL,
  {self.thing_kind} TEXT NOT NULL,
  {self.thing_number} INTEGER NOT NULL
);
CREATE TABLE {self.event.table} (
  id INTEGER PRIMARY KEY,
  {self.thing_key} INTEGER NOT NULL REFERENCES {self.thing.table}(id),
  day TEXT NOT NULL, -- YYYY-MM-DD
  {self.event_amount} REAL
);"""


def _domain(row: dict[str, Any]) -> Domain:
    return Domain(**{**row, **{noun: Noun(*row[noun]) for noun in ("maker", "thing", "event")}})


DOMAINS: Mapping[Split, Sequence[Domain]] = {
    split: tuple(map(_domain, rows)) for split, rows in frozen(read_table(__file__, "domains.yaml")).items()
}
