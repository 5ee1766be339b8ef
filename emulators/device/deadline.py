"""Deadlines: every call on a phone ends in time, as a result or as `DeviceTimeout`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from typing import TypeVar

from rlfactory.emulators.device.errors import DeviceTimeout

Result = TypeVar("Result")


@asynccontextmanager
async def within(timeout_s: float, what: str) -> AsyncIterator[None]:
    """Run the block within `timeout_s`.

    Raises: DeviceTimeout: the time ran out; `what` names the phone and the call.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise DeviceTimeout(f"{what} did not end within {timeout_s:g} s") from error


async def in_thread(executor: Executor, function: Callable[[], Result]) -> Result:
    """Return the result of a blocking function run in the executor; cancelling drops it while it is queued."""
    return await asyncio.get_running_loop().run_in_executor(executor, function)
