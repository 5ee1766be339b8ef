"""Tasks for a model of a million parameters: what to do is drawn on the screen and told nowhere in words.

Most open a real page of Settings with its switches in random positions and name two of them in the goal. At least one
is wrong at the start; which, only the picture shows. Flipping a switch that was right breaks the goal, and flipping
one that the goal does not name is a side effect. In another a dialog may be in the way. Places do not move, so sight
decides between few actions.

Splits differ in the combination of goal and initial state: what is validated was never trained.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from emulators.device import Device, ImageSpec, Tap
from emulators.state import DeviceState
from envs.tasks.hand import Hand
from envs.tasks.phone.base import ALWAYS_ALLOWED, run
from envs.tasks.task import Check, Outcome, Task
from envs.types import Split

SETTINGS = "com.android.settings"
AIRPLANE = "settings/global/airplane_mode_on"

_SPLITS: Sequence[Split] = ("train", "validation", "train", "test")
"""By the remainder of a combination's number."""


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
            pair = sorted(rng.sample(range(cls.named), 2))
            wanted = {index: rng.random() < 0.5 for index in pair}
            wrong = rng.choice((pair[:1], pair[1:], pair))
            start = tuple(
                wanted[index] != (index in wrong) if index in wanted else rng.random() < 0.5
                for index in range(len(cls.switches))
            )
            if _split_of(start, wanted) == split:
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
    """Return the split of a combination. It turns on the goal and on the switches that the goal leaves alone.

    So in every split, for every goal, each of the two named switches is wrong equally often, and both are: no split
    can be solved better than another without looking.
    """
    others = [on for index, on in enumerate(start) if index not in wanted]
    number = sum(on << place for place, on in enumerate(others))
    number += sum(on << place for place, on in enumerate(wanted.values())) + sum(wanted)
    return _SPLITS[number % len(_SPLITS)]


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


class Security(SwitchPage):
    name: ClassVar[str] = "tiny.security"
    description: ClassVar[str] = "Set two switches of Settings > Security"
    activity: ClassVar[str] = ".Settings$SecuritySettingsActivity"
    switches: ClassVar[tuple[Switch, ...]] = (
        Switch(title="Google Play Protect", namespace="global", setting="package_verifier_enable"),
        Switch(title="Find My Device", namespace="secure", setting="find_my_device_enabled"),
        Switch(title="Lock instantly with power button", namespace="secure", setting="power_button_instantly_locks"),
    )


class Location(SwitchPage):
    name: ClassVar[str] = "tiny.location"
    description: ClassVar[str] = "Set two switches of Settings > Location"
    activity: ClassVar[str] = ".Settings$LocationSettingsActivity"
    switches: ClassVar[tuple[Switch, ...]] = (
        Switch(title="Use location", namespace="secure", setting="location_mode", on="3"),
        Switch(title="Wi-Fi scanning", namespace="global", setting="wifi_scan_always_enabled"),
        Switch(title="Bluetooth scanning", namespace="global", setting="ble_scan_always_enabled"),
    )


@dataclass(frozen=True, kw_only=True)
class DialogInTheWay(Task):
    """Airplane mode has to be switched, but there may be a dialog before the page; choosing in it is a side effect."""

    name: ClassVar[str] = "tiny.dialog"
    suite: ClassVar[str] = "tiny"
    description: ClassVar[str] = "Switch airplane mode; a dialog may be in the way"
    apps: ClassVar[tuple[str, ...]] = (SETTINGS,)
    max_turns: ClassVar[int] = 4
    nuisances: ClassVar[tuple[Switch, ...]] = (
        Switch(title="Data Saver", namespace="global", setting="data_saver_enabled"),
        Switch(title="Hotspot", namespace="global", setting="wifi_ap_enabled"),
    )
    """Drawn as subtitles of the page; splits differ in them."""

    airplane: bool
    """Wanted; the opposite holds at first."""
    dialog: bool
    look: tuple[bool, ...]

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        while True:
            look = tuple(rng.random() < 0.5 for _ in cls.nuisances)
            if _SPLITS[sum(on << place for place, on in enumerate(look)) % len(_SPLITS)] == split:
                return cls(airplane=rng.random() < 0.5, dialog=rng.random() < 0.5, look=look)

    @property
    def goal(self) -> str:
        return f"Turn Airplane mode {'on' if self.airplane else 'off'}."

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        commands = [switch.put(on) for switch, on in zip(self.nuisances, self.look, strict=True)]
        commands.append(f"cmd connectivity airplane-mode {'disable' if self.airplane else 'enable'}")
        commands.append(f"am start -n '{SETTINGS}/.Settings$NetworkDashboardActivity'")
        await run(device, commands, timeout_s=timeout_s)
        if self.dialog:
            await _tap(device, "Private DNS", timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        on = outcome.state.get(AIRPLANE) == "1"
        return (Check(name=f"Airplane mode is {'on' if self.airplane else 'off'}", holds=on == self.airplane),)

    def allowed(self) -> Sequence[str]:
        return (*ALWAYS_ALLOWED, AIRPLANE, "settings/global/wifi_on", "settings/global/bluetooth_on")

    async def solve(self, hand: Hand) -> None:
        if self.dialog:
            await hand.tap("Cancel")
        await hand.tap("Airplane mode")
        await hand.finish()


async def _tap(device: Device, text: str, *, timeout_s: float) -> None:
    """Tap what has this text. Raises: LookupError: nothing on the screen has it."""
    screen = await device.observe(ImageSpec(), with_tree=True, timeout_s=timeout_s)
    for node in screen.tree.walk() if screen.tree else ():
        if node.text == text:
            x_px, y_px = node.bounds.center
            await device.act(Tap(x_px, y_px), timeout_s=timeout_s)
            return
    raise LookupError(f"nothing on the screen says {text!r}")


TINY_TASKS: tuple[type[Task], ...] = (Privacy, Accessibility, Security, Location, DialogInTheWay)
