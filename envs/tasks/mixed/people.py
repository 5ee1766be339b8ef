"""Names, towns, trades and numbers that the suite draws from. No town, trade, name or number is in two splits."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import Pool
from rlfactory.envs.tasks.phone.pools import FIRST_NAMES, LAST_NAMES, Person, number

TOWNS: Pool[str] = {
    "train": ("Ostby", "Vellin", "Marrow Bay", "Kestrel", "Dunholm", "Tarnfield"),
    "validation": ("Loxley Cove", "Brackwater", "Sundry"),
    "test": ("Hollin", "Peverel", "Wick End", "Orsa"),
}
TRADES: Pool[str] = {
    "train": ("dentist", "plumber", "optician", "locksmith", "baker"),
    "validation": ("vet", "florist", "tailor"),
    "test": ("watchmaker", "carpenter", "bookbinder", "barber"),
}


def citizens(rng: random.Random, split: Split, count: int, *, but: Collection[str] = ()) -> tuple[Person, ...]:
    """Draw people with different full names and numbers, none of whom is called as one of `but`."""
    names = [
        pair for pair in itertools.product(FIRST_NAMES[split], LAST_NAMES[split]) if f"{pair[0]} {pair[1]}" not in but
    ]
    drawn = rng.sample(names, count)
    return tuple(
        Person(first=first, last=last, number=each)
        for (first, last), each in zip(drawn, numbers(rng, split), strict=False)
    )


def numbers(rng: random.Random, split: Split) -> Iterator[str]:
    """Yield phone numbers that were not yielded before."""
    seen: set[str] = set()
    while True:
        drawn = number(rng, split)
        if drawn not in seen:
            seen.add(drawn)
            yield drawn
