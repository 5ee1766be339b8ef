"""Problems with one whole number for an answer, found here in one way and by the oracle's code in another.

Each takes a `Draw`, whose numbers differ between splits by their remainder modulo 3: no number of a train problem is in
a test problem.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rlfactory.envs.api.types import Split

REMAINDERS: Mapping[Split, int] = {"train": 0, "validation": 1, "test": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What is asked, what is right, and code that prints it."""

    text: str
    answer: int
    code: str


@dataclass(frozen=True, slots=True)
class Draw:
    """Numbers of one split."""

    rng: random.Random
    split: Split

    def number(self, low: int, high: int) -> int:
        """Return a number from low to high, up to 2 above, that belongs to the split."""
        value = self.rng.randint(low, high)
        return value + (REMAINDERS[self.split] - value) % 3


Maker = Callable[[Draw], Problem]


# --- counting --------------------------------------------------------------------------------------------------------


def primes_with_last_digit(draw: Draw) -> Problem:
    limit, digit = draw.number(20_000, 60_000), draw.rng.choice((1, 3, 7, 9))
    sieve = bytearray([1]) * (limit + 1)
    for factor in range(2, math.isqrt(limit) + 1):
        if sieve[factor]:
            sieve[factor * factor :: factor] = bytes(len(range(factor * factor, limit + 1, factor)))
    return Problem(
        text=f"What is the sum of all prime numbers up to and including {limit} whose last digit is {digit}?",
        answer=sum(n for n in range(2, limit + 1) if sieve[n] and n % 10 == digit),
        code=(
            "def prime(n):\n    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))\n"
            f"sum(n for n in range({digit}, {limit} + 1, 10) if prime(n))"
        ),
    )


def multiples_without(draw: Draw) -> Problem:
    limit, wanted, unwanted = draw.number(10_000, 90_000), draw.rng.randint(3, 9), draw.rng.randint(10, 17)
    both = math.lcm(wanted, unwanted)
    return Problem(
        text=f"How many whole numbers from 1 to {limit} are divisible by {wanted} but not by {unwanted}?",
        answer=limit // wanted - limit // both,
        code=f"sum(1 for n in range(1, {limit} + 1) if n % {wanted} == 0 and n % {unwanted})",
    )


def digit_sums(draw: Draw) -> Problem:
    digits, total = draw.rng.randint(4, 5), draw.number(10, 26)
    ways = [1] + [0] * total
    for _ in range(digits):
        ways = [sum(ways[max(0, n - 9) : n + 1]) for n in range(total + 1)]
    return Problem(
        text=f"How many whole numbers from 0 to {10**digits - 1} have digits that add up to {total}?",
        answer=ways[total],
        code=f"sum(1 for n in range(10 ** {digits}) if sum(map(int, str(n))) == {total})",
    )


def fridays(draw: Draw) -> Problem:
    first = draw.number(1910, 1990)
    last = first + draw.number(12, 60)
    months = [(year, month) for year in range(first, last + 1) for month in range(1, 13)]
    return Problem(
        text=f"How often is the 13th of a month a Friday in the years {first} to {last}, both included?",
        answer=sum(datetime.date(year, month, 13).weekday() == 4 for year, month in months),
        code=(
            "import calendar\n"
            f"days = [calendar.weekday(y, m, 13) for y in range({first}, {last} + 1) for m in range(1, 13)]\n"
            "days.count(calendar.FRIDAY)"
        ),
    )


# --- simulating ------------------------------------------------------------------------------------------------------


def recurrence(draw: Draw) -> Problem:
    p, q, modulus, index = (
        draw.rng.randint(2, 9),
        draw.rng.randint(2, 9),
        draw.number(10_007, 90_007),
        draw.number(300, 5_000),
    )
    before, now = 0, 1
    for _ in range(index - 1):
        before, now = now, (p * now + q * before) % modulus
    return Problem(
        text=(
            f"Let f(0) = 0, f(1) = 1 and f(n) = ({p} * f(n-1) + {q} * f(n-2)) mod {modulus} for n > 1. "
            f"What is f({index})?"
        ),
        answer=now,
        code=(
            "values = [0, 1]\n"
            f"while len(values) <= {index}:\n    values.append(({p} * values[-1] + {q} * values[-2]) % {modulus})\n"
            f"values[{index}]"
        ),
    )


def longest_collatz(draw: Draw) -> Problem:
    limit = draw.number(2_000, 12_000)
    known = {1: 0}
    for start in range(2, limit + 1):
        path, n = [], start
        while n not in known:
            path.append(n)
            n = n // 2 if n % 2 == 0 else 3 * n + 1
        for steps, each in enumerate(reversed(path), known[n] + 1):
            known[each] = steps
    return Problem(
        text=(
            "From a whole number n go to n / 2 if it is even, else to 3n + 1, until 1 is reached. "
            f"Which start from 1 to {limit} takes most steps? If several do, give the smallest."
        ),
        answer=max(range(1, limit + 1), key=lambda n: (known[n], -n)),
        code=(
            "def steps(n):\n    count = 0\n    while n != 1:\n        n = n // 2 if n % 2 == 0 else 3 * n + 1\n"
            f"        count += 1\n    return count\nmax(range(1, {limit} + 1), key=steps)"
        ),
    )


