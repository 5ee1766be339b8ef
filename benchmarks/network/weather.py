"""What a network does to those who talk through it: seven kinds of fault, each for as long as is wanted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from benchmarks.adversary.proxy import FaultProxy
from benchmarks.network.messages import MessageProxy

SLOW_S: Final = 0.1
"""That each piece is held back in a slow network."""
RESET_EVERY_S: Final = 0.4
KINDS: Final = ("refused", "reset", "black_hole", "slow", "half_closed", "reordered", "duplicated")


class Weather:
    """Stands between clients and a service. Use `weather`."""

    def __init__(self, service: str, bytes_: FaultProxy, messages: MessageProxy) -> None:
        self.messages = messages
        self._service = service
        self._bytes = bytes_

    @property
    def address(self) -> str:
        """Where clients find the service."""
        return self._bytes.address

    async def fault(self, kind: str, seconds: float) -> None:
        """Let one kind of fault go on for so long; afterwards the network is whole again."""
        proxy = self._bytes
        match kind:
            case "refused":
                await proxy.outage(seconds)
            case "reset":
                end_s = asyncio.get_running_loop().time() + seconds
                while asyncio.get_running_loop().time() < end_s:
                    proxy.reset()
                    await asyncio.sleep(RESET_EVERY_S)
            case "black_hole":
                proxy.swallow = True
                proxy.swallow_all()
                await asyncio.sleep(seconds)
                proxy.swallow = False
            case "slow":
                proxy.delay_s = SLOW_S
                await asyncio.sleep(seconds)
                proxy.delay_s = 0.0
            case "half_closed":
                proxy.half_close()
                await asyncio.sleep(seconds)
            case "reordered" | "duplicated":
                self.messages.reorder, self.messages.duplicate = kind == "reordered", kind == "duplicated"
                proxy.lead_to(self.messages.address)
                await asyncio.sleep(seconds)
                proxy.lead_to(self._service)
            case _:
                raise ValueError(f"no fault {kind!r}; known: {', '.join(KINDS)}")


@asynccontextmanager
async def weather(service: str, *, seed: int = 0) -> AsyncIterator[Weather]:
    """Stand before the service at this address for the block."""
    async with MessageProxy(service, rng=random.Random(seed)) as messages, FaultProxy(service) as bytes_:
        yield Weather(service, bytes_, messages)
