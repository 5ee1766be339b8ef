"""How the oracles get about: Settings. By what is on the screen only, as an agent would."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from envs.tasks.hand import Hand

SETTINGS = "com.android.settings"


async def open_settings(hand: Hand, *route: str) -> None:
    """Open Settings and go down by these labels, scrolling to each."""
    await hand.open("Settings")
    for label in route:
        await find_and_tap(hand, label)


async def find_and_tap(hand: Hand, text: str) -> None:
    """Tap what has this text, scrolling to it first when it is not in view."""
    if not hand.sees(text):
        await hand.scroll_to(text)
    await hand.tap(text)


async def toggle_wifi(hand: Hand) -> None:
    await open_settings(hand, "Network & internet", "Internet", "Wi-Fi")


async def toggle_bluetooth(hand: Hand) -> None:
    await open_settings(hand, "Connected devices", "Connection preferences", "Bluetooth", "Use Bluetooth")


async def toggle_airplane_mode(hand: Hand) -> None:
    await open_settings(hand, "Network & internet", "Airplane mode")


async def set_brightness(hand: Hand, *, end: float) -> None:
    """Tap the brightness slider at one end: 0.0 left, 1.0 right."""
    await open_settings(hand, "Display", "Brightness level")
    left, top, right, bottom = bounds_of(hand, class_name="android.widget.SeekBar")
    await hand.tap_at(left + 1 if end < 0.5 else right - 2, (top + bottom) // 2)


async def read_device_name(hand: Hand) -> str:
    await open_settings(hand, "About phone")
    return text_below(hand, "Device name")


def nodes(hand: Hand) -> Sequence[ET.Element]:
    """Return the nodes on the screen, in drawing order."""
    return list(ET.fromstring(hand.observation.tree_xml).iter("node"))


def texts(hand: Hand) -> list[str]:
    """Return every visible text, in drawing order."""
    return [node.get("text", "") for node in nodes(hand) if node.get("text")]


def text_below(hand: Hand, label: str) -> str:
    """Return the text that follows a label. Raises: LookupError: there is none."""
    shown = texts(hand)
    if label not in shown[:-1]:
        raise LookupError(f"nothing follows {label!r} among {shown}")
    return shown[shown.index(label) + 1]


def bounds_of(hand: Hand, *, class_name: str) -> tuple[int, int, int, int]:
    """Return left, top, right, bottom of the first node of a class. Raises: LookupError: there is none."""
    for node in nodes(hand):
        if node.get("class") == class_name:
            left, top, right, bottom = node.get("bounds", "").replace("][", ",").strip("[]").split(",")
            return int(left), int(top), int(right), int(bottom)
    raise LookupError(f"no {class_name} on the screen")
