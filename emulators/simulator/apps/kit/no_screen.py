"""The one screen of a package that has none on Android: who opens it is told what the package is."""

from __future__ import annotations

from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.rows import empty_state
from rlfactory.emulators.simulator.view import widgets as ui


class NoScreen(Activity):
    """Subclasses say which icon and which words stand there."""

    name = ".NoScreen"
    icon: ClassVar[str]
    label: ClassVar[str]

    def build(self, system: System) -> ui.Widget:
        return ui.Scaffold(body=empty_state(self.icon, self.label))
