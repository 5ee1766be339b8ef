"""Answers that are on their way to clients: their bytes are counted until the transport has taken them.

A client that does not read holds what it was to be sent here, and no more than this.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Final

from rlfactory.envs.api.errors import LimitExceeded

READ_WITHIN_S: Final = 60.0
"""A client that takes nothing of an answer for so long is given up."""


class Unwritten:
    """So many bytes at a time; who waits longest is next. One answer is let through however large it is."""

    def __init__(self, max_bytes: int) -> None:
        self.bytes = 0
        self._max_bytes = max_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def holding(self, size_bytes: int) -> AsyncIterator[None]:
        """Count so many bytes for the block. Raises: LimitExceeded: others are not read."""
        if self._waiting or not self._fits(size_bytes):
            await self._wait(size_bytes)
        else:
            self.bytes += size_bytes
        try:
            yield
        finally:
            self.bytes -= size_bytes
            self._let_in()

    def _fits(self, size_bytes: int) -> bool:
        return not self.bytes or self.bytes + size_bytes <= self._max_bytes

    async def _wait(self, size_bytes: int) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, turn))
        try:
            async with asyncio.timeout(READ_WITHIN_S):
                await asyncio.shield(turn)
        except BaseException as error:
            if turn.done():  # it was let in in the same moment
                self.bytes -= size_bytes
            turn.cancel()
            self._let_in()
            if isinstance(error, TimeoutError):
                raise LimitExceeded(f"{self.bytes} bytes of answers wait to be read (max_unwritten_bytes)") from None
            raise

    def _let_in(self) -> None:
        while self._waiting:
            size_bytes, turn = self._waiting[0]
            if turn.done():
                self._waiting.popleft()
            elif self._fits(size_bytes):
                self._waiting.popleft()
                self.bytes += size_bytes
                turn.set_result(None)
            else:
                return


async def written(writing: Awaitable[None]) -> None:
    """Wait until the transport has taken an answer. Raises: LimitExceeded: the client reads nothing."""
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            await writing
    except TimeoutError:
        raise LimitExceeded(f"nothing was read for {READ_WITHIN_S:g} seconds") from None
