"""Places that are shared out evenly: of those who wait, who has used them least is next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

MAX_REMEMBERED: Final = 4096
"""Users whose use is counted; then counting begins anew."""


class FairPlaces:
    """So many at a time. Use is time spent in a place, by user."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._used_s: dict[str, float] = {}
        self._waiting: dict[asyncio.Future[None], str] = {}
        """In the order in which they came."""

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Hold a place for the block."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(user)
        begun_s = time.monotonic()
        try:
            yield
        finally:
            if len(self._used_s) >= MAX_REMEMBERED:
                self._used_s.clear()
            self._used_s[user] = self._used_s.get(user, 0.0) + time.monotonic() - begun_s
            self._pass_on()

    async def _wait(self, user: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = user
        try:
            await turn
        except asyncio.CancelledError:
            if self._waiting.pop(turn, None) is None and not turn.cancelled():
                self._pass_on()  # it was given a place in the same moment
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            turn = min(self._waiting, key=lambda each: self._used_s.get(self._waiting[each], 0.0))
            del self._waiting[turn]
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
