"""Numbered work that is done at most once, however often and however concurrently it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rlfactory.envs.api.errors import OutOfOrder

T = TypeVar("T")


@dataclass(eq=False)
class _Entry(Generic[T]):
    seq: int
    fingerprint: object
    task: asyncio.Task[T]
    waiters: int = 0


class AtMostOnce(Generic[T]):
    """Runs work number 1, 2, 3, ... and keeps the outcome of the latest, be it a result or an error.

    A caller that asks for the latest number again gets that outcome; while the work still runs, it waits for the same
    run. Work whose callers have all gone is cancelled after `grace_s`.
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
            self._entry.task.add_done_callback(_retrieve)
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

    async def cancel(self) -> None:
        """Cancel the work that runs, if any, and return when it has ended."""
        if self._entry is not None and not self._entry.task.done():
            self._entry.task.cancel()
            await asyncio.wait([self._entry.task])


def _cancel_orphan(entry: _Entry[Any]) -> None:
    if not entry.waiters:
        entry.task.cancel()


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Mark the error as seen: if every caller has gone, there is nobody else to tell."""
    if not task.cancelled():
        task.exception()
