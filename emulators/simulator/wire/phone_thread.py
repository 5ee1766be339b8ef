"""A simulated phone as asyncio code reaches it: one call at a time, in the phone's own thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

Result = TypeVar("Result")


class PhoneThread:
    """Runs calls on one phone in the order they arrive; a slow one holds up this phone only."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=phone.config.serial)

    async def call(self, function: Callable[[Phone], Result]) -> Result:
        """Return `function(phone)`, run under the phone's lock. Cancelled while it waits, it never runs."""

        def locked() -> Result:
            with self.phone.lock:
                return function(self.phone)

        return await asyncio.get_running_loop().run_in_executor(self._executor, locked)

    def close(self) -> None:
        """Take no further calls; the one that runs ends by itself."""
        self._executor.shutdown(wait=False, cancel_futures=True)
