"""The apps a phone comes with, in the launcher's order."""

from __future__ import annotations

from emulators.simulator.app import App
from emulators.simulator.apps.settings import SETTINGS

ALL_APPS: tuple[App, ...] = (SETTINGS,)
