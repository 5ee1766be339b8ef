"""Numbered work that is done at most once, however often and however concurrently it is asked for.

And how much sessions may remember of it: what was said is there for verdicts, and for those who ask again.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from rlfactory.envs.api.errors import LimitExceeded, OutOfOrder, TaskError
from rlfactory.envs.service.services import TENANT

T = TypeVar("T")

KEPT_S: Final = 30.0
"""After it has been carried out, for those whose answer was lost."""
MAX_KEPT: Final = 4096
MAX_ID_BYTES: Final = 64


@dataclass(eq=False)
class _Entry(Generic[T]):
    seq: int
    fingerprint: object
    task: asyncio.Task[T]
    waiters: int = 0


class AtMostOnce(Generic[T]):
    """Runs work number 1, 2, 3, ... and keeps the outcome of the latest, be it a result or an error.

    A caller that asks for the latest number again gets that outcome; while the work still runs, it waits for the same
    run. Work whose callers have all gone is cancelled after `grace_s`. Work that ends as cancelled had not begun: its
    number is free again.
    """

    def __init__(self, *, done: int = 0, grace_s: float) -> None:
        """`done` is the number of the work that counts as done already (a fork continues its parent's numbers)."""
        self.latest = done
        self._grace_s = grace_s
        self._entry: _Entry[T] | None = None

    @property
    def running(self) -> bool:
        return self._entry is not None and not self._entry.task.done()

    def is_new(self, seq: int) -> bool:
        """Tell whether this number would start work. Raises: OutOfOrder: it is neither the latest nor the next."""
        if seq == self.latest and self._entry is not None:
            return False
        if seq != self.latest + 1:
            raise OutOfOrder(f"seq {seq} after {self.latest}: the next is {self.latest + 1}")
        if self.running:
            raise OutOfOrder(f"seq {seq} while {self.latest} is still running")
        return True

    async def run(self, seq: int, fingerprint: object, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the outcome of work number `seq`, doing it if it is the next.

        Args:
            fingerprint: what the work is about; asking for the same number with another one is a mistake.

        Raises: OutOfOrder: neither the latest nor the next number, or a repeated one with another fingerprint.
        """
        if self.is_new(seq):
            self._entry = _Entry(seq, fingerprint, asyncio.create_task(work(), name=f"seq {seq}"))
            self._entry.task.add_done_callback(self._ended)
            self.latest = seq
        entry = self._entry
        assert entry is not None
        if entry.fingerprint != fingerprint:
            raise OutOfOrder(f"seq {seq} was used already, with other calls")
        entry.waiters += 1
        try:
            return await asyncio.shield(entry.task)
        finally:
            entry.waiters -= 1
            if not entry.waiters and not entry.task.done():
                asyncio.get_running_loop().call_later(self._grace_s, _cancel_orphan, entry)

    def _ended(self, task: asyncio.Task[T]) -> None:
        """Forget work that was cancelled before it began, so that its number can be used again."""
        if not task.cancelled():
            task.exception()  # seen: if every caller has gone, there is nobody else to tell
        elif self._entry is not None and self._entry.task is task:
            self._entry = None
            self.latest -= 1

    async def cancel(self) -> None:
        """Cancel the work that runs, if any, and return when it has ended."""
        if self._entry is not None and not self._entry.task.done():
            self._entry.task.cancel()
            await asyncio.wait([self._entry.task])


def _cancel_orphan(entry: _Entry[Any]) -> None:
    if not entry.waiters:
        entry.task.cancel()


@dataclass(eq=False)
class _Request(Generic[T]):
    about: object
    task: asyncio.Task[T]
    waiters: int = 0
    fetched: bool = False
    """Somebody knows what came of it."""


class NamedRequests(Generic[T]):
    """Carries requests out once each. What nobody has fetched when its grace is over is undone.

    Each is known by whose it is and by its name; what one remembers keeps nobody else from being served.
    """

    def __init__(self, *, grace_s: float, undo: Callable[[T], Coroutine[Any, Any, None]]) -> None:
        self._grace_s = grace_s
        self._undo = undo
        self._entries: dict[str, dict[str, _Request[T]]] = defaultdict(dict)
        self._undoing: set[asyncio.Task[None]] = set()

    async def run(self, owner: str, name: str, about: object, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what comes of the work, doing it if no request of this name has. A failure may be tried again.

        Raises: OutOfOrder: the name was used already, for something else. LimitExceeded: too many are remembered.
        """
        own = self._entries[owner]
        entry = own.get(name)
        if entry is None:
            if len(own) >= MAX_KEPT:
                raise LimitExceeded(f"{MAX_KEPT} requests of this tenant are remembered already")
            entry = own[name] = _Request(about, asyncio.create_task(work()))
            entry.task.add_done_callback(lambda task: self._ended(owner, name, task))
        elif entry.about != about:
            raise OutOfOrder("this request_id was used already, for another request")
        entry.waiters += 1
        try:
            result = await asyncio.shield(entry.task)
            entry.fetched = True
            return result
        finally:
            entry.waiters -= 1
            if not entry.fetched and not entry.waiters:
                asyncio.get_running_loop().call_later(self._grace_s, self._abandon, owner, name, entry)

    def drop(self, owner: str, name: str) -> None:
        """Undo what this request did or is doing: its client has no use for it."""
        entry = self._entries[owner].pop(name, None)
        if entry is not None:
            self._give_up(entry)

    def forget(self, owner: str, name: str) -> None:
        """Keep what came of this request no longer: its client had it, and is done with it."""
        self._entries[owner].pop(name, None)

    def _abandon(self, owner: str, name: str, entry: _Request[T]) -> None:
        if not entry.fetched and not entry.waiters and self._entries[owner].get(name) is entry:
            self.drop(owner, name)

    def _give_up(self, entry: _Request[T]) -> None:
        if not entry.task.done():
            entry.task.cancel()
        elif not entry.task.cancelled() and entry.task.exception() is None:
            undoing = asyncio.create_task(self._undo(entry.task.result()))
            self._undoing.add(undoing)
            undoing.add_done_callback(self._undoing.discard)

    def _ended(self, owner: str, name: str, task: asyncio.Task[T]) -> None:
        if task.cancelled() or task.exception() is not None:
            self._forget(owner, name, task)
        else:
            asyncio.get_running_loop().call_later(KEPT_S, self._forget, owner, name, task)

    def _forget(self, owner: str, name: str, task: asyncio.Task[T]) -> None:
        entry = self._entries[owner].get(name)
        if entry is not None and entry.task is task:
            del self._entries[owner][name]


def checked_id(text: str) -> str:
    """Return a request's name. Raises: TaskError: it is too long."""
    if len(text.encode()) > MAX_ID_BYTES:
        raise TaskError(f"a request_id has at most {MAX_ID_BYTES} bytes")
    return text


class Remembered:
    """What the open sessions of a service remember of what was said in them: counted of each tenant, and bounded."""

    def __init__(self, max_of_tenant: int, sessions: int) -> None:
        """Args: sessions: that a tenant may have; each may remember its part, whatever the others do."""
        self.bytes: Counter[str] = Counter()
        """By tenant."""
        self.max_of_tenant = max_of_tenant
        self._part = max_of_tenant // sessions

    def require_room(self, tenant: str, own_bytes: int, size_bytes: int) -> None:
        """Raises: LimitExceeded: a session that remembers `own_bytes` cannot remember so much more."""
        total = self.bytes[tenant]
        if total + size_bytes > self.max_of_tenant and own_bytes + size_bytes > self._part:
            raise LimitExceeded(
                f"this tenant's sessions remember {total} bytes of calls and answers, this one {own_bytes} of them, "
                f"and the step has {size_bytes}; its quota of kept_bytes is {self.max_of_tenant}"
            )


class Memory:
    """What one session of the present tenant's remembers, in bytes, until it forgets."""

    def __init__(self, of: Remembered) -> None:
        self.bytes = 0
        self._answer = 0
        """Of these: of the last answer, which the next one replaces."""
        self._of = of
        self._tenant = TENANT.get()

    def require_room(self, size_bytes: int) -> None:
        """Raises: LimitExceeded: there is none for so much more."""
        self._of.require_room(self._tenant, self.bytes, size_bytes)

    def add(self, size_bytes: int, *, answer: int = 0) -> None:
        added, self._answer = size_bytes + answer - self._answer, answer
        self.bytes += added
        self._of.bytes[self._tenant] += added

    def forget(self) -> None:
        self._of.bytes[self._tenant] -= self.bytes
        self.bytes = self._answer = 0


def held_bytes(value: object) -> int:
    """Return how much memory a value of JSON takes."""
    total, left = 0, [value]
    while left:
        each = left.pop()
        total += sys.getsizeof(each)
        if isinstance(each, dict):
            left += each
            left += each.values()
        elif isinstance(each, list):
            left += each
    return total
