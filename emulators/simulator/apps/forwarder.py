"""android_env's accessibility forwarder as a package: it shows nothing, and `wire/forwarder.py` does its work."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.apps.kit.no_screen import NoScreen

PACKAGE: Final = "com.google.androidenv.accessibilityforwarder"


class _Forwarder(NoScreen):
    icon, label = "access-point", "Accessibility Forwarder"


FORWARDER: Final = App(
    package=PACKAGE,
    label="Accessibility Forwarder",
    icon="access-point",
    color="#3F51B5",
    activities=(_Forwarder,),
    hidden=True,
)
