"""What phones cost inside one process: start, reset, fork, memory. Run by `benchmarks.phones` in a fresh process."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass

import psutil

from benchmarks.figures import percentile_ms
from rlfactory.emulators.device.device import Device, DeviceAction, ImageSpec, OpenApp, PressKey, Swipe, Tap, TypeText
from rlfactory.emulators.device.state import digest
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource

PHONES = 16
ROUNDS = 60
TIMEOUT_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoneFigures:
    """Medians in milliseconds, megabytes of 10^6 bytes."""

    first_start_ms: float
    start_ms: float
    reset_ms: float
    fork_ms: float
    mb_per_phone: float
    """Growth of the process by 16 phones in use, caches and all, over 16."""


def tour(width_px: int, height_px: int, phone: int) -> list[DeviceAction]:
    """Return actions that lead through several screens, other ones on each phone: what is drawn is then not shared."""
    scroll = Swipe(width_px // 2, height_px * 3 // 4, width_px // 2, height_px // 4)
    seen: list[DeviceAction] = []
    for app in ("Settings", "Contacts", "Clock", "Files"):
        seen += [OpenApp(app), Tap(width_px // 2, height_px * (4 + phone) // 24), scroll, PressKey("BACK")]
    search: list[DeviceAction] = [PressKey("HOME"), OpenApp("Settings"), Tap(width_px // 2, height_px * 21 // 100)]
    typed = [TypeText(letter) for letter in f"phone {phone}"]
    return [*seen, *search, *typed, PressKey("HOME")]


async def use(device: Device, actions: list[DeviceAction]) -> None:
    for action in actions:
        await device.act(action, timeout_s=TIMEOUT_S)
        await device.settle(timeout_s=TIMEOUT_S)
        await device.observe(ImageSpec(), with_tree=True, timeout_s=TIMEOUT_S)


async def measure(width_px: int, height_px: int) -> PhoneFigures:
    """Start sixteen phones in this process, use each, and return what they cost."""
    source = DirectSource(PhoneConfig(width_px=width_px, height_px=height_px))
    actions = tour(width_px, height_px, 0)
    devices: list[Device] = []
    start_s: list[float] = []
    before_bytes = psutil.Process().memory_info().rss
    for phone in range(PHONES):
        started_s = time.perf_counter()
        devices.append(await source.start())
        start_s.append(time.perf_counter() - started_s)
        await use(devices[-1], tour(width_px, height_px, phone))
    grown_bytes = psutil.Process().memory_info().rss - before_bytes
    figures = PhoneFigures(
        first_start_ms=percentile_ms(start_s[:1], 0.5),
        start_ms=percentile_ms(start_s[1:], 0.5),
        reset_ms=percentile_ms(await resets(devices[0], actions), 0.5),
        fork_ms=percentile_ms(await forks(devices[0], devices[1], actions), 0.5),
        mb_per_phone=round(grown_bytes / PHONES / 1e6, 2),
    )
    for device in devices:
        await source.stop(device)
    await source.close()
    return figures


async def resets(device: Device, actions: list[DeviceAction]) -> list[float]:
    """Return the seconds of bringing a used phone back to a saved state and verifying its state hash."""
    golden = await device.save_snapshot(timeout_s=TIMEOUT_S)
    wanted = digest(await device.state(timeout_s=TIMEOUT_S))
    seconds = []
    for index in range(ROUNDS):
        await use(device, [actions[index % len(actions)], *actions[:3]])
        started_s = time.perf_counter()
        await device.load_snapshot(golden, timeout_s=TIMEOUT_S)
        if digest(await device.state(timeout_s=TIMEOUT_S)) != wanted:
            raise RuntimeError("a reset left another state")
        seconds.append(time.perf_counter() - started_s)
    return seconds


async def forks(parent: Device, child: Device, actions: list[DeviceAction]) -> list[float]:
    """Return the seconds of bringing a second phone to the state of the first."""
    seconds = []
    for index in range(ROUNDS):
        await use(parent, [actions[index % len(actions)]])
        started_s = time.perf_counter()
        snapshot = await parent.save_snapshot(timeout_s=TIMEOUT_S)
        await child.load_snapshot(snapshot, timeout_s=TIMEOUT_S)
        seconds.append(time.perf_counter() - started_s)
        await parent.delete_snapshot(snapshot, timeout_s=TIMEOUT_S)
    return seconds


def main() -> None:
    width_px, height_px = (int(side) for side in sys.argv[1:3])
    print(json.dumps(asdict(asyncio.run(measure(width_px, height_px)))))


if __name__ == "__main__":
    main()
