"""Tasks in Settings: radios, airplane mode and brightness. Those with parameters are in `preferences.py`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import PhoneTask, Want, run, setting_is
from rlfactory.envs.tasks.phone.flows import common as flows
from rlfactory.envs.tasks.phone.wants import BLUETOOTH, WIFI, airplane_is
from rlfactory.envs.tasks.task import variant
from rlfactory.envs.tasks.ui_driver import UiDriver

BRIGHTNESS = "settings/system/screen_brightness"
BRIGHTNESS_FLOAT = "settings/system/screen_brightness_float"
"""What newer phones keep beside it."""


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
    def draw_rest(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        def first(wanted: bool | None) -> bool:
            drawn = rng.random() < 0.5
            return drawn if wanted is None else wanted == cls.holds_untouched

        return {"start": Start(wifi=first(cls.wifi), bluetooth=first(cls.bluetooth), brightness=rng.randrange(60, 200))}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await run(device, self.setup_commands(), timeout_s=timeout_s)

    def setup_commands(self) -> tuple[str, ...]:
        return self.start.commands

    def wants(self) -> Sequence[Want]:
        wanted = {WIFI: self.wifi, BLUETOOTH: self.bluetooth}
        return tuple(setting_is(key, str(int(on))) for key, on in wanted.items() if on is not None)

    async def perform(self, ui: UiDriver) -> None:
        if self.wifi is not None and not self.holds_untouched:
            await flows.toggle_wifi(ui)
        if self.bluetooth is not None and not self.holds_untouched:
            await flows.toggle_bluetooth(ui)


@dataclass(frozen=True, kw_only=True)
class AirplaneTask(SettingsTask):
    """Airplane mode takes the radios with it, so these may change."""

    airplane: ClassVar[bool]

    def setup_commands(self) -> tuple[str, ...]:
        before = "disable" if self.airplane else "enable"
        return (*super().setup_commands(), f"cmd connectivity airplane-mode {before}")

    def wants(self) -> Sequence[Want]:
        radios = () if self.airplane else ((WIFI, self.start.wifi), (BLUETOOTH, self.start.bluetooth))
        return airplane_is(on=self.airplane, radios={key: str(int(on)) for key, on in radios})

    async def perform(self, ui: UiDriver) -> None:
        await flows.toggle_airplane_mode(ui)


@dataclass(frozen=True, kw_only=True)
class BrightnessTask(SettingsTask):
    wanted: ClassVar[int]
    """1 and 255 are the ends of the slider."""

    def wants(self) -> Sequence[Want]:
        return (
            setting_is(BRIGHTNESS, str(self.wanted), name=f"brightness is {self.wanted}", beside=(BRIGHTNESS_FLOAT,)),
        )

    async def perform(self, ui: UiDriver) -> None:
        await flows.set_brightness(ui, end=1.0 if self.wanted == 255 else 0.0)


TASKS: tuple[type[PhoneTask], ...] = (
    variant(SettingsTask, "settings.wifi_on", wifi=True),
    variant(SettingsTask, "settings.wifi_off", wifi=False),
    variant(SettingsTask, "settings.wifi_on_verify", wifi=True, holds_untouched=True),
    variant(SettingsTask, "settings.bluetooth_on", bluetooth=True),
    variant(SettingsTask, "settings.bluetooth_off", bluetooth=False),
    variant(SettingsTask, "settings.bluetooth_off_verify", bluetooth=False, holds_untouched=True),
    variant(SettingsTask, "settings.radios_off", wifi=False, bluetooth=False),
    variant(SettingsTask, "settings.wifi_off_bluetooth_on", wifi=False, bluetooth=True),
    variant(AirplaneTask, "settings.airplane_on", airplane=True),
    variant(AirplaneTask, "settings.airplane_off", airplane=False),
    variant(BrightnessTask, "settings.brightness_max", wanted=255),
    variant(BrightnessTask, "settings.brightness_min", wanted=1),
)