def grid_paths(draw: Draw) -> Problem:
    width, height = draw.number(6, 12), draw.number(6, 12)
    cells = [(x, y) for x in range(width) for y in range(height) if 0 < x + y < width + height - 2]
    blocked = sorted(draw.rng.sample(cells, 5))
    ways = {(0, 0): 1}
    for x in range(width):
        for y in range(height):
            if (x, y) != (0, 0):
                ways[x, y] = 0 if (x, y) in blocked else ways.get((x - 1, y), 0) + ways.get((x, y - 1), 0)
    return Problem(
        text=(
            f"A grid has columns 0 to {width - 1} and rows 0 to {height - 1}. A path goes from (0, 0) to "
            f"({width - 1}, {height - 1}) by steps of one column right or one row up, never through the (column, row) "
            f"cells {', '.join(map(str, blocked))}. How many paths are there?"
        ),
        answer=ways[width - 1, height - 1],
        code=(
            f"from functools import cache\nblocked = {blocked}\n@cache\ndef paths(x, y):\n"
            "    if x < 0 or y < 0 or (x, y) in blocked:\n        return 0\n"
            "    return 1 if (x, y) == (0, 0) else paths(x - 1, y) + paths(x, y - 1)\n"
            f"paths({width - 1}, {height - 1})"
        ),
    )


def coins(draw: Draw) -> Problem:
    values = sorted(draw.rng.sample((1, 2, 3, 5, 7, 10, 20, 25, 50), 4))
    amount = draw.number(60, 240)
    ways = [1] + [0] * amount
    for value in values:
        for n in range(value, amount + 1):
            ways[n] += ways[n - value]
    a, b, c, d = values
    return Problem(
        text=(
            f"There are coins of {', '.join(map(str, values))} cents, as many as needed of each. In how many ways can "
            f"{amount} cents be paid, if the order of coins does not matter?"
        ),
        answer=ways[amount],
        code=(
            f"n = {amount}\nsum((n - {d}*i - {c}*j - {b}*k) % {a} == 0 for i in range(n // {d} + 1) "
            f"for j in range((n - {d}*i) // {c} + 1) for k in range((n - {d}*i - {c}*j) // {b} + 1))"
        ),
    )


# --- tabulating ------------------------------------------------------------------------------------------------------

PLACES: Mapping[Split, Sequence[str]] = {
    "train": ("North", "South", "East", "West"),
    "validation": ("Hill", "Lake", "Moor"),
    "test": ("Dock", "Mill", "Gate", "Park", "Quay"),
}


def _table(draw: Draw) -> tuple[list[tuple[str, str, int, int]], str]:
    start = datetime.date(2024, 1, 1)
    rows = [
        (
            str(start + datetime.timedelta(days=draw.rng.randrange(366))),
            draw.rng.choice(PLACES[draw.split]),
            draw.number(1, 40),
            draw.number(100, 2_500),
        )
        for _ in range(draw.rng.randint(30, 45))
    ]
    return rows, "\n".join(["date,place,units,cents", *(",".join(map(str, row)) for row in rows)])


def table_total(draw: Draw) -> Problem:
    rows, text = _table(draw)
    place, month = draw.rng.choice(PLACES[draw.split]), draw.rng.randint(1, 9)
    until = f"2024-{month + 3:02}"
    return Problem(
        text=(
            f"What is the total of units times cents over all rows with place {place} and a date before {until}-01?\n\n"
            f"{text}"
        ),
        answer=sum(units * cents for day, where, units, cents in rows if where == place and day < until),
        code=(
            f"import csv, io\ntext = {text!r}\ntotal = 0\nfor row in csv.DictReader(io.StringIO(text)):\n"
            f"    if row['place'] == {place!r} and row['date'] < '{until}-01':\n"
            "        total += int(row['units']) * int(row['cents'])\ntotal"
        ),
    )


def table_best_day(draw: Draw) -> Problem:
    rows, text = _table(draw)
    totals: dict[int, int] = {}
    for day, _, units, _ in rows:
        month = int(day[5:7])
        totals[month] = totals.get(month, 0) + units
    return Problem(
        text=(
            "In which month (1 to 12) is the total of units highest? If several months are equal, give the earliest."
            f"\n\n{text}"
        ),
        answer=min(totals, key=lambda month: (-totals[month], month)),
        code=(
            f"from collections import Counter\ntext = {text!r}\ncount = Counter()\n"
            "for line in text.splitlines()[1:]:\n    date, place, units, cents = line.split(',')\n"
            "    count[int(date.split('-')[1])] += int(units)\n"
            "[month for month in range(1, 13) if count[month] == max(count.values())][0]"
        ),
    )


def table_median(draw: Draw) -> Problem:
    rows, text = _table(draw)
    ordered = sorted(cents for *_, cents in rows)
    return Problem(
        text=(
            "What is the lower median of the column cents (of an even number of values, the smaller of the middle two)?"
            f"\n\n{text}"
        ),
        answer=ordered[(len(ordered) - 1) // 2],
        code=(
            f"import statistics\ntext = {text!r}\n"
            "statistics.median_low(int(line.split(',')[3]) for line in text.splitlines()[1:])"
        ),
    )
