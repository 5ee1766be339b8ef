"""How busy a service is, as it says at the end of every answer: a client of several chooses by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

LOAD_KEY: Final = "rlfactory-load"
"""The trailing metadata's key; its value: the fields of `Load` as numbers, in their order, more of them in time."""


class Load(NamedTuple):
    """Of one service. Nothing is known of one that has not answered yet: it counts as free."""

    phones: int = 0
    """As many as it lends; 0 where tasks have tools only."""
    free: int = 1
    """Phones that could be lent at once; sessions where there are no phones."""
    waiting: int = 0
    """Calls that wait for a phone."""
    sessions: int = 0
    draining: int = 0
    """1: it begins no more sessions, and ends when those that are open have ended."""


def load_out(load: Load) -> tuple[str, str]:
    """Return the metadata that says it."""
    return LOAD_KEY, " ".join(map(str, load))


def load_in(metadata: Iterable[tuple[str, str | bytes]] | None) -> Load | None:
    """Return what the metadata says; None where it says nothing that can be read."""
    for key, value in metadata or ():
        if key == LOAD_KEY and isinstance(value, str):
            numbers = value.split()
            if len(numbers) >= len(Load._fields) and all(each.isdecimal() for each in numbers):
                phones, free, waiting, sessions, draining = map(int, numbers[:5])
                return Load(phones=phones, free=free, waiting=waiting, sessions=sessions, draining=draining)
    return None
