"""Tasks in Settings with parameters: a switch on one of its pages, the screen timeout, the phone's name."""

from __future__ import annotations

import random
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone import flows
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, pick, run, same_answer, sample
from rlfactory.envs.tasks.phone.pools import DEVICE_NAMES
from rlfactory.envs.tasks.phone.reading import flag
from rlfactory.envs.tasks.task import Check, Outcome

DEVICE_NAME = "settings/global/device_name"
TIMEOUT = "settings/system/screen_off_timeout"


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    """A switch of Settings over one key that is "0" or "1"."""

    page: str
    """Label on the first page of Settings."""
    title: str
    namespace: str
    setting: str

    @property
    def key(self) -> str:
        return f"settings/{self.namespace}/{self.setting}"


SWITCHES: Pool[Switch] = {
    "train": (
        Switch(page="Notifications", title="Heads-up notifications", namespace="global",
               setting="heads_up_notifications_enabled"),
        Switch(page="Notifications", title="Bubbles", namespace="secure", setting="notification_bubbles"),
        Switch(page="Accessibility", title="High contrast text", namespace="secure",
               setting="high_text_contrast_enabled"),
        Switch(page="Accessibility", title="Mono audio", namespace="system", setting="master_mono"),
        Switch(page="Display", title="Adaptive brightness", namespace="system", setting="screen_brightness_mode"),
    ),
    "validation": (
        Switch(page="Accessibility", title="Color inversion", namespace="secure",
               setting="accessibility_display_inversion_enabled"),
        Switch(page="Privacy", title="Show passwords", namespace="system", setting="show_password"),
    ),
    "test": (
        Switch(page="Accessibility", title="Extra dim", namespace="secure", setting="reduce_bright_colors_activated"),
        Switch(page="Display", title="Auto-rotate screen", namespace="system", setting="accelerometer_rotation"),
        Switch(page="Battery", title="Battery percentage", namespace="system",
               setting="status_bar_show_battery_percent"),
    ),
}  # fmt: skip

TIMEOUTS: Pool[tuple[str, int]] = {
    "train": (("30 seconds", 30_000), ("1 minute", 60_000), ("5 minutes", 300_000)),
    "validation": (("15 seconds", 15_000), ("10 minutes", 600_000)),
    "test": (("2 minutes", 120_000),),
}
"""Label and milliseconds."""
FIRST_TIMEOUT_MS = 1_800_000


@dataclass(frozen=True, kw_only=True)
class FlipSwitch(PhoneTask):
    name: ClassVar[str] = "settings.switch"
    description: ClassVar[str] = "Turn a switch of a Settings page on or off"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS,)
    wordings: ClassVar[Pool[str]] = {
        "train": (
            'In Settings, under {switch.page}, turn "{switch.title}" {direction}.',
            'Turn {direction} the switch "{switch.title}" on the {switch.page} page of Settings.',
        ),
        "validation": ('Put the Settings switch "{switch.title}" ({switch.page}) {direction}.',),
        "test": ('I want "{switch.title}" to be {direction}; it is in Settings under {switch.page}.',),
    }

    switch: Switch
    on: bool

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(wording=pick(rng, cls.wordings, split), switch=pick(rng, SWITCHES, split), on=rng.random() < 0.5)

    @property
    def goal(self) -> str:
        return self.wording.format(switch=self.switch, direction="on" if self.on else "off")

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        command = f"settings put {self.switch.namespace} {self.switch.setting} {int(not self.on)}"
        await run(device, [command], timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        holds = flag(outcome.state, self.switch.key) == self.on
        return (Check(name=f"{self.switch.title} is {'on' if self.on else 'off'}", holds=holds),)

    def may_change(self) -> Sequence[str]:
        return (self.switch.key,)

    async def solve(self, hand: Hand) -> None:
        await flows.open_settings(hand, self.switch.page, self.switch.title)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class ScreenTimeout(PhoneTask):
    name: ClassVar[str] = "settings.screen_timeout"
    description: ClassVar[str] = "Choose when the screen turns off"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS,)
    wordings: ClassVar[Pool[str]] = {
        "train": ("Set the screen timeout to {label}.", "Let the screen turn off after {label} of inactivity."),
        "validation": ("Change the screen timeout in the display settings to {label}.",),
        "test": ("The screen should go dark when the phone was not used for {label}. Set that up.",),
    }

    label: str
    milliseconds: int

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        label, milliseconds = pick(rng, TIMEOUTS, split)
        return cls(wording=pick(rng, cls.wordings, split), label=label, milliseconds=milliseconds)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, [f"settings put system screen_off_timeout {FIRST_TIMEOUT_MS}"], timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        holds = outcome.state.get(TIMEOUT) == str(self.milliseconds)
        return (Check(name=f"the timeout is {self.label}", holds=holds),)

    def may_change(self) -> Sequence[str]:
        return (TIMEOUT,)

    async def solve(self, hand: Hand) -> None:
        await flows.open_settings(hand, "Display", "Screen timeout", self.label)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class ReadDeviceName(PhoneTask):
    name: ClassVar[str] = "settings.device_name"
    description: ClassVar[str] = "Say what the phone is called"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS,)
    wordings: ClassVar[Pool[str]] = {
        "train": ("What is the device name of this phone? Answer with the name only.",),
        "validation": ("Which device name does Settings show under About phone? Answer with just that name.",),
        "test": ("Look up how this phone is named under About phone, and answer with that device name only.",),
    }

    device_name: str
    new_name: str

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        device_name, new_name = sample(rng, DEVICE_NAMES, split, 2)
        return cls(wording=pick(rng, cls.wordings, split), device_name=device_name, new_name=new_name)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, [f"settings put global device_name {shlex.quote(self.device_name)}"], timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="the answer is the device name", holds=same_answer(outcome.answer, self.device_name)),)

    async def solve(self, hand: Hand) -> None:
        await hand.finish(answer=await flows.read_device_name(hand))


class RenameDevice(ReadDeviceName):
    name: ClassVar[str] = "settings.rename_device"
    description: ClassVar[str] = "Give the phone another name"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Change the device name of this phone to {new_name}.",),
        "validation": ("Rename this phone to {new_name} in the About phone settings.",),
        "test": ("This phone should be known as {new_name}; set that device name in Settings.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        holds = outcome.state.get(DEVICE_NAME) == self.new_name
        return (Check(name=f"the phone is called {self.new_name}", holds=holds),)

    def may_change(self) -> Sequence[str]:
        return (DEVICE_NAME,)

    async def solve(self, hand: Hand) -> None:
        await flows.open_settings(hand, "About phone", "Device name")
        await hand.type(self.new_name, into="device_name_edit", clear=True)
        await hand.tap("OK")
        await hand.finish()


TASKS: tuple[type[PhoneTask], ...] = (FlipSwitch, ScreenTimeout, ReadDeviceName, RenameDevice)
