"""Places for calls under way: so many for each tool, so many in total; who waits longest is next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rlfactory.envs.tools.runtime.metrics import ToolMeter
from rlfactory.envs.tools.runtime.policy import ToolPolicy


class NoPlace(Exception):
    """No place became free in time."""


class Places:
    """The places of one service. A call takes its tool's place first: a slow tool cannot take all of the total."""

    def __init__(self, total: int) -> None:
        self._total = asyncio.Semaphore(total)
        self._of_tool: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def place(self, tool: str, policy: ToolPolicy, meter: ToolMeter, deadline_s: float) -> AsyncIterator[None]:
        """Hold a place for the block. Raises: NoPlace: none until the deadline (monotonic)."""
        gates = self._gates(tool, policy)
        held: list[asyncio.Semaphore] = []
        try:
            for gate in gates:
                await _take(gate, meter, deadline_s)
                held.append(gate)
            yield
        finally:
            for gate in reversed(held):
                gate.release()

    def _gates(self, tool: str, policy: ToolPolicy) -> tuple[asyncio.Semaphore, ...]:
        total = (self._total,) if policy.counted else ()
        if policy.concurrency is None:
            return total
        own = self._of_tool.get(tool)
        if own is None:
            own = self._of_tool[tool] = asyncio.Semaphore(policy.concurrency)
        return (own, *total)


async def _take(gate: asyncio.Semaphore, meter: ToolMeter, deadline_s: float) -> None:
    if not gate.locked():
        await gate.acquire()  # without suspending
        return
    meter.waiting.inc()
    try:
        async with asyncio.timeout(deadline_s - time.monotonic()):
            await gate.acquire()
    except TimeoutError:
        raise NoPlace from None
    finally:
        meter.waiting.dec()
