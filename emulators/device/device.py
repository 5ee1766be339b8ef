"""The contract of a phone: what sessions need of it, whatever it is made of.

`AdbDevice` (any phone behind an adb serial) and `DirectDevice` (a simulated phone in this process) both fulfil it and
pass the same contract suite. Coordinates are device pixels of the current orientation, origin top left. Every call
takes a deadline in seconds and raises `DeviceTimeout` past it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from rlfactory.emulators.device.errors import ActionRejected
from rlfactory.emulators.device.state import DeviceState
from rlfactory.emulators.device.ui import UiNode

ImageFormat = Literal["jpeg", "png", "webp"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceInfo:
    serial: str
    width_px: int
    height_px: int
    density_dpi: int
    model: str
    sdk: int
    simulated: bool
    """Only for reports; nothing may behave differently because of it."""


# --- actions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tap:
    x_px: int
    y_px: int


@dataclass(frozen=True, slots=True)
class DoubleTap:
    x_px: int
    y_px: int


@dataclass(frozen=True, slots=True)
class LongPress:
    x_px: int
    y_px: int
    duration_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Swipe:
    """A finger put down at (x1, y1), moved in a line, lifted at (x2, y2)."""

    x1_px: int
    y1_px: int
    x2_px: int
    y2_px: int
    duration_s: float = 0.3


@dataclass(frozen=True, slots=True)
class Drag:
    """Long press at (x1, y1), then move what was picked up to (x2, y2)."""

    x1_px: int
    y1_px: int
    x2_px: int
    y2_px: int
    duration_s: float = 1.0


@dataclass(frozen=True, slots=True)
class TypeText:
    """Text entered into the focused field, as by the keyboard; a newline is the Enter key."""

    text: str


@dataclass(frozen=True, slots=True)
class PressKey:
    """An Android key by name without prefix: HOME, BACK, ENTER, DEL, APP_SWITCH, MENU, VOLUME_UP, ..."""

    key: str


@dataclass(frozen=True, slots=True)
class OpenApp:
    """Open an installed app by its label (case-insensitive) or its package."""

    name: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Let the phone's time pass."""

    duration_s: float


DeviceAction = Tap | DoubleTap | LongPress | Swipe | Drag | TypeText | PressKey | OpenApp | Wait


def require_on_screen(action: DeviceAction, width_px: int, height_px: int) -> None:
    """Check the points of an action.

    Raises: ActionRejected: a point lies off the screen of `width_px` x `height_px`.
    """
    match action:
        case Tap(x, y) | DoubleTap(x, y) | LongPress(x, y):
            points: tuple[tuple[int, int], ...] = ((x, y),)
        case Swipe(x1, y1, x2, y2) | Drag(x1, y1, x2, y2):
            points = ((x1, y1), (x2, y2))
        case _:
            points = ()
    for x, y in points:
        if not (0 <= x < width_px and 0 <= y < height_px):
            raise ActionRejected(f"point ({x}, {y}) is off the screen of {width_px} x {height_px} pixels")


# --- what a phone shows --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSpec:
    """How a screenshot is wanted."""

    format: ImageFormat = "jpeg"
    quality: int = 80
    """1 to 100, for jpeg and webp."""
    max_pixels: int | None = None
    """The screenshot is scaled down, keeping its shape, until width x height is at most this. None: device size."""
    multiple_px: int = 1
    """Width and height become multiples of this (a model's patch multiple, 28 or 32)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """An encoded picture."""

    data: bytes
    format: ImageFormat
    width_px: int
    height_px: int
    digest: str
    """Content hash (hex, 32 digits) of the encoded bytes: equal pictures have equal digests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """One atomic observation: picture, tree and activity belong to the same moment."""

    sequence: int
    """Counts the observations of this device; strictly rising."""
    image: Image | None
    tree: UiNode | None
    activity: str
    """Foreground component, `package/class`."""
    width_px: int
    """Of the device in its current orientation (the image may be smaller)."""
    height_px: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """Why `settle` returned, and after how long."""

    reason: Literal["still", "idle", "deadline"]
    """still: no new frame came for a while. idle: two looks in a row were equal. deadline: neither, in time."""
    waited_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellResult:
    stdout: str
    stderr: str
    exit_code: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """A saved state of a phone that phones of the same host can load."""

    name: str


class Device(Protocol):
    """A phone in our hands. One caller at a time."""

    @property
    def info(self) -> DeviceInfo: ...

    async def act(self, action: DeviceAction, *, timeout_s: float) -> None:
        """Carry out one action, exactly once.

        Raises:
            ActionRejected: the action makes no sense here (point off the screen, unknown app or key); nothing was done.
            DeviceLost, DeviceTimeout: the phone failed; whether the action took place is unknown.
        """
        ...

    async def settle(self, *, timeout_s: float) -> Settled:
        """Return when the screen is at rest, or at the deadline (never raises for an unquiet screen)."""
        ...

    async def observe(self, spec: ImageSpec | None, *, with_tree: bool, timeout_s: float) -> Screen:
        """Look at the screen. None: no picture is wanted, and none is encoded."""
        ...

    async def screenshot(self, *, timeout_s: float) -> np.ndarray:
        """Return the screen as it is now: RGB, uint8 [H, W, 3], lossless, in the current orientation."""
        ...

    async def shell(self, command: str, *, timeout_s: float) -> ShellResult:
        """Run a command line in the phone's shell."""
        ...

    async def push(self, path: str, data: bytes, *, timeout_s: float) -> None: ...

    async def pull(self, path: str, *, timeout_s: float) -> bytes:
        """Raises: CommandFailed: no such file."""
        ...

    async def state(self, *, timeout_s: float) -> DeviceState:
        """Everything adb can see that an episode may change, as a flat mapping (`rlfactory.emulators.device.state`)."""
        ...

    async def console(self, command: str, *, timeout_s: float) -> str:
        """Say one line to the emulator's console ("sms send NUMBER TEXT"), and return what it prints.

        Raises: CommandFailed, DeviceError: it answered KO. DeviceUnsupported: this phone has no console.
        """
        ...

    async def save_snapshot(self, *, timeout_s: float) -> Snapshot: ...

    async def load_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None: ...

    async def delete_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None: ...

    async def close(self) -> None:
        """Let go of the connection (the phone lives on). Never raises."""
        ...
