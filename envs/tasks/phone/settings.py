"""Tasks in Settings: radios and the brightness of the screen."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from emulators.device import Device
from envs.tasks.hand import Hand
from envs.tasks.phone.base import PhoneTask, Pool, pick, run
from envs.tasks.task import Check, Outcome
from envs.types import Split

SETTINGS = "com.android.settings"
WIFI_KEY = "settings/global/wifi_on"
BLUETOOTH_KEY = "settings/global/bluetooth_on"
AIRPLANE_KEY = "settings/global/airplane_mode_on"
BRIGHTNESS_KEY = "settings/system/screen_brightness"


@dataclass(frozen=True, kw_only=True)
class RadioTask(PhoneTask):
    """One radio has to end up on or off."""

    apps: ClassVar[tuple[str, ...]] = (SETTINGS,)
    max_turns: ClassVar[int] = 10
    key: ClassVar[str]
    service: ClassVar[str]
    """As `svc` calls it."""
    wanted_on: ClassVar[bool]
    route: ClassVar[tuple[str, ...]]
    """What to tap from the first page of Settings on."""

    other_on: bool
    """State of the other radio, for variety."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> RadioTask:
        return cls(wording=pick(rng, cls.wordings, split), other_on=rng.random() < 0.5)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        other = "bluetooth" if self.service == "wifi" else "wifi"
        await run(
            device,
            f"svc {self.service} {'disable' if self.wanted_on ^ self.holds_untouched else 'enable'}",
            f"svc {other} {'enable' if self.other_on else 'disable'}",
            timeout_s=timeout_s,
        )

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        is_on = outcome.state.get(self.key, "0") != "0"
        return (Check(name=f"{self.service} is {'on' if self.wanted_on else 'off'}", holds=is_on == self.wanted_on),)

    def may_change(self) -> Sequence[str]:
        return (self.key,)

    async def solve(self, hand: Hand) -> None:
        await hand.open("Settings")
        for label in self.route:
            await hand.tap(label)
        await hand.finish()


class WifiOn(RadioTask):
    name: ClassVar[str] = "settings.wifi_on"
    description: ClassVar[str] = "Turn Wi-Fi on"
    key: ClassVar[str] = WIFI_KEY
    service: ClassVar[str] = "wifi"
    wanted_on: ClassVar[bool] = True
    route: ClassVar[tuple[str, ...]] = ("Network & internet", "Internet", "Wi-Fi")
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Wi-Fi on.", "Switch on the Wi-Fi."),
        "validation": ("Enable Wi-Fi.",),
        "test": ("Make sure the phone's Wi-Fi is switched on.",),
    }


class WifiOff(RadioTask):
    name: ClassVar[str] = "settings.wifi_off"
    description: ClassVar[str] = "Turn Wi-Fi off"
    key: ClassVar[str] = WIFI_KEY
    service: ClassVar[str] = "wifi"
    wanted_on: ClassVar[bool] = False
    route: ClassVar[tuple[str, ...]] = ("Network & internet", "Internet", "Wi-Fi")
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Wi-Fi off.", "Switch off the Wi-Fi."),
        "validation": ("Disable Wi-Fi.",),
        "test": ("Make sure the phone's Wi-Fi is switched off.",),
    }


class BluetoothOn(RadioTask):
    name: ClassVar[str] = "settings.bluetooth_on"
    description: ClassVar[str] = "Turn Bluetooth on"
    key: ClassVar[str] = BLUETOOTH_KEY
    service: ClassVar[str] = "bluetooth"
    wanted_on: ClassVar[bool] = True
    route: ClassVar[tuple[str, ...]] = ("Connected devices", "Bluetooth")
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Bluetooth on.", "Switch on Bluetooth."),
        "validation": ("Enable Bluetooth.",),
        "test": ("Make sure that Bluetooth is switched on.",),
    }


class BluetoothOff(RadioTask):
    name: ClassVar[str] = "settings.bluetooth_off"
    description: ClassVar[str] = "Turn Bluetooth off"
    key: ClassVar[str] = BLUETOOTH_KEY
    service: ClassVar[str] = "bluetooth"
    wanted_on: ClassVar[bool] = False
    route: ClassVar[tuple[str, ...]] = ("Connected devices", "Bluetooth")
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Bluetooth off.", "Switch off Bluetooth."),
        "validation": ("Disable Bluetooth.",),
        "test": ("Make sure that Bluetooth is switched off.",),
    }
