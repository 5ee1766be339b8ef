"""Places that are shared out evenly: of those who wait, who has used them least of late is next."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

MAX_REMEMBERED: Final = 4096
"""Users whose use is counted; then counting begins anew."""
HALF_LIFE_S: Final = 30.0
"""Use counts half after so long: who was busy an hour ago waits for nobody."""


class FairPlaces:
    """So many at a time. Use is time spent in a place: that of a tenant comes first, then that of its session."""

    def __init__(self, places: int, *, most_of_one: int | None = None) -> None:
        """Args: most_of_one: that one tenant may hold at the same time; None: all."""
        self._free = places
        self._most_of_one = most_of_one or places
        self._held: Counter[str] = Counter()
        """By tenant."""
        self._used: dict[tuple[str, ...], tuple[float, float]] = {}
        """Seconds of a tenant, or of a session of one, and when they were counted."""
        self._waiting: dict[str, dict[str, deque[asyncio.Future[None]]]] = {}
        """By tenant and session, each in the order in which they came: choosing is quick, however many wait."""

    @asynccontextmanager
    async def place(self, tenant: str, session: str = "") -> AsyncIterator[None]:
        """Hold a place for the block."""
        begun_s = await self.take(tenant, session)
        try:
            yield
        finally:
            self.free(begun_s, tenant, session)

    async def take(self, tenant: str, session: str = "") -> float:
        """Wait for a place; return when it was had, which `free` is told."""
        if self._free and self._held[tenant] < self._most_of_one:
            self._free -= 1
            self._held[tenant] += 1
        else:
            await self._wait(tenant, session)
        return time.monotonic()

    def free(self, begun_s: float, tenant: str, session: str = "") -> None:
        """Give a place back."""
        now_s = time.monotonic()
        if len(self._used) >= MAX_REMEMBERED:
            self._used.clear()
        for user in ((tenant,), (tenant, session)):
            self._used[user] = (self._used_s(user, now_s) + now_s - begun_s, now_s)
        self._free += 1
        self._held[tenant] -= 1
        self._let_in()

    def _used_s(self, user: tuple[str, ...], now_s: float) -> float:
        used_s, counted_s = self._used.get(user, (0.0, now_s))
        return used_s * math.exp2((counted_s - now_s) / HALF_LIFE_S)

    async def _wait(self, tenant: str, session: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, {}).setdefault(session, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._forget(turn, tenant, session)
            else:  # it was given a place just now
                self._free += 1
                self._held[tenant] -= 1
                self._let_in()
            raise

    def _forget(self, turn: asyncio.Future[None], tenant: str, session: str) -> None:
        sessions = self._waiting.get(tenant, {})
        if turn in sessions.get(session, ()):
            sessions[session].remove(turn)
            if not sessions[session]:
                del sessions[session]
            if not sessions:
                del self._waiting[tenant]

    def _let_in(self) -> None:
        """Give free places to those who are next."""
        now_s = time.monotonic()
        while self._free:
            may = [(tenant,) for tenant in self._waiting if self._held[tenant] < self._most_of_one]
            if not may:
                return
            (tenant,) = min(may, key=lambda each: self._used_s(each, now_s))
            sessions = [(tenant, session) for session in self._waiting[tenant]]
            _, session = min(sessions, key=lambda each: self._used_s(each, now_s))
            turn = self._waiting[tenant][session][0]
            self._forget(turn, tenant, session)
            if not turn.done():
                self._free -= 1
                self._held[tenant] += 1
                turn.set_result(None)
