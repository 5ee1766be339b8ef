"""The world that a goal is asked for in: how the phone looks and what else is on it. None of it is the goal's business,
but where things are depends on it, and so has to be seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeVar

from rlfactory.emulators.device.device import DeviceInfo

T = TypeVar("T")

DENSITIES: Final = (0.7, 1.28)
"""Of the phone's own: the sizes that Settings offers under "Display size" go further."""
LEAST_HEIGHT_DP: Final = 712
"""A phone on which less is to be seen has dialogs that do not fit."""
FONT_SCALES: Final = (0.85, 1.5)
MOST_BESIDE: Final = 20
"""Enough for a list that has to be scrolled."""
MOST_FOLDERS: Final = 9
SETTINGS: Final = "com.android.settings"
LEFT_OPEN: Final = (".Settings", ".Settings$NetworkDashboardActivity", ".Settings$WifiSettingsActivity")
"""Pages of Settings, each opened from the one before."""
THINGS: Final = (
    *("accounts", "addresses", "airports", "almanac", "antiques", "apples", "art", "atlas", "birthdays", "cinema"),
    *("doctor", "electricity", "furniture", "guitar", "hiking", "insurance"),
    *("jackets", "kitchen", "lottery", "museum", "neighbours", "opera", "paint", "quotes", "radio", "school"),
    *("theatre", "umbrella", "vitamins", "windows", "yoghurt", "zoo"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Sizes, theme and places, as its owner may have chosen them, and how much lies beside what the goal is about."""

    density: float = 1.0
    font_scale: float = 1.0
    dark: bool = False
    launcher_order: int = 0
    """Which icons lie where; 0: as on a new phone."""
    depth: int = 0
    """How many pages deep Settings was left."""
    beside: int = 0
    """Contacts, alarms, notes and files, of each kind so many."""
    folders: int = 0
    """Among the notes: they come first, and move all."""
    chance: int = 0
    """Which ones."""

    @classmethod
    def draw(cls, rng: random.Random) -> Self:
        return cls(
            density=round(rng.uniform(*DENSITIES), 3),
            font_scale=round(rng.uniform(*FONT_SCALES), 2),
            dark=rng.random() < 0.5,
            launcher_order=rng.randrange(1, 10_000),
            depth=rng.randrange(len(LEFT_OPEN)),
            beside=rng.randint(0, MOST_BESIDE),
            folders=rng.randint(0, MOST_FOLDERS),
            chance=rng.randrange(10_000),
        )

    def commands(self, info: DeviceInfo, apps: Sequence[str]) -> tuple[str, ...]:
        """Return what brings the phone to look so, as shell commands; of these `apps` some were left open."""
        most = info.height_px * 160 / LEAST_HEIGHT_DP
        pages = LEFT_OPEN[: self.depth + 1] if self.depth and SETTINGS in apps else ()
        opened = [f"am start -n '{SETTINGS}/{page}'" for page in pages]
        return (
            f"wm density {round(min(info.density_dpi * self.density, most))}",
            f"settings put system font_scale {self.font_scale}",
            f"cmd uimode night {'yes' if self.dark else 'no'}",
            f"settings put secure launcher_order {self.launcher_order}",
            *opened,
            *(("input keyevent KEYCODE_HOME",) if opened else ()),
        )

    def things(self, make: Callable[[random.Random, str], T]) -> tuple[T, ...]:
        """Return what lies beside, each made of chance and a word of its own."""
        rng = random.Random(self.chance)
        return tuple(make(rng, word) for word in rng.sample(THINGS, self.beside))
