"""How many transitions a core makes in a second, at 540x1200 with UI tree and JPEG, written as Parquet."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.trust.check import Check, Finding, Size
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.emulators.transitions.make import WalkConfig, transitions
from rlfactory.emulators.transitions.shards import Shards

TRANSITIONS: Final = 3000
WARM_UP: Final = 100
"""Fonts and caches are made on first use."""
LEAST_PER_S: Final = 100.0


async def explore(count: int) -> float:
    """Return the seconds of processor time that so many took."""
    source = DirectSource(PhoneConfig(width_px=540, height_px=1200), threads=1)
    with tempfile.TemporaryDirectory(prefix="rlfactory-transitions-") as folder:
        shards, made = Shards(Path(folder), seed=0), transitions(await source.start(), WalkConfig())
        for _ in range(WARM_UP):
            shards.add(await anext(made))
        begun_s = time.process_time()
        for _ in range(count):
            shards.add(await anext(made))
        shards.close()
        used_s = time.process_time() - begun_s
        await made.aclose()
    await source.close()
    return used_s


def run(size: Size) -> Finding:
    count = size.sample or TRANSITIONS
    per_s = round(count / asyncio.run(explore(count)), 1)
    faults = () if per_s >= LEAST_PER_S else (f"{per_s} transitions a second and core, fewer than {LEAST_PER_S:g}",)
    return Finding(figures={"transitions_per_s_core": per_s}, faults=faults)


CHECK: Final = Check(
    name="transitions", what=f"A core makes {LEAST_PER_S:g} transitions a second (`transitions_per_s_core`).", run=run
)
