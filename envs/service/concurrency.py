"""Sessions made side by side, and work on phones that a cancelled caller must not leave half done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from typing import TypeVar

from rlfactory.emulators.device.device import Device, Snapshot
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.envs.service.phones import HeldPhone
from rlfactory.envs.service.session import Session

T = TypeVar("T")


async def to_its_end(work: asyncio.Task[T]) -> T:
    """Wait for the work; when cancelled, wait all the same before saying so: a phone has one caller at a time."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise


async def forget_snapshot(device: Device, saving: asyncio.Task[Snapshot], timeout_s: float) -> None:
    """Delete the snapshot, if it was saved."""
    with contextlib.suppress(DeviceError):
        await device.delete_snapshot(await saving, timeout_s=timeout_s)


async def all_or_none(making: Sequence[Coroutine[None, None, Session]]) -> list[Session]:
    """Make sessions side by side; if one fails, close the others and raise its error."""
    made = await _settle([asyncio.create_task(each) for each in making])
    failures = [each for each in made if isinstance(each, BaseException)]
    if not failures:
        return [each for each in made if isinstance(each, Session)]
    await asyncio.gather(*(each.close() for each in made if isinstance(each, Session)))
    raise failures[0]


async def end_all(sessions: Sequence[Session], phones: Sequence[HeldPhone | None]) -> None:
    """End sessions that came to nothing; the phones are given back, also those that no session got."""
    for session in sessions:
        await session.close()
    for phone in filter(None, phones):
        phone.give_back("")


async def _settle(tasks: Sequence[asyncio.Task[Session]]) -> list[Session | BaseException]:
    """Wait for all; when cancelled, cancel them, and wait until they have cleaned up."""
    try:
        return await asyncio.gather(*tasks, return_exceptions=True)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        finished = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(each.close() for each in finished if isinstance(each, Session)))
        raise
