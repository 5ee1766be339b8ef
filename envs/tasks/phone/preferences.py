"""Tasks in Settings with parameters: a switch on one of its pages, the screen timeout, the phone's name."""

from __future__ import annotations

import random
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import Name
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, StateTask, Want, pick, run, sample, setting_is
from rlfactory.envs.tasks.phone.flows import common as flows
from rlfactory.envs.tasks.phone.pools import DEVICE_NAMES, POOLS, pool_of
from rlfactory.envs.tasks.phone.wants import setting_says
from rlfactory.envs.tasks.task import Outcome
from rlfactory.envs.tasks.ui_driver import UiDriver

DEVICE_NAME = "settings/global/device_name"
TIMEOUT = "settings/system/screen_off_timeout"


@dataclass(frozen=True, slots=True)
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


SWITCHES: Pool[Switch] = pool_of("switches", Switch)
TIMEOUTS: Pool[tuple[str, int]] = POOLS["timeouts"]
"""Label and milliseconds."""
FIRST_TIMEOUT_MS = 1_800_000


@dataclass(frozen=True, kw_only=True)
class FlipSwitch(StateTask):
    name = "settings.switch"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS,)

    switch: Switch
    on: bool

    @classmethod
    def draw_rest(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"switch": pick(rng, SWITCHES, split), "on": rng.random() < 0.5}

    @property
    def goal(self) -> str:
        return self.wording.format(switch=self.switch, direction="on" if self.on else "off")

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        command = f"settings put {self.switch.namespace} {self.switch.setting} {int(self.on is self.already)}"
        await run(device, [command], timeout_s=timeout_s)

    def wants(self) -> Sequence[Want]:
        wanted = f"{self.switch.title} is {'on' if self.on else 'off'}"
        return (setting_is(self.switch.key, str(int(self.on)), name=wanted),)

    async def perform(self, ui: UiDriver) -> None:
        await flows.see_to(ui, self.switch.page, self.switch.title, change=not self.already)


@dataclass(frozen=True, kw_only=True)
class ScreenTimeout(PhoneTask):
    name = "settings.screen_timeout"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS,)

    label: str
    milliseconds: int

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        label, milliseconds = pick(rng, TIMEOUTS, split)
        return {"label": label, "milliseconds": milliseconds}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        await run(device, [f"settings put system screen_off_timeout {FIRST_TIMEOUT_MS}"], timeout_s=timeout_s)

    def wants(self) -> Sequence[Want]:
        return (setting_is(TIMEOUT, str(self.milliseconds), name=f"the timeout is {self.label}"),)

    async def perform(self, ui: UiDriver) -> None:
        await flows.open_settings(ui, "Display", "Screen timeout", self.label)


@dataclass(frozen=True, kw_only=True)
class ReadDeviceName(PhoneTask):
    name = "settings.device_name"
    apps: ClassVar[tuple[str, ...]] = (flows.SETTINGS,)

    device_name: str
    new_name: str

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        device_name, new_name = (f"{name} {rng.randrange(10, 100)}" for name in sample(rng, DEVICE_NAMES, split, 2))
        return {"device_name": device_name, "new_name": new_name}

    def redraw(self, rng: random.Random) -> dict[str, Any]:
        return {"device_name": f"{self.device_name.rpartition(' ')[0]} {rng.randrange(10, 100)}"}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        await run(device, [f"settings put global device_name {shlex.quote(self.device_name)}"], timeout_s=timeout_s)

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        return {"the answer is the device name": Name(text=self.device_name).accepts(outcome.answer)}

    async def perform(self, ui: UiDriver) -> str | None:
        return await flows.read_device_name(ui)


class RenameDevice(ReadDeviceName):
    name = "settings.rename_device"

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        return {}

    def wants(self) -> Sequence[Want]:
        return (setting_says(DEVICE_NAME, self.new_name, name=f"the phone is called {self.new_name}"),)

    async def perform(self, ui: UiDriver) -> None:
        await flows.open_settings(ui, "About phone", "Device name")
        await ui.type(self.new_name, into="device_name_edit", clear=True)
        await ui.tap("OK")


TASKS: tuple[type[PhoneTask], ...] = (FlipSwitch, ScreenTimeout, ReadDeviceName, RenameDevice)
