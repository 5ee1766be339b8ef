"""A phone as it comes out of the box: folders, installed apps, the home screen. Made once, then copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.machine.packages import FIRST_APP_UID, Installed
from rlfactory.emulators.simulator.machine.state import PhoneSnapshot
from rlfactory.emulators.simulator.view.widgets import Column, Scaffold, Widget

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.android.system import System
    from rlfactory.emulators.simulator.phone import Phone, PhoneConfig

HOME_PACKAGE: Final = "com.google.android.apps.nexuslauncher"
MEDIA_RW_GID: Final = 1023
SHELL_UID: Final = 2000

SHARED_FOLDERS: Final = (
    "Alarms",
    "Android",
    "Audiobooks",
    "DCIM",
    "Documents",
    "Download",
    "Movies",
    "Music",
    "Notifications",
    "Pictures",
    "Podcasts",
    "Recordings",
    "Ringtones",
)
_SYSTEM_FOLDERS: Final = (
    "/data/app",
    "/data/data",
    "/data/local/tmp",
    "/data/media",
    "/dev",
    "/mnt/sdcard",
    "/proc",
    "/sdcard",
    "/storage/emulated/0",
    "/storage/self/primary",
    "/system/app",
    "/system/bin",
    "/system/etc",
    "/system/priv-app",
    "/vendor",
)
_FILES: Final = {
    "/system/etc/hosts": b"127.0.0.1       localhost\n::1             ip6-localhost\n",
    "/proc/version": b"Linux version 5.15.83-android13-8 (build-user@build-host) #1 SMP PREEMPT\n",
    "/proc/meminfo": b"MemTotal:        8134528 kB\nMemFree:         1893220 kB\nMemAvailable:    4412976 kB\n",
}


class _BlankHomeScreen(Activity):
    name: ClassVar[str] = ".NexusLauncherActivity"

    def build(self, system: System) -> Widget:
        return Scaffold(body=Column(key="workspace", width="fill", height="fill"))


BLANK_HOME: Final = App(
    package=HOME_PACKAGE,
    label="Pixel Launcher",
    icon="home",
    color="#5F6368",
    activities=(_BlankHomeScreen,),
    hidden=True,
)
"""The home screen of a phone that is given no launcher."""


def with_home(apps: Sequence[App]) -> tuple[App, ...]:
    """Return the apps with a home screen among them."""
    return tuple(apps) if any(app.package == HOME_PACKAGE for app in apps) else (*apps, BLANK_HOME)


@dataclass
class GoldenImages:
    """Freshly installed phones, kept so that the next phone of the same kind starts from a copy. Thread-safe."""

    limit: int = 16
    """How many kinds are kept; the oldest goes first."""
    _images: dict[tuple[object, ...], tuple[tuple[App, ...], PhoneSnapshot]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def find(self, config: PhoneConfig, apps: tuple[App, ...]) -> PhoneSnapshot | None:
        with self._lock:
            found = self._images.get(_kind(config, apps))
            return found[1] if found else None

    def keep(self, config: PhoneConfig, apps: tuple[App, ...], snapshot: PhoneSnapshot) -> None:
        with self._lock:
            while len(self._images) >= self.limit:
                del self._images[next(iter(self._images))]
            # The apps are kept alive with the image: their identities are part of its key.
            self._images[_kind(config, apps)] = (apps, snapshot)


def _kind(config: PhoneConfig, apps: tuple[App, ...]) -> tuple[object, ...]:
    size = (config.width_px, config.height_px, config.density)
    return (*size, config.model, config.start, config.clock, *(id(app) for app in apps))


def install(phone: Phone) -> None:
    """Lay out the file system, install every app, boot to the home screen."""
    files = phone.state.files
    for path in _SYSTEM_FOLDERS:
        files.make_dirs(path)
    for path, data in _FILES.items():
        files.write(path, data, mode=0o644)
    _own_shared_storage(phone)
    files.set_owner("/data/local/tmp", SHELL_UID, SHELL_UID)
    phone.state.settings.put("global", "device_name", phone.config.model)
    for app in phone.catalog.apps:
        install_app(phone, app)
    for app in phone.catalog.apps:
        app.furnish(phone.system)
    home = phone.catalog.app(HOME_PACKAGE)
    assert home is not None
    phone.navigator.boot(home)


def install_app(phone: Phone, app: App) -> None:
    """Install a package that the phone knows: its entry, its apk, its data."""
    packages, files = phone.state.packages, phone.state.files
    uid = FIRST_APP_UID + phone.catalog.apps.index(app)
    packages.installed[app.package] = Installed(uid=uid, installed_ns=phone.state.clock.wall_ns())
    folder = f"/system/app/{app.package}" if app.system else f"/data/app/{app.package}"
    files.make_dirs(folder)
    files.write(f"{folder}/base.apk", b"PK\x05\x06" + bytes(18), mode=0o644)
    make_data(phone, app)


def make_data(phone: Phone, app: App) -> None:
    """Give an app its data folder and its initial content, owned by its user."""
    files = phone.state.files
    folder = f"/data/data/{app.package}"
    uid = phone.state.packages.entry(app.package).uid
    if not files.exists(folder):
        files.make_dir(folder, mode=0o700)
    files.set_owner(folder, uid, uid)
    app.install(phone.system)


def clear_data(phone: Phone, app: App) -> None:
    """Put an app's data back to what a fresh installation has, and take its permissions back."""
    packages, folder = phone.state.packages, f"/data/data/{app.package}"
    if phone.state.files.exists(folder):
        phone.state.files.remove(folder, recursive=True)
    packages.installed[app.package] = replace(packages.entry(app.package), granted=frozenset(), app_ops=())
    make_data(phone, app)


def _own_shared_storage(phone: Phone) -> None:
    files = phone.state.files
    files.set_owner("/storage/emulated/0", 0, MEDIA_RW_GID)
    files.set_mode("/storage/emulated/0", 0o770)
    for name in SHARED_FOLDERS:
        files.make_dirs(f"/storage/emulated/0/{name}")
        files.set_mode(f"/storage/emulated/0/{name}", 0o770)
    files.make_dirs("/storage/emulated/0/Android/data")


def parse_start(start: str) -> datetime:
    """Return an aware datetime. Raises: ValueError: not ISO 8601 with an offset."""
    when = datetime.fromisoformat(start)
    if when.tzinfo is None:
        raise ValueError(f"start needs a UTC offset, got {start!r}")
    return when
