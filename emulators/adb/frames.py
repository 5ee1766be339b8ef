"""Where the pictures of a phone come from: every source that works is timed once, and the best one is kept.

The emulator's gRPC and `screencap` are lossless; uiautomator2's JPEG is not. So a JPEG is chosen only where lossless
frames are painfully slow (seconds for a `screencap`, as on emulators without KVM), and never for `Device.screenshot`.
Where a JPEG as large as the screen is what is wanted, nothing is lost by taking the phone's, if that is quicker.
"""

from __future__ import annotations

import asyncio
import base64
import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import PIL.Image

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.commands import parse_raw
from rlfactory.emulators.adb.uiautomator import Uiautomator
from rlfactory.emulators.device.device import Image
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.pixels import taken_as_it_is

PAINFUL_S: Final = 0.5
"""Lossless frames that take longer give way to a JPEG that takes half the time or less."""
_TRIES: Final = 2
"""The first frame of a source pays for connections and codecs."""
_QUALITY: Final = 90


class FrameSource(Protocol):
    """One way to a phone's pixels."""

    name: str
    lossless: bool

    async def frame(self) -> np.ndarray:
        """Return the screen as it is now: uint8 [H, W, 3 or 4], upright. Raises: DeviceError."""
        ...


class ScreencapFrames:
    """Android's own `screencap`, raw, over adb. Works on every phone."""

    name = "screencap"
    lossless = True

    def __init__(self, adb: AdbClient, serial: str) -> None:
        self._adb = adb
        self._serial = serial

    async def frame(self) -> np.ndarray:
        return parse_raw(await self._adb.execute(self._serial, "screencap"))


class UiautomatorFrames:
    """A JPEG by uiautomator2's server, over the connection that is open anyway."""

    name = "uiautomator2 JPEG"
    lossless = False

    def __init__(self, uiautomator: Uiautomator) -> None:
        self._uiautomator = uiautomator

    async def frame(self) -> np.ndarray:
        with PIL.Image.open(io.BytesIO((await self.jpeg(_QUALITY)).data)) as picture:
            return np.asarray(picture.convert("RGB"))

    async def jpeg(self, quality: int) -> Image:
        """Return the screen as it is now, encoded by the phone. Raises: DeviceError."""
        encoded = await self._uiautomator.look("takeScreenshot", 1, quality)
        try:
            return taken_as_it_is(base64.b64decode(encoded or ""))
        except ValueError as error:
            raise DeviceError(f"uiautomator2 took no screenshot: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class FrameChoice:
    """The source that a phone's pictures are taken from."""

    source: FrameSource
    reason: str
    """Why this one: what each source that was tried took, or failed with."""
    lossless: FrameSource
    """The fastest lossless one, which may be `source` itself."""
    jpegs: UiautomatorFrames | None
    """What encodes JPEGs on the phone, where that is quicker than a lossless frame."""


async def choose_frames(sources: Sequence[FrameSource], *, patience_s: float) -> FrameChoice:
    """Time the sources and return the best one.

    Args: patience_s: for each source; one that takes longer is out.
    Raises: DeviceError: no lossless source works.
    """
    took_s: dict[FrameSource, float] = {}
    findings = []
    for source in sources:
        try:
            took_s[source] = await _time(source, patience_s)
            findings.append(f"{source.name} {took_s[source] * 1000:.0f} ms")
        except (DeviceError, TimeoutError) as error:
            findings.append(f"{source.name}: {str(error) or f'no frame within {patience_s:g} s'}")
    reason = ", ".join(findings)
    lossless = min((each for each in took_s if each.lossless), key=took_s.__getitem__, default=None)
    if lossless is None:
        raise DeviceError(f"no source of lossless frames works: {reason}")
    best = min(took_s, key=took_s.__getitem__)
    painful = took_s[lossless] > PAINFUL_S and took_s[best] <= took_s[lossless] / 2
    return FrameChoice(
        source=best if painful else lossless,
        reason=reason,
        lossless=lossless,
        jpegs=best if isinstance(best, UiautomatorFrames) else None,
    )


async def _time(source: FrameSource, patience_s: float) -> float:
    """Return the seconds that a frame takes, the best of some tries."""
    best_s = patience_s
    async with asyncio.timeout(patience_s):
        for _ in range(_TRIES):
            started_s = time.perf_counter()
            await source.frame()
            best_s = min(best_s, time.perf_counter() - started_s)
    return best_s
