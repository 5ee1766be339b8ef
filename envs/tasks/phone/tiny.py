"""Tasks for a model of a million parameters: what to do is drawn on the screen and told nowhere in words.

Each opens a real page of Settings with its switches in random positions and names two of them in the goal. At least
one is wrong at the start; which, only the picture shows. Flipping a switch that was right breaks the goal, and
flipping one that the goal does not name is a side effect. Places do not move, so sight decides between few actions.

Splits differ in the combination of goal and initial switches: what is validated was never trained.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from emulators.device import Device
from emulators.state import DeviceState
from envs.tasks.hand import Hand
from envs.tasks.phone.base import ALWAYS_ALLOWED, run
from envs.tasks.task import Check, Outcome, Task
from envs.types import Split

SETTINGS = "com.android.settings"

_SPLIT_OF: Mapping[int, Split] = {0: "validation", 1: "test"}
"""By the remainder of a combination's number; the others are for training."""
_SPLIT_MODULUS = 5


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A switch on a page of Settings and the setting behind it."""

    title: str
    """As drawn, and in the goal."""
    namespace: str
    setting: str
    on: str = "1"
    off: str = "0"

    @property
    def key(self) -> str:
        return f"settings/{self.namespace}/{self.setting}"

    def put(self, on: bool) -> str:
        return f"settings put {self.namespace} {self.setting} {self.on if on else self.off}"

    def is_on(self, state: DeviceState) -> bool:
        return state.get(self.key) == self.on


@dataclass(frozen=True, kw_only=True)
class SwitchPage(Task):
    """Two switches of a page have to come to stand as the goal says."""

    suite: ClassVar[str] = "tiny"
    apps: ClassVar[tuple[str, ...]] = (SETTINGS,)
    max_turns: ClassVar[int] = 4
    activity: ClassVar[str]
    """Class name of the page, with its leading dot."""
    switches: ClassVar[tuple[Switch, ...]]
    """All switches of the page, top to bottom; the goal is about two of the first `named`."""
    named: ClassVar[int] = 2

    start: tuple[bool, ...]
    """How the switches stand at first."""
    wanted: Mapping[int, bool]
    """By index: how the two have to stand in the end."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        while True:
            start = tuple(rng.random() < 0.5 for _ in cls.switches)
            first, second = sorted(rng.sample(range(cls.named), 2))
            wanted = {first: rng.random() < 0.5, second: rng.random() < 0.5}
            wrong = any(start[index] != on for index, on in wanted.items())
            if wrong and _split_of(start, wanted) == split:
                return cls(start=start, wanted=wanted)

    @property
    def goal(self) -> str:
        parts = [f"{self.switches[index].title} {'on' if on else 'off'}" for index, on in self.wanted.items()]
        return f"Turn {' and '.join(parts)}."

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        commands = [switch.put(on) for switch, on in zip(self.switches, self.start, strict=True)]
        commands.append(f"am start -n '{SETTINGS}/{self.activity}'")
        await run(device, commands, timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return tuple(
            Check(
                name=f"{self.switches[index].title} is {'on' if on else 'off'}",
                holds=self.switches[index].is_on(outcome.state) == on,
            )
            for index, on in self.wanted.items()
        )

    def allowed(self) -> Sequence[str]:
        return (*ALWAYS_ALLOWED, *(self.switches[index].key for index in self.wanted))

    async def solve(self, hand: Hand) -> None:
        for index, on in self.wanted.items():
            if self.start[index] != on:
                await hand.tap(self.switches[index].title)
        await hand.finish()


def _split_of(start: Sequence[bool], wanted: Mapping[int, bool]) -> Split:
    """Return the split that a combination belongs to, the same on every machine."""
    bits = (*start, *(on for index, on in sorted(wanted.items())))
    # A multiplicative hash: neighbouring combinations, which differ in one switch, fall into different splits.
    number = sum(1 << place for place, bit in enumerate(bits) if bit) * 2654435761 % (1 << 32)
    return _SPLIT_OF.get((number >> 7) % _SPLIT_MODULUS, "train")


class Privacy(SwitchPage):
    name: ClassVar[str] = "tiny.privacy"
    description: ClassVar[str] = "Set two switches of Settings > Privacy"
    activity: ClassVar[str] = ".Settings$PrivacyDashboardActivity"
    switches: ClassVar[tuple[Switch, ...]] = (
        Switch(title="Camera access", namespace="secure", setting="camera_access_enabled"),
        Switch(title="Microphone access", namespace="secure", setting="microphone_access_enabled"),
        Switch(title="Show clipboard access", namespace="secure", setting="clipboard_show_access_notifications"),
        Switch(title="Show passwords", namespace="system", setting="show_password"),
    )


class Accessibility(SwitchPage):
    name: ClassVar[str] = "tiny.accessibility"
    description: ClassVar[str] = "Set two switches of Settings > Accessibility"
    activity: ClassVar[str] = ".Settings$AccessibilitySettingsActivity"
    switches: ClassVar[tuple[Switch, ...]] = (
        Switch(title="Color inversion", namespace="secure", setting="accessibility_display_inversion_enabled"),
        Switch(title="Extra dim", namespace="secure", setting="reduce_bright_colors_activated"),
        Switch(title="High contrast text", namespace="secure", setting="high_text_contrast_enabled"),
        Switch(title="Magnification", namespace="secure", setting="accessibility_display_magnification_enabled"),
    )


TINY_TASKS: tuple[type[Task], ...] = (Privacy, Accessibility)
