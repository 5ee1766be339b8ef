"""Phones that do nothing but take their time: what is left of a step is the service's own cost.

    python -m benchmarks.slow_phones --phones 512 --step-s 0.2

serves the task `load.wait` on such phones, says where in one line of JSON, and ends with its parent.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from rlfactory.emulators.device.device import (
    Device,
    DeviceAction,
    DeviceInfo,
    Image,
    ImageSpec,
    Screen,
    Settled,
    ShellResult,
    Snapshot,
)
from rlfactory.emulators.device.errors import DeviceLost
from rlfactory.emulators.device.pixels import encode
from rlfactory.emulators.device.state import DeviceState
from rlfactory.emulators.device.ui import Bounds, UiNode
from rlfactory.emulators.pool import PoolConfig
from rlfactory.envs.api.types import Split
from rlfactory.envs.service.limits import Limits
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.processes.child import when_parent_ends
from rlfactory.processes.event_loop import run

if TYPE_CHECKING:
    from rlfactory.envs.tasks.ui_driver import UiDriver

TASK: Final = "load.wait"
_WIDTH_PX, _HEIGHT_PX = 540, 1200
_STATE: Final[DeviceState] = MappingProxyType(
    {"foreground": "bench.load/.Main", "settings/global/airplane_mode_on": "0"}
)
_TREE: Final = UiNode(class_name="android.widget.FrameLayout", bounds=Bounds(0, 0, _WIDTH_PX, _HEIGHT_PX))


class SlowDevice:
    """A phone whose every action takes the same time; it always shows the same screen, in the same state."""

    def __init__(self, number: int, step_s: float, image: Image) -> None:
        self._step_s = step_s
        self._image = image
        self._sequence = itertools.count(1)
        self._closed = False
        self._info = DeviceInfo(
            serial=f"slow-{number}",
            width_px=_WIDTH_PX,
            height_px=_HEIGHT_PX,
            density_dpi=210,
            model="Slow",
            sdk=33,
            simulated=True,
        )

    @property
    def info(self) -> DeviceInfo:
        return self._info

    async def act(self, action: DeviceAction, *, timeout_s: float) -> None:
        if self._closed:
            raise DeviceLost(f"{self._info.serial} is closed")
        await asyncio.sleep(self._step_s)

    async def settle(self, *, timeout_s: float) -> Settled:
        return Settled(reason="idle", waited_s=0.0)

    async def observe(self, spec: ImageSpec | None, *, with_tree: bool, timeout_s: float) -> Screen:
        return Screen(
            sequence=next(self._sequence),
            image=self._image if spec else None,
            tree=_TREE if with_tree else None,
            activity=_STATE["foreground"],
            width_px=_WIDTH_PX,
            height_px=_HEIGHT_PX,
        )

    async def screenshot(self, *, timeout_s: float) -> np.ndarray:
        return _pixels()

    async def shell(self, command: str, *, timeout_s: float) -> ShellResult:
        return ShellResult(stdout="here\n", stderr="", exit_code=0)

    async def push(self, path: str, data: bytes, *, timeout_s: float) -> None:
        """It keeps nothing."""

    async def pull(self, path: str, *, timeout_s: float) -> bytes:
        return b""

    async def state(self, *, timeout_s: float) -> DeviceState:
        return _STATE

    async def console(self, command: str, *, timeout_s: float) -> str:
        return ""

    async def save_snapshot(self, *, timeout_s: float) -> Snapshot:
        return Snapshot(name=self._info.serial)

    async def load_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None:
        """It is always in the same state."""

    async def delete_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None:
        """There is nothing to delete."""

    async def close(self) -> None:
        self._closed = True


class SlowSource:
    """Starts slow phones, at once."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._numbers = itertools.count(1)
        self._image = encode(_pixels(), ImageSpec())

    async def start(self) -> SlowDevice:
        return SlowDevice(next(self._numbers), self._step_s, self._image)

    async def stop(self, device: Device) -> None:
        await device.close()

    async def reconnect(self, device: Device) -> None:
        """There is no connection that could be lost."""

    async def memory_bytes(self, device: Device) -> int:
        return 0

    def host(self, device: Device) -> str:
        return "slow"

    async def close(self) -> None:
        """There is nothing to let go of."""


def _pixels() -> np.ndarray:
    return np.full((_HEIGHT_PX, _WIDTH_PX, 4), 255, dtype=np.uint8)


class Waiting(Task):
    """Taps until the turns are over."""

    name = TASK
    suite = "load"
    description = "Tap a phone that takes its time"
    max_turns = 10_000

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Task:
        return cls()

    @property
    def goal(self) -> str:
        return "Tap."

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="finished", holds=outcome.finished),)

    async def solve(self, ui: UiDriver) -> None:
        raise NotImplementedError("the load is not played by an oracle")


async def serve(phones: int, step_s: float) -> None:
    """Serve until the parent ends."""
    config = ServerConfig(limits=Limits(max_sessions=phones, max_turns=10_000), drain_s=1.0)
    gone, loop = asyncio.Event(), asyncio.get_running_loop()
    when_parent_ends(lambda: loop.call_soon_threadsafe(gone.set))
    tasks, pool = TaskRegistry((Waiting,)), PoolConfig(phones=phones)
    async with serving(config, phones=SlowSource(step_s), pool=pool, tasks=tasks) as server:
        print(json.dumps({"address": server.address}), flush=True)
        await gone.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.slow_phones", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--phones", type=int, default=512)
    parser.add_argument("--step-s", type=float, default=0.2, help="how long each action takes")
    arguments = parser.parse_args()
    run(serve(arguments.phones, arguments.step_s))


if __name__ == "__main__":
    main()
