"""android_env's accessibility forwarder as a package: it shows nothing, and `wire/forwarder.py` does its work."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.rows import empty_state
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.google.androidenv.accessibilityforwarder"


class _NoScreen(Activity):
    name = ".NoScreen"

    def build(self, system: System) -> ui.Widget:
        return ui.Scaffold(body=empty_state("access-point", "Accessibility Forwarder"))


FORWARDER: Final = App(
    package=PACKAGE,
    label="Accessibility Forwarder",
    icon="access-point",
    color="#3F51B5",
    activities=(_NoScreen,),
    hidden=True,
)
