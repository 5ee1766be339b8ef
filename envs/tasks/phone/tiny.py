"""Tasks for a model of a million parameters: what to do is drawn on the screen and told nowhere in words.

Each opens a real page of Settings and asks that something be on, or off. Half the time it already is, and then the job
is to say so: whoever acts, or finishes, without looking fails every other episode. In one of them a dialog may stand
before the page. Places do not move, so sight decides between few actions.

Splits differ in how the goal is worded, and in how the rest of the screen looks (status icons, the clock's format,
other settings of the page).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

from rlfactory.emulators.device.device import Device, Tap
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import run
from rlfactory.envs.tasks.phone.wants import OFF_IN_THE_AIR
from rlfactory.envs.tasks.task import Check, Outcome, Task, variant
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tasks.wordings import draw_wording, split_of

SETTINGS = "com.android.settings"

BEGINNINGS: Final = ("Make sure that", "See to it that", "Check that", "I want it so that")
ENDS: Final = (".", ", please.", " now.", " for me.")


@dataclass(frozen=True, kw_only=True)
class Knob:
    """Something of the phone that is on or off."""

    name: str
    """As the goal calls it."""
    key: str
    """In the state that adb can see."""
    turn_on: str
    """Shell command."""
    turn_off: str
    on: str = "1"
    """What the state says when it is on."""
    off: str = "0"
    takes: tuple[Knob, ...] = ()
    """What it takes with it."""

    def put(self, on: bool) -> str:
        return self.turn_on if on else self.turn_off


def _setting(name: str, namespace: str, key: str, *, on: str = "1", off: str = "0") -> Knob:
    put = f"settings put {namespace} {key}"
    return Knob(
        name=name, key=f"settings/{namespace}/{key}", turn_on=f"{put} {on}", turn_off=f"{put} {off}", on=on, off=off
    )


WIFI = Knob(name="Wi-Fi", key="settings/global/wifi_on", turn_on="svc wifi enable", turn_off="svc wifi disable")
BLUETOOTH = Knob(
    name="Bluetooth",
    key="settings/global/bluetooth_on",
    turn_on="svc bluetooth enable",
    turn_off="svc bluetooth disable",
)
AIRPLANE = Knob(
    name="airplane mode",
    key="settings/global/airplane_mode_on",
    turn_on="cmd connectivity airplane-mode enable",
    turn_off="cmd connectivity airplane-mode disable",
    takes=(WIFI, BLUETOOTH),
)
DARK_THEME = _setting("dark theme", "secure", "ui_night_mode", on="2", off="1")
TWELVE_HOURS = _setting("12-hour clock", "system", "time_12_24", on="12", off="24")
THEMED_ICONS = _setting("themed icons", "secure", "themed_icons_enabled")
DATA_SAVER = _setting("Data Saver", "global", "data_saver_enabled")
HOTSPOT = _setting("hotspot", "global", "wifi_ap_enabled")


@dataclass(frozen=True, kw_only=True)
class KnobTask(Task):
    """Something has to be on, or off, on the page that is shown."""

    suite: ClassVar[str] = "tiny"
    apps: ClassVar[tuple[str, ...]] = (SETTINGS,)
    max_turns: ClassVar[int] = 2
    activity: ClassVar[str]
    """Class name of the page, with its leading dot."""
    knob: ClassVar[Knob]
    label: ClassVar[str]
    """What the page calls the switch."""
    looks: ClassVar[tuple[Knob, Knob]]
    """What else shows on the screen; the task is not about it."""

    wanted: bool
    start: bool
    look: tuple[bool, bool]
    wording: tuple[str, str]
    """How the goal begins and ends."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        numbers = [number for number in range(4) if split_of(number) == split]
        number = rng.choice(numbers)
        return cls(
            wanted=rng.random() < 0.5,
            start=rng.random() < 0.5,
            look=(bool(number & 1), bool(number & 2)),
            **cls.sample_more(rng),
            wording=draw_wording(rng, split, BEGINNINGS, ENDS),
        )

    def elsewhere(self, rng: random.Random) -> Self:
        return replace(self, start=rng.random() < 0.5, **self.sample_more(rng))

    @classmethod
    def sample_more(cls, rng: random.Random) -> dict[str, Any]:
        """Draw what a subclass adds."""
        del rng
        return {}

    @property
    def goal(self) -> str:
        beginning, end = self.wording
        return f"{beginning} {self.knob.name} is {'on' if self.wanted else 'off'}{end}"

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        commands = [knob.put(on) for knob, on in zip(self.looks, self.look, strict=True)]
        # Airplane mode takes the radios with it, so the knob itself comes last.
        commands += [self.knob.put(self.start), f"am start -n '{SETTINGS}/{self.activity}'"]
        await run(device, commands, timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        """The knob is as wanted, and what it takes with it is off, or back as it was before."""
        is_on = {self.knob: self.wanted}
        looks = {look.key: on for look, on in zip(self.looks, self.look, strict=True)}
        is_on |= {each: not self.wanted and looks.get(each.key, True) for each in self.knob.takes}
        return tuple(
            Check(
                name=f"{knob.name} is {'on' if on else 'off'}",
                holds=outcome.state.get(knob.key) in ((knob.on,) if on else OFF_IN_THE_AIR.get(knob.key, (knob.off,))),
            )
            for knob, on in is_on.items()
        )

    def allowed(self) -> Sequence[str]:
        return (self.knob.key, *(knob.key for knob in self.knob.takes))

    async def solve(self, ui: UiDriver) -> None:
        if self.start != self.wanted:
            await ui.tap(self.label)
        await ui.finish()


@dataclass(frozen=True, kw_only=True)
class DialogInTheWay(KnobTask):
    """As the others, but a dialog may stand before the page; choosing in it is a side effect."""

    name: ClassVar[str] = "tiny.dialog"
    description: ClassVar[str] = "Airplane mode on or off on the network page, with a dialog in the way or not"
    max_turns: ClassVar[int] = 3
    activity: ClassVar[str] = ".Settings$NetworkDashboardActivity"
    knob: ClassVar[Knob] = AIRPLANE
    label: ClassVar[str] = "Airplane mode"
    looks: ClassVar[tuple[Knob, Knob]] = (DATA_SAVER, HOTSPOT)

    dialog: bool

    @classmethod
    def sample_more(cls, rng: random.Random) -> dict[str, Any]:
        return {"dialog": rng.random() < 0.5}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        if self.dialog:
            await _tap(device, "Private DNS", timeout_s=timeout_s)

    async def solve(self, ui: UiDriver) -> None:
        if self.dialog:
            await ui.tap("Cancel")
        await super().solve(ui)


async def _tap(device: Device, text: str, *, timeout_s: float) -> None:
    """Tap what has this text. Raises: LookupError: nothing on the screen has it."""
    screen = await device.observe(None, with_tree=True, timeout_s=timeout_s)
    for node in screen.tree.walk() if screen.tree else ():
        if node.text == text:
            await device.act(Tap(*node.bounds.center), timeout_s=timeout_s)
            await device.settle(timeout_s=timeout_s)
            return
    raise LookupError(f"nothing on the screen says {text!r}")


_PAGES: Final = (
    ("wifi", "Internet page: Wi-Fi", "Wifi", WIFI, "Wi-Fi", (TWELVE_HOURS, BLUETOOTH)),
    ("bluetooth", "Bluetooth page: Bluetooth", "Bluetooth", BLUETOOTH, "Use Bluetooth", (TWELVE_HOURS, WIFI)),
    ("airplane", "airplane mode page:", "AirplaneMode", AIRPLANE, "Use airplane mode", (TWELVE_HOURS, BLUETOOTH)),
    (
        "dark_theme",
        "Wallpaper & style page: dark theme",
        "Wallpaper",
        DARK_THEME,
        "Dark theme",
        (THEMED_ICONS, BLUETOOTH),
    ),
)
TINY_TASKS: tuple[type[Task], ...] = (
    *(
        variant(
            *(KnobTask, f"tiny.{name}"),
            description=f"On the {what} on or off, if it is not so already",
            activity=f".Settings${page}SettingsActivity",
            knob=knob,
            label=label,
            looks=looks,
        )
        for name, what, page, knob, label, looks in _PAGES
    ),
    DialogInTheWay,
)
