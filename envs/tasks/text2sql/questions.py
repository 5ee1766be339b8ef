"""Questions about a world, at four levels, each with the query that answers it.

Where rows could be ordered in two ways, or two rows could be meant, the question says which.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from rlfactory.envs.tasks.text2sql.base import Question
from rlfactory.envs.tasks.text2sql.domains import Domain

Maker = Callable[[random.Random, Domain], Question]


def _threshold(rng: random.Random, domain: Domain) -> int:
    low, high = domain.numbers
    return rng.randint(low + (high - low) // 6, low + (high - low) * 2 // 3)


# --- level 1: one table ----------------------------------------------------------------------------------------------


def of_kind_above(rng: random.Random, d: Domain) -> Question:
    kind, least = rng.choice(d.kinds), _threshold(rng, d)
    return Question(
        text=f"List the names of all {d.thing.many} with {d.thing_kind} '{kind}' and a {d.number_words} above {least}.",
        gold=f"SELECT name FROM {d.thing.table} WHERE {d.thing_kind} = '{kind}' AND {d.thing_number} > {least}",
    )


def of_kinds_or_small(rng: random.Random, d: Domain) -> Question:
    (first, second), most = rng.sample(d.kinds, 2), _threshold(rng, d)
    return Question(
        text=(
            f"Which {d.thing.many} have {d.thing_kind} '{first}' or '{second}', and a {d.number_words} of at most "
            f"{most}? "
            f"Give name and {d.thing_kind}."
        ),
        gold=(
            f"SELECT name, {d.thing_kind} FROM {d.thing.table} "
            f"WHERE {d.thing_kind} IN ('{first}', '{second}') AND {d.thing_number} <= {most}"
        ),
    )


def elsewhere(rng: random.Random, d: Domain) -> Question:
    place = rng.choice(d.places)
    return Question(
        text=(
            f"Give the names of all {d.maker.many} whose {d.maker_place} is not '{place}'; "
            f"those whose {d.maker_place} is not known count, too."
        ),
        gold=f"SELECT name FROM {d.maker.table} WHERE {d.maker_place} IS NOT '{place}'",
    )


def largest(rng: random.Random, d: Domain) -> Question:
    count = rng.randint(3, 5)
    return Question(
        text=(
            f"Give name and {d.number_words} of the {count} {d.thing.many} with the highest {d.number_words}, highest "
            "first; where they are equal, by name from A to Z."
        ),
        gold=(f"SELECT name, {d.thing_number} FROM {d.thing.table} ORDER BY {d.thing_number} DESC, name LIMIT {count}"),
        ordered=True,
    )


def days_of_events(rng: random.Random, d: Domain) -> Question:
    year, least = rng.choice((2023, 2024)), rng.randint(20, 90)
    return Question(
        text=(
            f"On which days of {year} was there a {d.event.one} with a {d.amount_words} above {least}? "
            "Each day once, earliest first."
        ),
        gold=(
            f"SELECT DISTINCT day FROM {d.event.table} WHERE day LIKE '{year}-%' AND {d.event_amount} > {least} "
            "ORDER BY day"
        ),
        ordered=True,
    )


# --- level 2: groups and totals --------------------------------------------------------------------------------------


def count_by_kind(rng: random.Random, d: Domain) -> Question:
    least = _threshold(rng, d)
    return Question(
        text=(
            f"For each {d.thing_kind}, how many {d.thing.many} have a {d.number_words} above {least}? "
            f"Leave out a {d.thing_kind} without any."
        ),
        gold=(
            f"SELECT {d.thing_kind}, count(*) FROM {d.thing.table} WHERE {d.thing_number} > {least} "
            f"GROUP BY {d.thing_kind}"
        ),
    )


def average_of_common_kinds(rng: random.Random, d: Domain) -> Question:
    least = rng.randint(2, 3)
    return Question(
        text=(
            f"What is the average {d.number_words} for each {d.thing_kind} that has at least {least} {d.thing.many}? "
            f"Give {d.thing_kind} and average."
        ),
        gold=(
            f"SELECT {d.thing_kind}, avg({d.thing_number}) FROM {d.thing.table} "
            f"GROUP BY {d.thing_kind} HAVING count(*) >= {least}"
        ),
    )


def total_of_year(rng: random.Random, d: Domain) -> Question:
    year = rng.choice((2023, 2024))
    return Question(
        text=(
            f"In {year}, how many {d.event.many} were there, how many of them have a known {d.amount_words}, and "
            "what is "
            f"their total {d.amount_words}?"
        ),
        gold=(
            f"SELECT count(*), count({d.event_amount}), sum({d.event_amount}) FROM {d.event.table} "
            f"WHERE day BETWEEN '{year}-01-01' AND '{year}-12-31'"
        ),
    )


def events_by_month(rng: random.Random, d: Domain) -> Question:
    year = rng.choice((2023, 2024))
    return Question(
        text=(
            f"How many {d.event.many} were there in each month of {year}? Give the month as YYYY-MM and the number, "
            f"earliest first; leave out months without {d.event.many}."
        ),
        gold=(
            f"SELECT substr(day, 1, 7), count(*) FROM {d.event.table} WHERE substr(day, 1, 4) = '{year}' "
            "GROUP BY 1 ORDER BY 1"
        ),
        ordered=True,
    )


def commonest_kind(rng: random.Random, d: Domain) -> Question:
    least = _threshold(rng, d)
    return Question(
        text=(
            f"Which {d.thing_kind} do most {d.thing.many} with a {d.number_words} of at least {least} have? Give "
            "it and "
            "their number; of several, the first from A to Z."
        ),
        gold=(
            f"SELECT {d.thing_kind}, count(*) FROM {d.thing.table} WHERE {d.thing_number} >= {least} "
            f"GROUP BY {d.thing_kind} ORDER BY count(*) DESC, {d.thing_kind} LIMIT 1"
        ),
    )


# --- level 3: several tables -----------------------------------------------------------------------------------------


def things_per_maker(rng: random.Random, d: Domain) -> Question:
    kind = rng.choice(d.kinds)
    return Question(
        text=(
            f"How many {d.thing.many} with {d.thing_kind} '{kind}' does each {d.maker.one} have? Give the name of "
            "every "
            f"{d.maker.one}, also of those without any, and the number."
        ),
        gold=(
            f"SELECT m.name, count(t.id) FROM {d.maker.table} m LEFT JOIN {d.thing.table} t "
            f"ON t.{d.maker_key} = m.id AND t.{d.thing_kind} = '{kind}' GROUP BY m.id"
        ),
    )


def never_used(rng: random.Random, d: Domain) -> Question:
    year = rng.choice((2023, 2024))
    return Question(
        text=(
            f"Which {d.thing.many} had no {d.event.one} in {year}? Give their names and those of their {d.maker.many}."
        ),
        gold=(
            f"SELECT t.name, m.name FROM {d.thing.table} t JOIN {d.maker.table} m ON m.id = t.{d.maker_key} "
            f"WHERE NOT EXISTS (SELECT 1 FROM {d.event.table} e WHERE e.{d.thing_key} = t.id AND e.day LIKE '{year}-%')"
        ),
    )


def totals_above(rng: random.Random, d: Domain) -> Question:
    least = rng.randint(100, 600)
    return Question(
        text=(
            f"For which {d.maker.many} is the total {d.amount_words} of the {d.event.many} of their "
            f"{d.thing.many} above "
            f"{least}? Give name and total, highest total first."
        ),
        gold=(
            f"SELECT m.name, sum(e.{d.event_amount}) AS total FROM {d.maker.table} m "
            f"JOIN {d.thing.table} t ON t.{d.maker_key} = m.id JOIN {d.event.table} e ON e.{d.thing_key} = t.id "
            f"GROUP BY m.id HAVING total > {least} ORDER BY total DESC"
        ),
        ordered=True,
    )


def events_from(rng: random.Random, d: Domain) -> Question:
    place = rng.choice(d.places)
    return Question(
        text=(
            f"Give day, {d.thing.one} and {d.amount_words} of all {d.event.many} of {d.thing.many} whose "
            f"{d.maker.one} has "
            f"the {d.maker_place} '{place}' and where the {d.amount_words} is known."
        ),
        gold=(
            f"SELECT e.day, t.name, e.{d.event_amount} FROM {d.event.table} e "
            f"JOIN {d.thing.table} t ON t.id = e.{d.thing_key} JOIN {d.maker.table} m ON m.id = t.{d.maker_key} "
            f"WHERE m.{d.maker_place} = '{place}' AND e.{d.event_amount} IS NOT NULL"
        ),
    )


# --- level 4: queries in queries -------------------------------------------------------------------------------------


def above_own_average(rng: random.Random, d: Domain) -> Question:
    return Question(
        text=(
            f"Which {d.thing.many} have a {d.number_words} above the average of all {d.thing.many} of the same "
            f"{d.thing_kind}? Give name and {d.thing_kind}."
        ),
        gold=(
            f"SELECT name, {d.thing_kind} FROM {d.thing.table} t WHERE {d.thing_number} > "
            f"(SELECT avg({d.thing_number}) FROM {d.thing.table} o WHERE o.{d.thing_kind} = t.{d.thing_kind})"
        ),
    )


def best_of_kind(rng: random.Random, d: Domain) -> Question:
    return Question(
        text=(
            f"For each {d.thing_kind}, which {d.thing.one} has the highest {d.number_words}? Give {d.thing_kind}, "
            "name and "
            f"{d.number_words}; where several are equal, all of them."
        ),
        gold=(
            f"SELECT {d.thing_kind}, name, {d.thing_number} FROM (SELECT *, rank() OVER "
            f"(PARTITION BY {d.thing_kind} ORDER BY {d.thing_number} DESC) AS place FROM {d.thing.table}) WHERE "
            "place = 1"
        ),
    )


def second_highest(rng: random.Random, d: Domain) -> Question:
    return Question(
        text=(
            f"What is the second highest {d.amount_words} of the {d.event.many} of each {d.thing.one}? Give name and "
            f"{d.amount_words}; leave out {d.thing.many} with fewer than two {d.event.many} whose {d.amount_words} is "
            "known. Equal ones count separately."
        ),
        gold=(
            f"SELECT t.name, e.{d.event_amount} FROM (SELECT *, row_number() OVER (PARTITION BY {d.thing_key} ORDER BY "
            f"{d.event_amount} DESC) AS place FROM {d.event.table} WHERE {d.event_amount} IS NOT NULL) e "
            f"JOIN {d.thing.table} t ON t.id = e.{d.thing_key} WHERE e.place = 2"
        ),
    )


def share_by_kind(rng: random.Random, d: Domain) -> Question:
    year = rng.choice((2023, 2024))
    return Question(
        text=(
            f"Of all {d.event.many} of {year}, what share in percent (from 0 to 100, not rounded) goes to "
            f"{d.thing.many} "
            f"of each {d.thing_kind}? Give {d.thing_kind} and share; leave out a {d.thing_kind} without any."
        ),
        gold=(
            f"WITH e AS (SELECT t.{d.thing_kind} AS kind FROM {d.event.table} x JOIN {d.thing.table} t "
            f"ON t.id = x.{d.thing_key} WHERE x.day LIKE '{year}-%') "
            "SELECT kind, 100.0 * count(*) / (SELECT count(*) FROM e) FROM e GROUP BY kind"
        ),
    )


def only_without(rng: random.Random, d: Domain) -> Question:
    kind = rng.choice(d.kinds)
    return Question(
        text=(
            f"Which {d.maker.many} have {d.thing.many} of at least two different values of {d.thing_kind}, but "
            "none with "
            f"{d.thing_kind} '{kind}'? Give their names."
        ),
        gold=(
            f"SELECT name FROM {d.maker.table} WHERE id IN (SELECT {d.maker_key} FROM {d.thing.table} GROUP BY "
            f"{d.maker_key} HAVING count(DISTINCT {d.thing_kind}) >= 2 AND sum({d.thing_kind} = '{kind}') = 0)"
        ),
    )


def running_total(rng: random.Random, d: Domain) -> Question:
    year = rng.choice((2023, 2024))
    return Question(
        text=(
            f"How many {d.event.many} had there been in {year} by the end of each month? Give the month as "
            "YYYY-MM and the "
            f"number since the year began, earliest first; leave out months without {d.event.many}."
        ),
        gold=(
            "SELECT month, sum(count) OVER (ORDER BY month) FROM (SELECT substr(day, 1, 7) AS month, count(*) AS "
            "count "
            f"FROM {d.event.table} WHERE day LIKE '{year}-%' GROUP BY 1) ORDER BY month"
        ),
        ordered=True,
    )


LEVELS: Sequence[Sequence[Maker]] = (
    (of_kind_above, of_kinds_or_small, elsewhere, largest, days_of_events),
    (count_by_kind, average_of_common_kinds, total_of_year, events_by_month, commonest_kind),
    (things_per_maker, never_used, totals_above, events_from),
    (above_own_average, best_of_kind, second_highest, share_by_kind, only_without, running_total),
)
