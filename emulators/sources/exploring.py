"""`rlfactory transitions`: a simulated phone of this process explored, and what it did written to shards."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.console import Console
from rich.progress import track

from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.emulators.transitions.make import WalkConfig, transitions
from rlfactory.emulators.transitions.shards import Shards

__all__ = ["PhoneConfig", "WalkConfig", "explore"]


def explore(out: Path, count: int, phone: PhoneConfig, walks: WalkConfig, *, rows: int) -> dict[str, int]:
    """Write so many transitions, `rows` a file; return how many rows there are of each kind.

    Raises: OSError: the folder cannot be written.
    """
    return asyncio.run(_explore(out, count, phone, walks, rows))


async def _explore(out: Path, count: int, phone: PhoneConfig, walks: WalkConfig, rows: int) -> dict[str, int]:
    shards = Shards(out, seed=walks.seed, rows=rows)
    source = DirectSource(phone, threads=1)
    made = transitions(await source.start(), walks)
    console = Console(stderr=True)
    for _ in track(range(count), "exploring", console=console, transient=True, disable=not console.is_terminal):
        shards.add(await anext(made))
    shards.close()
    await made.aclose()
    await source.close()
    return shards.counts
