"""Pages of Settings that are nothing but switches over the settings tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import page, section, slug, switch_row
from rlfactory.emulators.simulator.view.widgets import Widget


@dataclass(frozen=True, kw_only=True)
class Toggle:
    """A switch and the setting it stands for."""

    title: str
    namespace: str
    setting: str
    default: str = "0"
    on: str = "1"
    off: str = "0"
    subtitle: str = ""
    icon: str = ""

    def checked(self, system: System) -> bool:
        return system.settings.get(self.namespace, self.setting, self.default) == self.on

    def put(self, system: System, on: bool) -> None:
        system.settings.put(self.namespace, self.setting, self.on if on else self.off)

    def row(self, system: System) -> Widget:
        return switch_row(
            slug(self.title),
            self.title,
            self.checked(system),
            self._writer(system),
            subtitle=self.subtitle,
            icon=self.icon,
        )

    def _writer(self, system: System) -> Callable[[bool], None]:
        return lambda on: self.put(system, on)


DARK_THEME = Toggle(
    title="Dark theme",
    namespace="secure",
    setting="ui_night_mode",
    default="1",
    on="2",
    off="1",
    subtitle="Makes the screen easier to look at in the dark",
)
USE_LOCATION = Toggle(title="Use location", namespace="secure", setting="location_mode", default="3", on="3")
BATTERY_SAVER = Toggle(
    title="Use Battery Saver",
    namespace="global",
    setting="low_power",
    subtitle="Turns on dark theme and limits background activity",
)


@dataclass(kw_only=True)
class TogglePage(Activity):
    """A page made of (heading, toggles) groups; an empty heading is left out."""

    title: ClassVar[str]
    groups: ClassVar[Sequence[tuple[str, Sequence[Toggle]]]]

    def build(self, system: System) -> Widget:
        children: list[Widget] = []
        for heading, toggles in self.groups:
            if heading:
                children.append(section(heading))
            children.extend(toggle.row(system) for toggle in toggles)
        return page(system, self.title, children)
