"""What the tests of the pool have in common: real phones in trouble, and a pool that is quick to try again."""

from __future__ import annotations

import time
from collections.abc import Callable

from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import DeviceError, DeviceLost
from rlfactory.emulators.pool import PhoneState, Pool, PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectDevice, DirectSource

T = 20.0


class TroubledSource(DirectSource):
    """Real phones, of which a test may say that they have grown, are gone, or cannot be started."""

    def __init__(self, start_fails: Callable[[int], bool] = lambda attempt: False) -> None:
        super().__init__(PhoneConfig(width_px=270, height_px=600))
        self.start_fails = start_fails
        self.memory: dict[str, int] = {}
        self.gone: set[str] = set()
        self.started: list[str] = []
        self.stopped: list[str] = []
        self.attempts_s: list[float] = []

    @property
    def running(self) -> int:
        return len(self.started) - len(self.stopped)

    async def start(self) -> DirectDevice:
        self.attempts_s.append(time.monotonic())
        if self.start_fails(len(self.attempts_s)):
            raise DeviceError("the host is full")
        device = await super().start()
        self.started.append(device.info.serial)
        return device

    async def stop(self, device: Device) -> None:
        self.stopped.append(device.info.serial)
        await super().stop(device)

    async def reconnect(self, device: Device) -> None:
        if device.info.serial in self.gone:
            raise DeviceLost(f"{device.info.serial} is gone")

    async def memory_bytes(self, device: Device) -> int:
        return self.memory.get(device.info.serial, 100)


def config(phones: int, **more: float) -> PoolConfig:
    return PoolConfig(phones=phones, backoff_s=0.01, **more)  # type: ignore[arg-type]


def states(pool: Pool) -> list[PhoneState]:
    return [phone.state for phone in pool.status()]
