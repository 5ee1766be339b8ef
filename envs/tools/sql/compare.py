"""When are two results the same? As the task declares it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rlfactory.envs.tools.sql.rows import Rows, Value

Row = tuple[Value, ...]

MAX_MATCHED: Final = 200
"""Rows that differ in numbers only and are paired with care; more of them are paired in sorted order."""
MAX_PERMUTATIONS: Final = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What counts as the same result. Names of columns never count."""

    rows: Literal["ordered", "multiset", "set"] = "multiset"
    """`ordered` where the question asks for an order; `set` only where duplicates cannot matter."""
    columns: Literal["exact", "permutation"] = "exact"
    """`permutation`: the columns may come in any order, the same one in every row."""
    relative_tolerance: float = 1e-6
    """Of numbers; 1 and 1.0 are equal in any case."""
    absolute_tolerance: float = 1e-9

    def __post_init__(self) -> None:
        """Raises: ValueError: a mode that does not exist, or a tolerance below 0."""
        if self.rows not in ("ordered", "multiset", "set") or self.columns not in ("exact", "permutation"):
            raise ValueError(f"no such comparison: rows {self.rows!r}, columns {self.columns!r}")
        if self.relative_tolerance < 0 or self.absolute_tolerance < 0:
            raise ValueError("tolerances must be 0 or above")


def difference(got: Rows, wanted: Rows, comparison: Comparison) -> str:
    """Return in which way two results differ; "" if they are the same by this comparison."""
    if got.truncated:
        return f"more than {len(got.rows)} rows, or too many bytes"
    if len(got.columns) != len(wanted.columns):
        return f"{_count(len(got.columns), 'column')}, {len(wanted.columns)} wanted"
    rows, wanted_rows = got.rows, wanted.rows
    if comparison.rows == "set":
        rows, wanted_rows = _distinct(rows), _distinct(wanted_rows)
    elif len(rows) != len(wanted_rows):
        return f"{_count(len(rows), 'row')}, {len(wanted_rows)} wanted"
    orders: Iterator[Sequence[int]] = iter([range(len(got.columns))])
    if comparison.columns == "permutation":
        orders = _orders(rows, wanted_rows, len(got.columns), comparison)
    for order in orders:
        if _same_rows([tuple(row[index] for index in order) for row in rows], wanted_rows, comparison):
            return ""
    if comparison.rows == "ordered" and _same_rows(rows, wanted_rows, Comparison(rows="multiset")):
        return "the rows are right, their order is not"
    return "the values differ"


def _same_rows(rows: Sequence[Row], wanted: Sequence[Row], comparison: Comparison) -> bool:
    match comparison.rows:
        case "ordered":
            return len(rows) == len(wanted) and all(
                _same_row(row, other, comparison) for row, other in zip(rows, wanted, strict=True)
            )
        case "multiset":
            return len(rows) == len(wanted) and _paired(rows, wanted, comparison)
        case "set":
            return _covered(rows, wanted, comparison) and _covered(wanted, rows, comparison)


def _paired(rows: Sequence[Row], wanted: Sequence[Row], comparison: Comparison) -> bool:
    """Tell whether each row has a partner of its own among the wanted ones."""
    groups, wanted_groups = _by_words(rows), _by_words(wanted)
    if {key: len(group) for key, group in groups.items()} != {key: len(group) for key, group in wanted_groups.items()}:
        return False
    return all(_paired_group(group, wanted_groups[key], comparison) for key, group in groups.items())


def _paired_group(rows: list[Row], wanted: list[Row], comparison: Comparison) -> bool:
    """Pair rows that differ in numbers only: in sorted order, or else by augmenting paths."""
    rows, wanted = sorted(rows, key=_numbers), sorted(wanted, key=_numbers)
    if all(_same_row(row, other, comparison) for row, other in zip(rows, wanted, strict=True)):
        return True
    if len(rows) > MAX_MATCHED or (rows and sum(map(_is_number, rows[0])) < 2):
        return False
    partner_of: dict[int, int] = {}

    def find(index: int, seen: set[int]) -> bool:
        for other, candidate in enumerate(wanted):
            if other not in seen and _same_row(rows[index], candidate, comparison):
                seen.add(other)
                if other not in partner_of or find(partner_of[other], seen):
                    partner_of[other] = index
                    return True
        return False

    return all(find(index, set()) for index in range(len(rows)))


def _covered(rows: Sequence[Row], wanted: Sequence[Row], comparison: Comparison) -> bool:
    groups = _by_words(wanted)
    return all(any(_same_row(row, other, comparison) for other in groups.get(_words(row), ())) for row in rows)


def _orders(rows: Sequence[Row], wanted: Sequence[Row], width: int, comparison: Comparison) -> Iterator[Sequence[int]]:
    """Yield the column orders under which each column by itself has the wanted values, at most so many."""
    one = Comparison(
        rows="set" if comparison.rows == "set" else "multiset",
        relative_tolerance=comparison.relative_tolerance,
        absolute_tolerance=comparison.absolute_tolerance,
    )
    fits = [
        [
            index
            for index in range(width)
            if _same_rows([(row[index],) for row in rows], [(row[place],) for row in wanted], one)
        ]
        for place in range(width)
    ]

    def extend(chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(chosen) == width:
            yield chosen
            return
        for index in fits[len(chosen)]:
            if index not in chosen:
                yield from extend((*chosen, index))

    for _, order in zip(range(MAX_PERMUTATIONS), extend(()), strict=False):
        yield order


def _same_row(row: Row, other: Row, comparison: Comparison) -> bool:
    return all(_same(value, wanted, comparison) for value, wanted in zip(row, other, strict=True))


def _same(value: Value, wanted: Value, comparison: Comparison) -> bool:
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        if value == wanted or (value != value and wanted != wanted):  # noqa: PLR0124 - NaN is no other's equal
            return True
        if isinstance(value, int) and isinstance(wanted, int):
            return False
        return math.isclose(value, wanted, rel_tol=comparison.relative_tolerance, abs_tol=comparison.absolute_tolerance)
    return value == wanted


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float)


def _words(row: Row) -> tuple[object, ...]:
    """Return what of a row has to be equal exactly: all but its numbers."""
    return tuple(0 if _is_number(value) else (value,) for value in row)


def _by_words(rows: Sequence[Row]) -> dict[tuple[object, ...], list[Row]]:
    groups: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[_words(row)].append(row)
    return groups


def _numbers(row: Row) -> tuple[tuple[bool, float | int], ...]:
    """Return a key to sort by: the numbers, NaN first."""
    return tuple(
        (value == value, value if value == value else 0)  # noqa: PLR0124
        for value in row
        if isinstance(value, int | float)
    )


def _distinct(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(dict.fromkeys(rows))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
