"""Settings: `com.android.settings`, its main list and the intents that lead to its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from emulators.simulator.app import Activity, App
from emulators.simulator.system import System
from emulators.simulator.view.widgets import AppBar, Scaffold, Scroll, Widget


@dataclass(kw_only=True)
class MainSettings(Activity):
    """The list of all sections."""

    name: ClassVar[str] = ".Settings"

    def build(self, system: System) -> Widget:
        return Scaffold(app_bar=AppBar(title="Settings", large=True), body=Scroll(key="main_content"))


SETTINGS = App(
    package="com.android.settings",
    label="Settings",
    icon="cog",
    color="#5F6368",
    activities=(MainSettings,),
    version_name="13",
    version_code=33,
    filters={"android.settings.SETTINGS": MainSettings},
)
