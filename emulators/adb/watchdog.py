"""A watchdog of calls: notices that a phone has fallen silent long before the call's own deadline.

A step may take half a minute, but nobody should wait that long for a phone whose network is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from rlfactory.emulators.device.errors import DeviceError, DeviceLost

PATIENCE_S: Final = 2.0
"""A call that takes longer is accompanied by questions, as far apart as this, whether the phone is there."""
ANSWER_S: Final = 1.5
"""For an answer, which takes milliseconds on a phone that is well."""
SILENCES: Final = 2
"""Questions in a row that may stay without one."""


@asynccontextmanager
async def watched(ask: Callable[[], Awaitable[object]], whom: str) -> AsyncIterator[None]:
    """Run a block that waits for the phone.

    Args: ask: anything that a phone answers at once.
    Raises: DeviceLost: the phone has stopped answering; the block was cancelled.
    """
    loop = asyncio.get_running_loop()
    asking: list[asyncio.Task[None]] = []
    try:
        async with asyncio.timeout(None) as limit:
            timer = loop.call_later(PATIENCE_S, lambda: asking.append(loop.create_task(_until_silent(ask, limit))))
            try:
                yield
            finally:
                timer.cancel()
                for task in asking:
                    task.cancel()
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise DeviceLost(f"{whom} has stopped answering") from error


async def _until_silent(ask: Callable[[], Awaitable[object]], limit: asyncio.Timeout) -> None:
    """End the block when the phone is silent."""
    silences = 0
    while silences < SILENCES:
        try:
            async with asyncio.timeout(ANSWER_S):
                await ask()
            silences = 0
            await asyncio.sleep(PATIENCE_S)
        except (DeviceError, TimeoutError):
            silences += 1
    limit.reschedule(asyncio.get_running_loop().time())
