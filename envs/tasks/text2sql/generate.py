"""Databases of a world, drawn from a seed: one for the agent to query, and others with the same schema for the verdict.

They have what tells a right query from a lucky one: missing values, makers without things, things without events, equal
numbers, and names that are alike.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from typing import Final

from rlfactory.envs.tasks.table import filled
from rlfactory.envs.tasks.text2sql.domains import Domain
from rlfactory.envs.tools.sql.database import SqliteBytes

FIRST_DAY: Final = datetime.date(2023, 1, 1)
DAYS: Final = 730
MISSING: Final = 0.1
"""Share of places and amounts that are NULL."""


def database(domain: Domain, seed: str) -> SqliteBytes:
    """Return one database; the same for the same seed, on every machine."""
    rng = random.Random(f"{domain.name}/{seed}")
    return filled(domain.ddl, _rows(domain, rng))


def _rows(domain: Domain, rng: random.Random) -> Iterator[tuple[str, tuple[object, ...]]]:
    makers = rng.sample(domain.makers, rng.randint(len(domain.makers) - 1, len(domain.makers)))
    rows = [(n, name, _or_null(rng, rng.choice(domain.places))) for n, name in enumerate(makers, 1)]
    yield from ((domain.maker.table, row) for row in rows)
    busy = [number for number, _, _ in rows][: max(2, len(rows) - rng.randint(1, 2))]
    names = rng.sample(domain.things, rng.randint(len(domain.things) - 2, len(domain.things)))
    low, high = domain.numbers
    repeated = rng.randint(low, high)
    things = [
        (n, rng.choice(busy), name, rng.choice(domain.kinds), repeated if n % 5 == 0 else rng.randint(low, high))
        for n, name in enumerate(names, 1)
    ]
    yield from ((domain.thing.table, row) for row in things)
    used = [number for number, *_ in things][: max(3, len(things) - rng.randint(1, 3))]
    events = [
        (
            n,
            rng.choice(used),
            str(FIRST_DAY + datetime.timedelta(days=rng.randrange(DAYS))),
            _or_null(rng, _amount(rng)),
        )
        for n in range(1, rng.randint(28, 44))
    ]
    yield from ((domain.event.table, row) for row in events)


def _amount(rng: random.Random) -> float:
    return rng.randrange(100, 20_000) / 100


def _or_null(rng: random.Random, value: object) -> object:
    return None if rng.random() < MISSING else value
