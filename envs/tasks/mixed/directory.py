"""A made directory: in each town of each split one person of each trade, and passages that tell of them.

The passage on a town says who has which trade; the passage on a person says number, address and hours, but neither
town nor trade. So a question about "the dentist of Ostby" takes two searches.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.mixed.people import TOWNS, TRADES, citizens, numbers
from rlfactory.envs.tasks.phone.pools import MINUTES, Person
from rlfactory.envs.tasks.phone.times import Time
from rlfactory.envs.tasks.search_qa.question import SEARCH, Corpus, read_documents
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver
from rlfactory.envs.tools.search.passages import Passage

SEED: Final = "mixed directory 1"
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")
STREETS: Final = ("Mill Lane", "Harbour Street", "Bell Yard", "Orchard Road", "Station Square", "Weaver Row")
NUMBERS: Final = (
    "{name} answers at {number}; the number {old} is no longer in use.",
    "Until {year} one dialled {old} for {name}; now it is {number}.",
)
HOURS: Final = (
    "The door of {name} at {address} opens at {opens} and closes at {closes}.",
    "{name} stays at {address} until {closes}, and first answers the bell at {opens}.",
)
TRADE: Final = ("The {trade} is {name}.", "{name} is the {trade}.")
_NUMBER: Final = re.compile(r"(?:answers at|now it is) (\d{3}-\d{3}-\d{4})")
_OPENS: Final = re.compile(r"(?:opens|answers the bell) at (\d\d:\d\d)")
_ADDRESS: Final = re.compile(r" at ([A-Z][^.;,]+?) (?:opens|until) ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One person of the directory."""

    person: Person
    old_number: str
    trade: str
    town: str
    address: str
    """As "Mill Lane 14"."""
    opens: Time
    closes: Time
    wording: int
    """Which of the wordings tell of this person."""

    @property
    def passage(self) -> Passage:
        name = self.person.full_name
        facts = {"name": name, "number": self.person.number, "old": self.old_number, "year": 2021}
        told = NUMBERS[self.wording].format(**facts)
        hours = HOURS[self.wording].format(name=name, address=self.address, opens=self.opens, closes=self.closes)
        text = f"{told} {hours}" if self.wording else f"{hours} {told}"
        return Passage(id=f"person/{name}", title=name, text=text)


class Directory:
    """All entries, by split; the same on every machine."""

    def __init__(self, rng: random.Random) -> None:
        self.entries: Mapping[Split, Sequence[Entry]] = {split: _entries(rng, split) for split in SPLITS}
        self._towns = {
            town: (rng.randrange(2_000, 60_000), [rng.randrange(2) for _ in TRADES[split]])
            for split in SPLITS
            for town in TOWNS[split]
        }

    def of(self, split: Split, *, trade: str, town: str) -> Entry:
        """Return who has a trade in a town."""
        return next(each for each in self.entries[split] if (each.trade, each.town) == (trade, town))

    def passages(self) -> list[Passage]:
        """Return one passage for each town and each person."""
        towns = [self._town(town, split) for split in SPLITS for town in TOWNS[split]]
        return towns + [entry.passage for entries in self.entries.values() for entry in entries]

    def _town(self, town: str, split: Split) -> Passage:
        inhabitants, wordings = self._towns[town]
        people = [each for each in self.entries[split] if each.town == town]
        told = (
            TRADE[wording].format(trade=each.trade, name=each.person.full_name)
            for wording, each in zip(wordings, people, strict=True)
        )
        return Passage(id=f"town/{town}", title=town, text=f"{town} has {inhabitants} inhabitants. {' '.join(told)}")


@lru_cache(maxsize=1)
def made_directory() -> Directory:
    """Return the directory, made on first use."""
    return Directory(random.Random(SEED))


class DirectoryIndex(Corpus):
    """Of the directory."""

    @staticmethod
    def passages() -> list[Passage]:
        return made_directory().passages()


def _entries(rng: random.Random, split: Split) -> list[Entry]:
    places = [(trade, town) for town in TOWNS[split] for trade in TRADES[split]]
    unused = numbers(rng, split)
    entries = []
    for (trade, town), person in zip(places, citizens(rng, split, len(places)), strict=True):
        minutes = MINUTES[split]
        entries.append(
            Entry(
                person=Person(first=person.first, last=person.last, number=next(unused)),
                old_number=next(unused),
                trade=trade,
                town=town,
                address=f"{rng.choice(STREETS)} {rng.randrange(1, 90)}",
                opens=Time(rng.randrange(6, 11), rng.choice(minutes)),
                closes=Time(rng.randrange(15, 21), rng.choice(minutes)),
                wording=rng.randrange(2),
            )
        )
    return entries


# --- how an oracle reads it -------------------------------------------------------------------------------------------


async def name_of_trade(ui: UiDriver, trade: str, town: str) -> str:
    """Search for a town and return who has this trade there. Raises: OracleStuck."""
    text = await look_up(ui, town)
    found = re.search(rf"The {trade} is ([^.]+)\.|(?:^|\. )([^.]+) is the {trade}\.", text)
    if found is None:
        raise OracleStuck(f"no {trade} in what is told of {town}: {text}")
    return found[1] or found[2]


async def town_of(ui: UiDriver, name: str, trade: str) -> str:
    """Search for a person and return the town whose passage names them. Raises: OracleStuck."""
    for title, text in read_documents(await ui.call(SEARCH, query=town_query(name, trade))):
        if title != name and re.search(rf"\b{name}\b", text):
            return title
    raise OracleStuck(f"no town names {name}")


def town_query(name: str, trade: str) -> str:
    return f"{name} {trade} town inhabitants"


async def number_of(ui: UiDriver, name: str) -> str:
    return _read(_NUMBER, await look_up(ui, name))


async def opening_of(ui: UiDriver, name: str) -> Time:
    return Time.parse(_read(_OPENS, await look_up(ui, name)))


async def address_of(ui: UiDriver, name: str) -> str:
    return _read(_ADDRESS, await look_up(ui, name))


async def look_up(ui: UiDriver, title: str) -> str:
    """Search for a title and return its passage. Raises: OracleStuck: the search does not show it."""
    said = await ui.call(SEARCH, query=title)
    for found, text in read_documents(said):
        if found == title:
            return text
    raise OracleStuck(f"no {title} in what the search says: {said}")


def _read(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        raise OracleStuck(f"{text!r} does not tell what is looked for")
    return found[1]
