"""The saved states of one host's phones, by name: save on one phone, load on another, and that is a fork."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone, PhoneSnapshot


class SnapshotStore:
    """Names -> snapshots, shared by all phones of a process; thread-safe and bounded."""

    def __init__(self, *, limit: int = 4096) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._snapshots: dict[str, PhoneSnapshot] = {}

    def save(self, phone: Phone, name: str) -> None:
        """Keep the state of `phone` under `name`, replacing what was there.

        Raises: OverflowError: the store is full; names the limit.
        """
        snapshot = phone.snapshot()
        with self._lock:
            if name not in self._snapshots and len(self._snapshots) >= self._limit:
                raise OverflowError(f"{self._limit} snapshots are kept already; delete some")
            self._snapshots[name] = snapshot

    def load(self, phone: Phone, name: str) -> None:
        """Put `phone` into the state kept under `name`.

        Raises: KeyError: no such snapshot.
        """
        with self._lock:
            snapshot = self._snapshots[name]
        phone.restore(snapshot)

    def delete(self, name: str) -> bool:
        """Forget a snapshot; False when there was none."""
        with self._lock:
            return self._snapshots.pop(name, None) is not None

    def names(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(sorted(self._snapshots))
