"""The screen: wm, screencap, uiautomator."""

from __future__ import annotations

import re
import struct
from typing import Final

from rlfactory.emulators.device.device import ImageSpec
from rlfactory.emulators.device.ui import to_xml
from rlfactory.emulators.simulator.android.radios import put_setting
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError
from rlfactory.emulators.simulator.view.drawing.render import rgba

table = CommandTable()
_DEFAULT_DUMP: Final = "/sdcard/window_dump.xml"
_RGBA_8888: Final = 1
_SRGB: Final = 1


@table.command("wm")
def _wm(context: Context) -> int:
    config, display = context.phone.config, context.state.display
    match context.args:
        case ["size"]:
            context.line(f"Physical size: {config.width_px}x{config.height_px}")
            if display.size_override:
                context.line("Override size: {}x{}".format(*display.size_override))
        case ["size", "reset"]:
            display.size_override = None
        case ["size", text]:
            display.size_override = _size(text)
        case ["density"]:
            context.line(f"Physical density: {config.density}")
            if display.density_override:
                context.line(f"Override density: {display.density_override}")
        case ["density", "reset"]:
            display.density_override = None
        case ["density", text]:
            display.density_override = _density(text)
        case ["user-rotation", "lock", turns] if turns in {"0", "1", "2", "3"}:
            put_setting(context.state, "system", "accelerometer_rotation", "0")
            put_setting(context.state, "system", "user_rotation", turns)
        case ["user-rotation", *_] | ["dismiss-keyguard" | "set-user-rotation" | "overscan" | "scaling", *_]:
            pass
        case _:
            context.line("Window manager (window) commands:\n  size [reset|WxH]\n  density [reset|DENSITY]")
            return 255
    context.phone.invalidate()
    return 0


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{3,4})x(\d{3,4})", text)
    width, height = (int(match.group(1)), int(match.group(2))) if match else (0, 0)
    if not (160 <= width <= 4096 and 160 <= height <= 4096):
        raise UsageError(f"Error: bad size {text}")
    return width, height


def _density(text: str) -> int:
    if not (text.isdigit() and len(text) < 5 and 72 <= int(text) <= 1200):
        raise UsageError(f"Error: bad density {text}")
    return int(text)


@table.command("screencap")
def _screencap(context: Context) -> None:
    words = [word for word in context.args if word not in {"-p", "-a"}]
    if words[:1] == ["-d"]:
        words = words[2:]
    as_png = "-p" in context.args or (bool(words) and words[-1].lower().endswith(".png"))
    data = context.phone.encode(ImageSpec(format="png")).data if as_png else _raw(context)
    if words and words[-1] != "-":
        context.files.write(context.path(words[-1]), data)
    else:
        context.write(data)


def _raw(context: Context) -> bytes:
    """Return the frame as screencap's own format: size, pixel format, colour space, then RGBA bytes."""
    scene = context.phone.scene()
    return struct.pack("<4I", scene.width_px, scene.height_px, _RGBA_8888, _SRGB) + rgba(scene)


@table.command("uiautomator")
def _uiautomator(context: Context) -> None:
    if context.args[:1] != ["dump"]:
        raise UsageError("usage: uiautomator dump [--compressed] [file]")
    names = [word for word in context.args[1:] if not word.startswith("--")]
    target = names[0] if names else _DEFAULT_DUMP
    text = to_xml(context.phone.ui_tree(), rotation=context.state.display.rotation)
    if target in {"/dev/tty", "/dev/stdout"}:
        context.out(text)
    else:
        context.files.write(context.path(target), text.encode("utf-8", "replace"))
    # The misspelling is Android's, and clients look for it.
    context.line(f"UI hierchary dumped to: {target}")
