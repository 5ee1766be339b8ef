"""Tasks in Settings: radios, airplane mode and brightness. Those with parameters are in `preferences.py`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone import flows
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, pick, run
from rlfactory.envs.tasks.phone.reading import flag
from rlfactory.envs.tasks.task import Check, Outcome

WIFI = "settings/global/wifi_on"
BLUETOOTH = "settings/global/bluetooth_on"
AIRPLANE = "settings/global/airplane_mode_on"
BRIGHTNESS = "settings/system/screen_brightness"


@dataclass(frozen=True, kw_only=True)
class Start:
    """How Settings stands when the episode begins."""

    wifi: bool
    bluetooth: bool
    brightness: int
    """1..255."""

    @property
    def commands(self) -> tuple[str, ...]:
        return (
            f"svc wifi {'enable' if self.wifi else 'disable'}",
            f"svc bluetooth {'enable' if self.bluetooth else 'disable'}",
            f"settings put system screen_brightness {self.brightness}",
        )


@dataclass(frozen=True, kw_only=True)
class SettingsTask(PhoneTask):
    """Radios end up as asked; those not named are drawn, for variety, and have to stay."""

    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS,)
    wifi: ClassVar[bool | None] = None
    """Wanted; None for no matter of this task."""
    bluetooth: ClassVar[bool | None] = None

    start: Start

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(wording=pick(rng, cls.wordings, split), start=cls.draw_start(rng))

    @classmethod
    def draw_start(cls, rng: random.Random) -> Start:
        def first(wanted: bool | None) -> bool:
            drawn = rng.random() < 0.5
            return drawn if wanted is None else wanted == cls.holds_untouched

        return Start(wifi=first(cls.wifi), bluetooth=first(cls.bluetooth), brightness=rng.randrange(60, 200))

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, self.setup_commands(), timeout_s=timeout_s)

    def setup_commands(self) -> tuple[str, ...]:
        return self.start.commands

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        wanted = {WIFI: self.wifi, BLUETOOTH: self.bluetooth}
        return tuple(
            Check(name=f"{key.rpartition('/')[2]} is {int(on)}", holds=flag(outcome.state, key) == on)
            for key, on in wanted.items()
            if on is not None
        )

    def may_change(self) -> Sequence[str]:
        return tuple(key for key, on in ((WIFI, self.wifi), (BLUETOOTH, self.bluetooth)) if on is not None)

    async def solve(self, hand: Hand) -> None:
        if self.wifi is not None and not self.holds_untouched:
            await flows.toggle_wifi(hand)
        if self.bluetooth is not None and not self.holds_untouched:
            await flows.toggle_bluetooth(hand)
        await hand.finish()


class WifiOn(SettingsTask):
    name: ClassVar[str] = "settings.wifi_on"
    description: ClassVar[str] = "Turn Wi-Fi on"
    wifi: ClassVar[bool | None] = True
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Wi-Fi on.", "Switch on the Wi-Fi."),
        "validation": ("Enable Wi-Fi.",),
        "test": ("This phone's Wi-Fi is off; put it on.",),
    }


class WifiOff(SettingsTask):
    name: ClassVar[str] = "settings.wifi_off"
    description: ClassVar[str] = "Turn Wi-Fi off"
    wifi: ClassVar[bool | None] = False
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Wi-Fi off.", "Switch off the Wi-Fi."),
        "validation": ("Disable Wi-Fi.",),
        "test": ("This phone's Wi-Fi is on; put it off.",),
    }


class BluetoothOn(SettingsTask):
    name: ClassVar[str] = "settings.bluetooth_on"
    description: ClassVar[str] = "Turn Bluetooth on"
    bluetooth: ClassVar[bool | None] = True
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Bluetooth on.", "Switch on Bluetooth."),
        "validation": ("Enable Bluetooth.",),
        "test": ("This phone's Bluetooth is off; put it on.",),
    }


class BluetoothOff(SettingsTask):
    name: ClassVar[str] = "settings.bluetooth_off"
    description: ClassVar[str] = "Turn Bluetooth off"
    bluetooth: ClassVar[bool | None] = False
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn Bluetooth off.", "Switch off Bluetooth."),
        "validation": ("Disable Bluetooth.",),
        "test": ("This phone's Bluetooth is on; put it off.",),
    }


class WifiOnVerify(SettingsTask):
    name: ClassVar[str] = "settings.wifi_on_verify"
    description: ClassVar[str] = "Wi-Fi has to be on, and is"
    holds_untouched: ClassVar[bool] = True
    wifi: ClassVar[bool | None] = True
    wordings: ClassVar[Pool[str]] = {
        "train": ("Make sure that Wi-Fi is on.",),
        "validation": ("See to it that Wi-Fi is on.",),
        "test": ("Check the Wi-Fi switch; it has to be on.",),
    }


class BluetoothOffVerify(SettingsTask):
    name: ClassVar[str] = "settings.bluetooth_off_verify"
    description: ClassVar[str] = "Bluetooth has to be off, and is"
    holds_untouched: ClassVar[bool] = True
    bluetooth: ClassVar[bool | None] = False
    wordings: ClassVar[Pool[str]] = {
        "train": ("Make sure that Bluetooth is off.",),
        "validation": ("See to it that Bluetooth is off.",),
        "test": ("Check the Bluetooth switch; it has to be off.",),
    }


class RadiosOff(SettingsTask):
    name: ClassVar[str] = "settings.radios_off"
    description: ClassVar[str] = "Turn Wi-Fi and Bluetooth off"
    max_turns: ClassVar[int] = 20
    wifi: ClassVar[bool | None] = False
    bluetooth: ClassVar[bool | None] = False
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn off both Wi-Fi and Bluetooth.", "Switch off Bluetooth and Wi-Fi."),
        "validation": ("Disable Wi-Fi and Bluetooth.",),
        "test": ("Save power: Wi-Fi and Bluetooth both have to be off.",),
    }


class WifiOffBluetoothOn(SettingsTask):
    name: ClassVar[str] = "settings.wifi_off_bluetooth_on"
    description: ClassVar[str] = "Swap Wi-Fi for Bluetooth"
    splits: ClassVar[tuple[Split, ...]] = ("test",)
    max_turns: ClassVar[int] = 20
    wifi: ClassVar[bool | None] = False
    bluetooth: ClassVar[bool | None] = True
    wordings: ClassVar[Pool[str]] = {"test": ("Turn off Wi-Fi, then turn on Bluetooth.",)}


@dataclass(frozen=True, kw_only=True)
class AirplaneTask(SettingsTask):
    """Airplane mode takes the radios with it, so these may change."""

    airplane: ClassVar[bool]

    def setup_commands(self) -> tuple[str, ...]:
        before = "disable" if self.airplane else "enable"
        return (*super().setup_commands(), f"cmd connectivity airplane-mode {before}")

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        holds = flag(outcome.state, AIRPLANE) == self.airplane
        return (Check(name=f"airplane_mode_on is {int(self.airplane)}", holds=holds),)

    def may_change(self) -> Sequence[str]:
        return (AIRPLANE, WIFI, BLUETOOTH)

    async def solve(self, hand: Hand) -> None:
        await flows.toggle_airplane_mode(hand)
        await hand.finish()


class AirplaneOn(AirplaneTask):
    name: ClassVar[str] = "settings.airplane_on"
    description: ClassVar[str] = "Turn airplane mode on"
    airplane: ClassVar[bool] = True
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn airplane mode on.", "Switch the phone to airplane mode."),
        "validation": ("Enable airplane mode.",),
        "test": ("The plane is leaving: put airplane mode on.",),
    }


class AirplaneOff(AirplaneTask):
    name: ClassVar[str] = "settings.airplane_off"
    description: ClassVar[str] = "Turn airplane mode off"
    airplane: ClassVar[bool] = False
    wordings: ClassVar[Pool[str]] = {
        "train": ("Turn airplane mode off.", "Take the phone out of airplane mode."),
        "validation": ("Disable airplane mode.",),
        "test": ("The plane has landed: put airplane mode off.",),
    }


@dataclass(frozen=True, kw_only=True)
class BrightnessTask(SettingsTask):
    wanted: ClassVar[int]
    """1 and 255 are the ends of the slider."""

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name=f"brightness is {self.wanted}", holds=outcome.state.get(BRIGHTNESS) == str(self.wanted)),)

    def may_change(self) -> Sequence[str]:
        return (BRIGHTNESS, "settings/system/screen_brightness_float")

    async def solve(self, hand: Hand) -> None:
        await flows.set_brightness(hand, end=1.0 if self.wanted == 255 else 0.0)
        await hand.finish()


class BrightnessMax(BrightnessTask):
    name: ClassVar[str] = "settings.brightness_max"
    description: ClassVar[str] = "Screen brightness to its maximum"
    wanted: ClassVar[int] = 255
    wordings: ClassVar[Pool[str]] = {
        "train": ("Set the screen brightness to its maximum.", "Turn the brightness level all the way up."),
        "validation": ("Make the screen as bright as possible with the brightness slider.",),
        "test": ("I read in the sun: put the brightness slider at its very maximum.",),
    }


class BrightnessMin(BrightnessTask):
    name: ClassVar[str] = "settings.brightness_min"
    description: ClassVar[str] = "Screen brightness to its minimum"
    wanted: ClassVar[int] = 1
    wordings: ClassVar[Pool[str]] = {
        "train": ("Set the screen brightness to its minimum.", "Turn the brightness level all the way down."),
        "validation": ("Make the screen as dim as possible with the brightness slider.",),
        "test": ("It is dark here: put the brightness slider at its very minimum.",),
    }


TASKS: tuple[type[PhoneTask], ...] = (
    WifiOn,
    WifiOff,
    WifiOnVerify,
    BluetoothOn,
    BluetoothOff,
    BluetoothOffVerify,
    RadiosOff,
    WifiOffBluetoothOn,
    AirplaneOn,
    AirplaneOff,
    BrightnessMax,
    BrightnessMin,
)
