"""The apps a phone comes with, in the launcher's order."""

from __future__ import annotations

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.apps.clock.app import CLOCK
from rlfactory.emulators.simulator.apps.contacts.app import CONTACTS
from rlfactory.emulators.simulator.apps.contacts.provider import CONTACTS_STORAGE
from rlfactory.emulators.simulator.apps.files.app import FILES
from rlfactory.emulators.simulator.apps.launcher.app import LAUNCHER
from rlfactory.emulators.simulator.apps.notes.app import MARKOR
from rlfactory.emulators.simulator.apps.settings.app import SETTINGS

ALL_APPS: tuple[App, ...] = (CLOCK, CONTACTS, FILES, MARKOR, SETTINGS, LAUNCHER, CONTACTS_STORAGE)
