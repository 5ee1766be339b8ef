"""Tasks in Settings: radios, airplane mode and brightness. Those with parameters are in `preferences.py`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rlfactory.emulators.device.device import Device
from rlfactory.envs.tasks.phone.base import PhoneTask, StateTask, Want, first_state, run, setting_is
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
    airplane: bool = False

    @property
    def commands(self) -> tuple[str, ...]:
        return (
            f"svc wifi {'enable' if self.wifi else 'disable'}",
            f"svc bluetooth {'enable' if self.bluetooth else 'disable'}",
            f"settings put system screen_brightness {self.brightness}",
            f"cmd connectivity airplane-mode {'enable' if self.airplane else 'disable'}",  # last: it takes the radios
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
    def draw_world(cls, rng: random.Random) -> dict[str, Any]:
        def first(wanted: bool | None) -> bool:
            return rng.random() < 0.5 if wanted is None else first_state(rng, wanted)

        start = Start(wifi=first(cls.wifi), bluetooth=first(cls.bluetooth), brightness=rng.randrange(60, 200))
        return {**super().draw_world(rng), "start": start}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        await run(device, self.start.commands, timeout_s=timeout_s)

    @property
    def is_so_already(self) -> bool:
        radios = ((self.wifi, self.start.wifi), (self.bluetooth, self.start.bluetooth))
        wanted = [(end, start) for end, start in radios if end is not None]
        return bool(wanted) and all(end is start for end, start in wanted)

    def wants(self) -> Sequence[Want]:
        wanted = {WIFI: self.wifi, BLUETOOTH: self.bluetooth}
        return tuple(setting_is(key, str(int(on))) for key, on in wanted.items() if on is not None)

    async def perform(self, ui: UiDriver) -> None:
        for route, wanted, start in (
            (flows.WIFI, self.wifi, self.start.wifi),
            (flows.BLUETOOTH, self.bluetooth, self.start.bluetooth),
        ):
            if wanted is not None:
                await flows.see_to(ui, *route, change=wanted is not start)


@dataclass(frozen=True, kw_only=True)
class AirplaneTask(SettingsTask):
    """Airplane mode takes the radios with it, so these may change."""

    airplane: ClassVar[bool]

    @classmethod
    def draw_world(cls, rng: random.Random) -> dict[str, Any]:
        world = super().draw_world(rng)
        return {**world, "start": replace(world["start"], airplane=first_state(rng, cls.airplane))}

    @property
    def is_so_already(self) -> bool:
        return self.airplane is self.start.airplane

    def wants(self) -> Sequence[Want]:
        radios = () if self.airplane else ((WIFI, self.start.wifi), (BLUETOOTH, self.start.bluetooth))
        return airplane_is(on=self.airplane, radios={key: str(int(on)) for key, on in radios})

    async def perform(self, ui: UiDriver) -> None:
        await flows.see_to(ui, *flows.AIRPLANE_MODE, change=self.airplane is not self.start.airplane)


@dataclass(frozen=True, kw_only=True)
class BrightnessTask(StateTask, SettingsTask):
    wanted: ClassVar[int]
    """1 and 255 are the ends of the slider."""

    @classmethod
    def draw_world(cls, rng: random.Random) -> dict[str, Any]:
        world = super().draw_world(rng)
        return {**world, "start": replace(world["start"], brightness=cls.wanted)} if world["already"] else world

    def wants(self) -> Sequence[Want]:
        return (
            setting_is(BRIGHTNESS, str(self.wanted), name=f"brightness is {self.wanted}", beside=(BRIGHTNESS_FLOAT,)),
        )

    async def perform(self, ui: UiDriver) -> None:
        if self.already:
            await flows.see_to(ui, "Display", "Brightness level", change=True)
        else:
            await flows.set_brightness(ui, end=1.0 if self.wanted == 255 else 0.0)


TASKS: tuple[type[PhoneTask], ...] = (
    variant(SettingsTask, "settings.wifi_on", wifi=True),
    variant(SettingsTask, "settings.wifi_off", wifi=False),
    variant(SettingsTask, "settings.bluetooth_on", bluetooth=True),
    variant(SettingsTask, "settings.bluetooth_off", bluetooth=False),
    variant(SettingsTask, "settings.radios_off", wifi=False, bluetooth=False),
    variant(SettingsTask, "settings.wifi_off_bluetooth_on", wifi=False, bluetooth=True),
    variant(AirplaneTask, "settings.airplane_on", airplane=True),
    variant(AirplaneTask, "settings.airplane_off", airplane=False),
    variant(BrightnessTask, "settings.brightness_max", wanted=255),
    variant(BrightnessTask, "settings.brightness_min", wanted=1),
)
