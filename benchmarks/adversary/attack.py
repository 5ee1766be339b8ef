"""What an attack is, and the list of all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.adversary.arena import Arena

Deed = Callable[["Arena"], Awaitable[str]]
"""Attacks; returns what held, in a few words. Raises: Broke."""


class Broke(Exception):
    """What must hold did not; the message says what happened instead."""


class Skipped(Exception):
    """The machine lacks what the attack needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """One attack. Beside what it checks itself, the arena checks the honest sessions, memory and the service's life."""

    group: str
    name: str
    must: str
    """What has to hold."""
    deed: Deed
    limit_s: float
    """It counts as broken if it has not ended by then."""

    @property
    def full_name(self) -> str:
        return f"{self.group}.{self.name}"

    @property
    def what(self) -> str:
        return (self.deed.__doc__ or "").strip()


ATTACKS: Final[list[Attack]] = []


def attack(must: str, *, limit_s: float = 30.0) -> Callable[[Deed], Deed]:
    """Enter a function into the list, under the name of its module; its docstring says what it does."""

    def enter(deed: Deed) -> Deed:
        group = deed.__module__.rpartition(".")[2]
        ATTACKS.append(Attack(group=group, name=deed.__name__, must=must, deed=deed, limit_s=limit_s))
        return deed

    return enter


def require(holds: bool, otherwise: str) -> None:
    """Raises: Broke: it does not hold."""
    if not holds:
        raise Broke(otherwise)
