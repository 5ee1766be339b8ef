"""How many phones start at a time, and when to stop trying for a while: a host in trouble is not made worse."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.pool.config import PoolConfig


class StartLimiter:
    """Shared by all keepers of a pool."""

    def __init__(self, config: PoolConfig) -> None:
        self._config = config
        self._permits = asyncio.Semaphore(config.max_starting)
        self._failures_in_row = 0
        self._paused_until_s = 0.0
        self._retiring = False

    @property
    def paused_s(self) -> float:
        """Until a phone may be started; 0 when one may now."""
        return max(0.0, self._paused_until_s - time.monotonic())

    @asynccontextmanager
    async def starting(self) -> AsyncIterator[None]:
        """Start a phone in the block, once few enough start and there is no pause; a failure makes all wait."""
        async with self._permits:
            while (pause_s := self.paused_s) > 0:  # noqa: ASYNC110 - it may be set further meanwhile
                await asyncio.sleep(pause_s)
            began_s = time.monotonic()
            try:
                yield
            except DeviceError:
                self._failed(began_s)
                raise
            self._failures_in_row = 0

    def _failed(self, began_s: float) -> None:
        """Pause all starts, longer each time; those that failed side by side count once."""
        if began_s < self._paused_until_s:
            return
        self._paused_until_s = time.monotonic() + self._config.pause_s(self._failures_in_row)
        self._failures_in_row += 1

    def may_retire(self) -> bool:
        """Tell whether a phone that works may be replaced now: one at a time. `retired` ends it."""
        if self._retiring:
            return False
        self._retiring = True
        return True

    def retired(self) -> None:
        """The phone that was replaced has a successor, or cannot have one."""
        self._retiring = False
