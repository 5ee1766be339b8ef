"""Simulated phones of which some fail and some hang: `python -m benchmarks.trainer.faulty_phones --while FILE`.

Serves the tiny tasks, says where in one line of JSON, and ends with its parent. As long as FILE exists, a phone dies in
the midst of an episode with one probability, and each call hangs until its deadline with another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlfactory.emulators.device.device import Device, DeviceAction, Snapshot
from rlfactory.emulators.device.errors import DeviceLost, DeviceTimeout
from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.service.limits import Limits
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.processes.child import when_parent_ends
from rlfactory.processes.event_loop import run

Chance = Callable[[float], bool]


class FaultyDevice:
    """A phone of ours that may die, and may leave a call without an answer."""

    def __init__(self, device: Device, *, happens: Chance, dies: float, hangs: float) -> None:
        self._device: Any = device
        self._happens = happens
        self._dies, self._hangs = dies, hangs
        self._dead = self._doomed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    async def load_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None:
        """Every episode begins with it."""
        await self._device.load_snapshot(snapshot, timeout_s=timeout_s)
        self._doomed = self._happens(self._dies)

    async def act(self, action: DeviceAction, *, timeout_s: float) -> None:
        self._dead = self._dead or self._doomed
        if self._dead:
            raise DeviceLost(f"{self._device.info.serial} died")
        if self._happens(self._hangs):
            await self._silence(timeout_s)
        await self._device.act(action, timeout_s=timeout_s)

    async def shell(self, command: str, *, timeout_s: float) -> Any:
        if self._dead:
            raise DeviceLost(f"{self._device.info.serial} died")
        return await self._device.shell(command, timeout_s=timeout_s)

    async def _silence(self, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.Event().wait()
        except TimeoutError:
            raise DeviceTimeout(f"{self._device.info.serial} did not answer within {timeout_s:.1f} s") from None


class FaultySource(DirectSource):
    """Starts them."""

    def __init__(self, config: PhoneConfig, **faults: Any) -> None:
        super().__init__(config)
        self._faults = faults

    async def start(self) -> Any:
        return FaultyDevice(await super().start(), **self._faults)


async def serve(asked: argparse.Namespace) -> None:
    """Serve until the parent ends."""
    gone, loop, draw = asyncio.Event(), asyncio.get_running_loop(), random.Random(asked.seed)
    when_parent_ends(lambda: loop.call_soon_threadsafe(gone.set))

    def happens(chance: float) -> bool:
        return asked.trigger.exists() and draw.random() < chance

    screen = PhoneConfig(width_px=480, height_px=800)
    source = FaultySource(screen, happens=happens, dies=asked.dies, hangs=asked.hangs)
    limits, pool = Limits(max_sessions=2 * asked.phones), PoolConfig(phones=asked.phones, spares=4)
    async with serving(ServerConfig(limits=limits, drain_s=1.0), phones=source, pool=pool) as server:
        print(json.dumps({"address": server.address}), flush=True)
        await gone.wait()


def main() -> None:
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trainer.faulty_phones", description=about)
    parser.add_argument("--while", dest="trigger", type=Path, required=True, metavar="FILE")
    parser.add_argument("--phones", type=int, default=64)
    parser.add_argument("--dies", type=float, default=0.1, help="chance of a phone, in each episode")
    parser.add_argument("--hangs", type=float, default=0.05, help="chance of a call")
    parser.add_argument("--seed", type=int, default=1)
    run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
