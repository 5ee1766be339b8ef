"""What a query gives, in values that every engine and JSON have."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

Value = None | bool | int | float | str

BLOB_MARK: Final = "\udcff"
"""Begins the text that stands for bytes; no text of a database has it, for it is no character."""


class FailureKind(StrEnum):
    REFUSED = "refused"
    """It would do something else than read."""
    ERROR = "error"
    """The database does not understand it, or it fails as it runs."""
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    """It needs more memory than it may, or has more rows or bytes than may be compared."""


class QueryFailed(Exception):
    """A query gave no rows; its own fault. The message is for its author."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class DatabaseLost(Exception):
    """The server of a database cannot be reached; nobody's query is to blame."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """The result of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    truncated: bool = False
    """There are more rows, or the rest was too large."""


def plain(value: object) -> Value:
    """Return a value of any engine as one that JSON can carry."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes() | bytearray() | memoryview():
            return f"{BLOB_MARK}x'{bytes(value).hex()}'"
        case decimal.Decimal():
            return float(value)
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            return str(value)


def size_bytes(value: object) -> int:
    """Return about how much a value takes."""
    if isinstance(value, str | bytes):
        return len(value)
    return 8 if value is None or isinstance(value, int | float) else len(str(value))


def collect(columns: Sequence[str], records: Iterable[Sequence[object]], *, max_rows: int, max_bytes: int) -> Rows:
    """Read records until there are no more, or too many."""
    kept: list[tuple[Value, ...]] = []
    used_bytes = 0
    for record in records:
        used_bytes += sum(map(size_bytes, record))
        if len(kept) == max_rows or used_bytes > max_bytes:
            return Rows(columns=tuple(columns), rows=tuple(kept), truncated=True)
        kept.append(tuple(map(plain, record)))
    return Rows(columns=tuple(columns), rows=tuple(kept))


def batches(fetch: Callable[[int], Sequence[Sequence[object]]], size: int = 256) -> Iterator[Sequence[object]]:
    """Yield a cursor's records, fetched some at a time."""
    while batch := fetch(size):
        yield from batch
