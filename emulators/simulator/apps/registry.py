"""The apps a phone comes with, in the launcher's order."""

from __future__ import annotations

from emulators.simulator.app import App
from emulators.simulator.apps.clock import CLOCK
from emulators.simulator.apps.contacts import CONTACTS
from emulators.simulator.apps.contacts_provider import CONTACTS_STORAGE
from emulators.simulator.apps.files import FILES
from emulators.simulator.apps.launcher import LAUNCHER
from emulators.simulator.apps.notes import MARKOR
from emulators.simulator.apps.settings import SETTINGS

ALL_APPS: tuple[App, ...] = (CLOCK, CONTACTS, FILES, MARKOR, SETTINGS, LAUNCHER, CONTACTS_STORAGE)
