"""When is a screen at rest? When two looks in a row, on the phone's own time, show the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from emulators.device import Settled


async def settle(look: Callable[[], Awaitable[object]], *, timeout_s: float) -> Settled:
    """Look at the screen until two looks in a row are equal, or the deadline comes.

    A look of uiautomator waits for the accessibility events to pause by itself, so no pause is added here.

    Args:
        look: returns something that equals its like exactly when the screen is the same.
        timeout_s: an unquiet screen ends the wait here with reason "deadline".

    Raises: DeviceError: what `look` raises.
    """
    started_s = time.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            before = await look()
            while (now := await look()) != before:
                before = now
    except TimeoutError:
        return Settled(reason="deadline", waited_s=time.monotonic() - started_s)
    return Settled(reason="idle", waited_s=time.monotonic() - started_s)
