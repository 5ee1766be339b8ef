"""The apps that a new phone has, in the order in which they are asked who handles an intent."""

from __future__ import annotations

from functools import cache
from pathlib import Path
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
from rlfactory.user_code import UserCodeError, import_file, installed

_EVERYDAY: Final = (CLOCK, CONTACTS, FILES, MARKOR, SETTINGS, LAUNCHER, CONTACTS_STORAGE)
_ANDROID_WORLD: Final = (
    *(SMS_MESSENGER, TELEPHONY, DIALER, CAMERA, CHROME, CALENDAR, TASKS_ORG, EXPENSE, BROCCOLI, OPEN_TRACKS, JOPLIN),
    *(RECORDER, CLIPPER, GALLERY, DRAW, RETRO_MUSIC, VLC, OSMAND, FORWARDER),
)
"""Those that AndroidWorld's tasks are about."""
ALL_APPS: Final[tuple[App, ...]] = (*_EVERYDAY, *_ANDROID_WORLD)
"""What ships with RLFactory."""


@cache
def apps_of_new_phones(files: tuple[str, ...] = ()) -> tuple[App, ...]:
    """Return what a phone has installed, unless it is made with others: ours, those of packages, those of files.

    A package names each as an entry point of the group `rlfactory.apps`: an `App`. A file has each under a name.

    Raises: DeviceError: one cannot be imported, is no app, or has the package of another.
    """
    try:
        offered = {f"entry point rlfactory.apps: {name}": app for name, app in installed("rlfactory.apps").items()}
        for path in files:
            found = [app for app in vars(import_file(Path(path))).values() if isinstance(app, App)]
            own = {f"{path}: {app.label}": app for app in found if app not in ALL_APPS}
            if not own:
                raise DeviceError(f"{path} defines no app: rlfactory.emulators.simulator.android.app.App")
            offered |= own
    except UserCodeError as error:
        raise DeviceError(str(error)) from error
    taken = {app.package for app in ALL_APPS}
    for source, app in offered.items():
        if not isinstance(app, App):
            raise DeviceError(f"{source} is no App")
        if app.package in taken:
            raise DeviceError(f"{source}: another app has the package {app.package}")
        taken.add(app.package)
    return (*ALL_APPS, *offered.values())
