"""What the parameters of the phone suite are drawn from. No value is in the pools of two splits."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import Pool, pick
from rlfactory.envs.tasks.phone.look import Look
from rlfactory.envs.tasks.table import frozen, read_table

T = TypeVar("T")

POOLS: Mapping[str, Any] = frozen(read_table(__file__, "pools.yaml"))
"""Each is a `Pool`, by name."""
FIRST_NAMES: Pool[str] = POOLS["first_names"]
LAST_NAMES: Pool[str] = POOLS["last_names"]
AREA_CODES: Pool[str] = POOLS["area_codes"]
ALARM_LABELS: Pool[str] = POOLS["alarm_labels"]
NOTE_NAMES: Pool[str] = POOLS["note_names"]
NOTE_TEXTS: Pool[str] = POOLS["note_texts"]
FOLDERS: Pool[str] = POOLS["folders"]
FILE_STEMS: Pool[str] = POOLS["file_stems"]
FILE_TYPES = ("pdf", "txt", "csv")
DEVICE_NAMES: Pool[str] = POOLS["device_names"]
OTHER_FIRST_NAMES = ("Aaron", "Abel", "Ada", "Agnes", "Alba", "Celia", "Edith", "Ismael", "Oskar", "Sven", "Zoe")
OTHER_LAST_NAMES = ("Aalto", "Cerny", "Egan", "Grimm", "Iyer", "Keller", "Olsen", "Ruiz", "Stein", "Unger", "Zeman")
"""Of contacts that no goal names."""
YEARS = range(2014, 2024)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MINUTES: Pool[int] = POOLS["minutes"]
"""Of times of day."""


def pool_of(name: str, make: Callable[..., T]) -> Pool[T]:
    """Return a pool whose values are made of the rows of a table."""
    return {split: tuple(make(*row) for row in rows) for split, rows in POOLS[name].items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """A contact: names and a phone number."""

    first: str
    last: str
    number: str
    """As "415-555-0132"."""

    @property
    def full_name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def digits(self) -> str:
        return digits_of(self.number)

    def renumbered(self, rng: random.Random) -> Person:
        """Return the same person with another number of the same area."""
        return replace(self, number=f"{self.number[:3]}-555-{rng.randrange(10_000):04d}")

    def renamed(self, rng: random.Random, *, beside: Sequence[Person]) -> Person:
        """Return another person with this number: of the same split, and with a first name that nobody `beside` has."""
        split: Split = next(split for split, names in FIRST_NAMES.items() if self.first in names)
        taken = {person.first for person in beside}
        first = rng.choice([name for name in FIRST_NAMES[split] if name not in taken])
        return replace(self, first=first, last=pick(rng, LAST_NAMES, split))

    @property
    def spellings(self) -> tuple[str, ...]:
        """Return the ways in which the number may be written down."""
        area, exchange, line = self.number.split("-")
        return self.number, self.digits, f"({area}) {exchange}-{line}", f"{area} {exchange} {line}"


def digits_of(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def number(rng: random.Random, split: Split) -> str:
    return f"{pick(rng, AREA_CODES, split)}-555-{rng.randrange(10_000):04d}"


def draw_folder(rng: random.Random, split: Split) -> str:
    """Draw a folder's name, as "Receipts 2019"."""
    return f"{pick(rng, FOLDERS, split)} {rng.choice(YEARS)}"


def people(rng: random.Random, split: Split, count: int) -> tuple[Person, ...]:
    """Draw people no two of whom share a first name, a last name or a number."""
    firsts = rng.sample(FIRST_NAMES[split], count)
    lasts = rng.sample(LAST_NAMES[split], count)
    numbers: dict[str, None] = {}
    while len(numbers) < count:
        numbers[number(rng, split)] = None
    return tuple(Person(first=f, last=s, number=n) for f, s, n in zip(firsts, lasts, numbers, strict=True))


def strangers(look: Look) -> tuple[Person, ...]:
    """Return those who are contacts in this world and that no goal names."""
    rng = random.Random(look.chance)
    every = [(first, last) for first in OTHER_FIRST_NAMES for last in OTHER_LAST_NAMES]
    return tuple(
        Person(first=first, last=last, number=f"646-555-{rng.randrange(10_000):04d}")
        for first, last in rng.sample(every, look.beside)
    )
