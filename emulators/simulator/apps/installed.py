"""The apps that a new phone has, in the order in which they are asked who handles an intent."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Final

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.apps.broccoli.app import BROCCOLI
from rlfactory.emulators.simulator.apps.calendar.app import CALENDAR
from rlfactory.emulators.simulator.apps.camera.app import CAMERA
from rlfactory.emulators.simulator.apps.chrome.app import CHROME
from rlfactory.emulators.simulator.apps.clipper.app import CLIPPER
from rlfactory.emulators.simulator.apps.clock.app import CLOCK
from rlfactory.emulators.simulator.apps.contacts.app import CONTACTS
from rlfactory.emulators.simulator.apps.contacts.provider import CONTACTS_STORAGE
from rlfactory.emulators.simulator.apps.dialer.app import DIALER
from rlfactory.emulators.simulator.apps.draw.app import DRAW
from rlfactory.emulators.simulator.apps.expense.app import EXPENSE
from rlfactory.emulators.simulator.apps.files.app import FILES
from rlfactory.emulators.simulator.apps.forwarder import FORWARDER
from rlfactory.emulators.simulator.apps.gallery.app import GALLERY
from rlfactory.emulators.simulator.apps.joplin.app import JOPLIN
from rlfactory.emulators.simulator.apps.launcher.app import LAUNCHER
from rlfactory.emulators.simulator.apps.messages.app import SMS_MESSENGER
from rlfactory.emulators.simulator.apps.music.app import RETRO_MUSIC
from rlfactory.emulators.simulator.apps.notes.app import MARKOR
from rlfactory.emulators.simulator.apps.osmand.app import OSMAND
from rlfactory.emulators.simulator.apps.recorder.app import RECORDER
from rlfactory.emulators.simulator.apps.settings.app import SETTINGS
from rlfactory.emulators.simulator.apps.tasks.app import TASKS_ORG
from rlfactory.emulators.simulator.apps.telephony.provider import TELEPHONY
from rlfactory.emulators.simulator.apps.tracks.app import OPEN_TRACKS
from rlfactory.emulators.simulator.apps.vlc.app import VLC

_EVERYDAY: Final = (CLOCK, CONTACTS, FILES, MARKOR, SETTINGS, LAUNCHER, CONTACTS_STORAGE)
_ANDROID_WORLD: Final = (
    *(SMS_MESSENGER, TELEPHONY, DIALER, CAMERA, CHROME, CALENDAR, TASKS_ORG, EXPENSE, BROCCOLI, OPEN_TRACKS, JOPLIN),
    *(RECORDER, CLIPPER, GALLERY, DRAW, RETRO_MUSIC, VLC, OSMAND, FORWARDER),
)
"""Those that AndroidWorld's tasks are about."""
ALL_APPS: Final[tuple[App, ...]] = (*_EVERYDAY, *_ANDROID_WORLD)
"""What ships with RLFactory."""


@cache
def apps_of_new_phones() -> tuple[App, ...]:
    """Return what a phone has installed, unless it is made with others: ours, and those of installed packages.

    A package names each as an entry point of the group `rlfactory.apps`: an `App`.

    Raises: DeviceError: one cannot be imported, or is no app.
    """
    others = []
    for point in sorted(entry_points(group="rlfactory.apps")):
        try:
            app = point.load()
        except Exception as error:
            raise DeviceError(f"entry point rlfactory.apps: {point.name} = {point.value}: {error!r}") from error
        if not isinstance(app, App):
            raise DeviceError(f"entry point rlfactory.apps: {point.name} = {point.value} is no App")
        others.append(app)
    return (*ALL_APPS, *others)
