"""Tells when another process ends, so that a child never outlives its parent."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

POLL_S: Final = 1.0
"""Between looks, on systems without pidfd."""


@asynccontextmanager
async def when_gone(pid: int, callback: Callable[[], None]) -> AsyncIterator[None]:
    """Call `callback` once if the process ends while the block runs, or is gone already."""
    watcher = asyncio.create_task(_wait_for_end(pid), name=f"lifeline to {pid}")
    watcher.add_done_callback(lambda task: None if task.cancelled() else callback())
    try:
        yield
    finally:
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher


async def _wait_for_end(pid: int) -> None:
    if not hasattr(os, "pidfd_open"):
        while _exists(pid):  # noqa: ASYNC110 - nothing tells of it here
            await asyncio.sleep(POLL_S)
        return
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)  # a pidfd becomes readable when its process ends
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
