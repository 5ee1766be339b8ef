"""When is a screen at rest? When no new frame comes, or when two looks in a row, on the phone's own time, are equal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Protocol

from rlfactory.emulators.device.device import Settled

QUIET_S: Final = 0.15
"""A screen without a new frame for nine refreshes has come to rest: animations draw at each of them."""
_FRAMES_SHARE: Final = 0.5
"""Of the deadline; a screen that moves longer (a video, a spinner) is judged by its tree."""


class UntilStill(Protocol):
    async def __call__(self, *, quiet_s: float) -> None:
        """Return when no new frame came for `quiet_s`."""
        ...


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


async def settle_by_frames(
    until_still: UntilStill, look: Callable[[], Awaitable[object]], *, timeout_s: float
) -> Settled:
    """Return when the phone stops drawing; where it never does, when two looks at its tree are equal.

    Raises: DeviceError: what `until_still` and `look` raise.
    """
    started_s = time.monotonic()
    try:
        async with asyncio.timeout(timeout_s * _FRAMES_SHARE):
            await until_still(quiet_s=QUIET_S)
    except TimeoutError:
        rest = await settle(look, timeout_s=timeout_s - (time.monotonic() - started_s))
        return replace(rest, waited_s=time.monotonic() - started_s)
    return Settled(reason="still", waited_s=time.monotonic() - started_s)
