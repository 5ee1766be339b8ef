"""What can be done on a screen, drawn from its UI tree: the actions that transitions are made of."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from rlfactory.emulators.device.device import DeviceAction, LongPress, OpenApp, PressKey, Screen, Swipe, Tap, TypeText
from rlfactory.emulators.device.ui import Bounds, UiNode

APPS: Final = ("Settings", "Contacts", "Clock", "Markor", "Files")
KEYS: Final = ("BACK", "BACK", "HOME", "ENTER", "APP_SWITCH")
WORDS: Final = ("milk", "Anna", "12", "report", "call back", "2024", "x@y.org", "Berlin")
OFF_TARGET: Final = 0.05
"""Share of taps at a random place: what happens where nothing listens is part of what a phone does."""


def inside(node: UiNode, screen: Screen) -> Bounds | None:
    """Return what of a node lies on the screen; None if nothing does."""
    left, top = max(0, node.bounds.left), max(0, node.bounds.top)
    right, bottom = min(screen.width_px, node.bounds.right), min(screen.height_px, node.bounds.bottom)
    return Bounds(left, top, right, bottom) if left < right and top < bottom else None


def actions(screen: Screen, rng: random.Random) -> list[DeviceAction]:
    """Return what there is to do, each thing once, in random order; taps lie anywhere inside of what they are for."""
    found = list(_on_nodes(screen, rng))
    for _ in range(1 + round(OFF_TARGET * len(found))):
        found.append(Tap(rng.randrange(screen.width_px), rng.randrange(screen.height_px)))
    found += [PressKey(rng.choice(KEYS)), OpenApp(rng.choice(APPS))]
    rng.shuffle(found)
    return found


def _on_nodes(screen: Screen, rng: random.Random) -> Iterator[DeviceAction]:
    assert screen.tree is not None
    for node in screen.tree.walk():
        box = inside(node, screen)
        if box is None or not node.enabled:
            continue
        x, y = rng.randrange(box.left, box.right), rng.randrange(box.top, box.bottom)
        if node.clickable:
            yield Tap(x, y)
        if node.long_clickable:
            yield LongPress(x, y)
        if node.scrollable:
            up = rng.random() < 0.7
            first, last = (box.bottom - 1, box.top) if up else (box.top, box.bottom - 1)
            yield Swipe(x, first + (last - first) // 4, x, last - (last - first) // 4)
        if node.focused:
            yield TypeText(rng.choice(WORDS))
