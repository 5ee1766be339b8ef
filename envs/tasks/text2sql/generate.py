"""Databases of a world, drawn from a seed: one for the agent to query, and others with the same schema for the verdict.

They have what tells a right query from a lucky one: missing values, makers without things, things without events, equal
numbers, and names that are alike. Those that are pointed at one query hold little else than the values it compares with
and their neighbours, so that a query with another bound, or without one of the conditions, gives other rows there.
"""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Iterator, Sequence
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


def pointed(domain: Domain, query: str, seed: str) -> SqliteBytes:
    """Return a database pointed at a query; the same for the same seed, on every machine."""
    rng = random.Random(f"{domain.name}/pointed/{seed}")
    return filled(domain.ddl, _pointed_rows(domain, query, rng))


def _pointed_rows(domain: Domain, query: str, rng: random.Random) -> Iterator[tuple[str, tuple[object, ...]]]:
    low, high = domain.numbers
    bounds = [int(number) for number in re.findall(r"(?<![\w'.-])\d+(?![\w'.-])", query)] or [rng.randint(low, high)]
    compared = max(bounds)
    numbers = sorted({low, high, *(compared + step for step in (-1, 0, 1))} & set(range(low, high + 1)))
    amounts = [float(value) for value in (compared - 1, compared, compared, compared + 1, compared // 2, 1)]
    kinds, places = (_with_named(rng, pool, query) for pool in (domain.kinds, domain.places))
    names = rng.sample(domain.makers, min(len(domain.makers), 5))
    homes = (places[0], *(_or_null(rng, rng.choice(places), 0.3) for _ in names[1:]))
    yield from ((domain.maker.table, (n, *row)) for n, row in enumerate(zip(names, homes, strict=True), 1))
    unnamed = [each for each in domain.kinds if f"'{each}'" not in query]
    busy = [1, *rng.sample(range(2, len(names) + 1), 2)]
    titles = rng.sample(domain.things, rng.randint(len(domain.things) * 2 // 3, len(domain.things)))
    of_maker = [*busy, *(rng.choice(busy) for _ in titles[3:])]
    yield from (
        (
            domain.thing.table,
            (n, maker, title, rng.choice(unnamed if maker == busy[1] else kinds), rng.choice(numbers or [low, high])),
        )
        for n, (maker, title) in enumerate(zip(of_maker, titles, strict=True), 1)
    )
    days = [
        f"{year}-{day}" for year in (2022, 2023, 2024, 2025) for day in ("01-01", "01-02", "06-15", "12-30", "12-31")
    ]
    events: list[tuple[int, str, object]]
    if rng.random() < 0.4:  # one event a maker, so that totals hit the bound and each other
        worth = rng.sample([float(compared), compared + 1.0, compared + 1.0], 3)
        events = [(thing, rng.choice(days), amount) for thing, amount in enumerate(worth, 1)]
    else:
        days = rng.sample(days, rng.choice((4, 20)))
        used = [1, *rng.sample(range(2, len(titles) + 1), rng.randint(2, len(titles) // 2))]
        missing = rng.choice((0.1, 0.2, 0.4))
        events = [
            (rng.choice(used), rng.choice(days), _or_null(rng, rng.choice(amounts), missing))
            for _ in range(rng.choice((8, 16, 32)))
        ]
        events += events[:6]
    yield from ((domain.event.table, (n, *event)) for n, event in enumerate(events, 1))


def _with_named(rng: random.Random, pool: Sequence[str], query: str) -> Sequence[str]:
    """Return what a query names of a pool, and as much of the rest."""
    named = [each for each in pool if f"'{each}'" in query]
    rest = [each for each in pool if each not in named]
    return [*named, *rng.sample(rest, rng.randint(min(len(rest), 1), len(rest)))]


def _amount(rng: random.Random) -> float:
    return rng.randrange(100, 20_000) / 100


def _or_null(rng: random.Random, value: object, share: float = MISSING) -> object:
    return None if rng.random() < share else value
