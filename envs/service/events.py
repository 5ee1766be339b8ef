"""What happens in a service, told to whoever watches: bounded queues, and nobody waits for a slow watcher."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Literal

from rlfactory.envs.api.errors import LimitExceeded

EventKind = Literal["reset", "step", "fork", "close", "lease_expired", "failure", "phone"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One thing that happened."""

    time_s: float
    """Unix time."""
    session: str
    kind: EventKind
    message: str
    dropped: int = 0
    """Events this watcher lost before this one."""


class _Watcher:
    def __init__(self, session: str, tenant: str, capacity: int) -> None:
        self.session = session
        self.tenant = tenant
        self.queue: deque[Event] = deque(maxlen=capacity)
        self.dropped = 0
        self.arrived = asyncio.Event()

    def put(self, event: Event) -> None:
        if len(self.queue) == self.queue.maxlen:
            self.dropped += 1
        self.queue.append(event)
        self.arrived.set()


class EventBus:
    """Hands each event to the watchers of its session and to those of all sessions."""

    def __init__(self, *, max_watchers: int, queue: int, tenants: int = 1) -> None:
        """Args: tenants: who share the watchers; each has its part."""
        self._max_watchers = max(1, max_watchers // tenants)
        self._queue = queue
        self.watchers: set[_Watcher] = set()
        self._closed = False

    def emit(self, kind: EventKind, session: str, message: str, *, tenant: str | None = None) -> None:
        """Tell the watchers of this tenant, or of all (None). Never waits."""
        event = Event(time_s=time.time(), session=session, kind=kind, message=message)
        for watcher in self.watchers:
            if watcher.session in ("", session) and tenant in (None, watcher.tenant):
                watcher.put(event)

    def watch(self, session: str = "", *, tenant: str = "") -> AsyncIterator[Event]:
        """Return the events of a tenant's from now on, of one session or of all, until the bus is closed.

        Raises: LimitExceeded: there are `max_watchers` already.
        """
        if sum(each.tenant == tenant for each in self.watchers) >= self._max_watchers:
            raise LimitExceeded(f"{self._max_watchers} clients watch already (max_watchers)")
        watcher = _Watcher(session, tenant, self._queue)
        self.watchers.add(watcher)
        return self._events(watcher)

    async def _events(self, watcher: _Watcher) -> AsyncIterator[Event]:
        try:
            while not (self._closed and not watcher.queue):
                await watcher.arrived.wait()
                while watcher.queue:
                    event, dropped, watcher.dropped = watcher.queue.popleft(), watcher.dropped, 0
                    yield replace(event, dropped=dropped)
                if not self._closed:
                    watcher.arrived.clear()
        finally:
            self.watchers.discard(watcher)

    def close(self) -> None:
        """End every watcher's stream after what it has not read yet."""
        self._closed = True
        for watcher in self.watchers:
            watcher.arrived.set()
