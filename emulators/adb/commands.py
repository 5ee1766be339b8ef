"""What `AdbDevice` says to a phone's shell, and how it reads the answers. Pure."""

from __future__ import annotations

import re
import struct
from typing import Final, assert_never

import numpy as np

from rlfactory.emulators.device.device import DoubleTap, Drag, LongPress, PressKey, Swipe, Tap, Wait
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.keys import key_name
from rlfactory.emulators.device.launching import LaunchableApp

FOREGROUND: Final = "dumpsys activity activities | grep -m 1 ResumedActivity"
LAUNCHABLE_APPS: Final = (
    "cmd package query-activities -a android.intent.action.MAIN -c android.intent.category.LAUNCHER"
)
FRAME: Final = f"echo before$({FOREGROUND}); screencap; echo; echo after$({FOREGROUND})"
"""One stream with the foreground activity, a raw frame, and the foreground activity again."""
DEVICE_FACTS: Final = (
    "wm size; wm density; getprop ro.product.model; getprop ro.build.version.sdk; getprop sys.boot_completed"
)

_COMPONENT = re.compile(r"ResumedActivity(?:=|: )ActivityRecord\{\S+ \S+ ([^\s/]+/[^\s}]+)")
_SIZE = re.compile(r"(?:Override|Physical) size: (\d+)x(\d+)")
_DENSITY = re.compile(r"(?:Override|Physical) density: (\d+)")
_RGBA_8888: Final = (1, 2)
"""PixelFormat RGBA_8888 and RGBX_8888."""


def action_command(action: Tap | DoubleTap | LongPress | Swipe | Drag | PressKey | Wait) -> str:
    """Return the shell command of an action. Raises: ActionRejected: no such key."""
    match action:
        case Tap(x, y):
            command = f"input tap {x} {y}"
        case DoubleTap(x, y):
            command = f"input tap {x} {y} && input tap {x} {y}"
        case LongPress(x, y, duration_s):
            command = f"input swipe {x} {y} {x} {y} {_ms(duration_s)}"
        case Swipe(x1, y1, x2, y2, duration_s):
            command = f"input swipe {x1} {y1} {x2} {y2} {_ms(duration_s)}"
        case Drag(x1, y1, x2, y2, duration_s):
            command = f"input draganddrop {x1} {y1} {x2} {y2} {_ms(duration_s)}"
        case PressKey(key):
            command = f"input keyevent KEYCODE_{key_name(key)}"
        case Wait(duration_s):
            command = f"sleep {_ms(duration_s) / 1000:.3f}"

        case _:
            assert_never(action)
    return command


def _ms(duration_s: float) -> int:
    return round(duration_s * 1000)


def parse_component(text: str) -> str:
    """Return `package/class` of the resumed activity; "" when none is."""
    found = _COMPONENT.search(text)
    return found[1] if found else ""


def parse_frame(output: bytes | bytearray) -> tuple[str, np.ndarray, str]:
    """Read what `FRAME` printed: foreground before, pixels (uint8 [H, W, 4], a view of `output`), foreground after.

    Raises: DeviceError: there is no frame in it.
    """
    begin, end = output.find(b"\n") + 1, output.rfind(b"\nafter")
    if not output.startswith(b"before") or end - begin < 16:
        raise DeviceError(f"no screenshot came: {bytes(output[:200])!r}")
    return (
        parse_component(output[:begin].decode("utf-8", "replace")),
        parse_raw(output, begin, end),
        parse_component(output[end:].decode("utf-8", "replace")),
    )


def parse_raw(output: bytes | bytearray, begin: int = 0, end: int | None = None) -> np.ndarray:
    """Read a frame of `screencap`: three or (since Android 9) four words of header, then rows of RGBA.

    Returns: uint8 [H, W, 4], a view of `output`; the fourth channel means nothing.
    Raises: DeviceError: another format.
    """
    length = (len(output) if end is None else end) - begin
    if length < struct.calcsize("<3I"):
        raise DeviceError(f"no screenshot came: {length} bytes")
    width, height, pixel_format = struct.unpack_from("<3I", output, begin)
    size = width * height * 4
    header = length - size
    if pixel_format not in _RGBA_8888 or header not in (12, 16):
        raise DeviceError(f"unknown screenshot format {pixel_format}, {width}x{height} in {length} bytes")
    return np.frombuffer(output, np.uint8, size, begin + header).reshape(height, width, 4)


def parse_size(facts: str) -> tuple[int, int]:
    """Return width and height of `wm size`: the override, which comes last, before the physical size."""
    sizes = _SIZE.findall(facts)
    if not sizes:
        raise DeviceError(f"no screen size in {facts[:200]!r}")
    width, height = sizes[-1]
    return int(width), int(height)


def parse_density(facts: str) -> int:
    densities = _DENSITY.findall(facts)
    return int(densities[-1]) if densities else 160


def parse_apps(listing: str) -> tuple[LaunchableApp, ...]:
    """Read `cmd package query-activities`: one block an activity, its label where the manifest spells it out."""
    apps = []
    for block in re.split(r"^\s*Activity #\d+:\s*$", listing, flags=re.MULTILINE)[1:]:
        name = re.search(r"^\s*name=(\S+)", block, re.MULTILINE)
        package = re.search(r"^\s*packageName=(\S+)", block, re.MULTILINE)
        labels = [
            label
            for label in re.findall(r"nonLocalizedLabel=(.*?)(?: icon=.*)?$", block, re.MULTILINE)
            if label != "null"
        ]
        if name and package:
            label = labels[0] if labels else WELL_KNOWN_LABELS.get(package[1], "")
            apps.append(LaunchableApp(package=package[1], component=f"{package[1]}/{name[1]}", label=label))
    return tuple(apps)


WELL_KNOWN_LABELS: Final = {
    "com.android.camera2": "Camera",
    "com.android.chrome": "Chrome",
    "com.android.settings": "Settings",
    "com.android.vending": "Play Store",
    "com.google.android.apps.maps": "Maps",
    "com.google.android.apps.messaging": "Messages",
    "com.google.android.apps.photos": "Photos",
    "com.google.android.calendar": "Calendar",
    "com.google.android.contacts": "Contacts",
    "com.google.android.deskclock": "Clock",
    "com.google.android.dialer": "Phone",
    "com.google.android.documentsui": "Files",
    "com.google.android.gm": "Gmail",
    "com.google.android.youtube": "YouTube",
    "net.gsantner.markor": "Markor",
}
"""Labels of apps whose manifest names a resource, which no shell command resolves."""
