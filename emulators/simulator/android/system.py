"""What apps may ask of the phone: its services, in process, synchronous, instantaneous."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.android import radios
from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.catalog import UnknownComponentError
from rlfactory.emulators.simulator.android.system_image import clear_data
from rlfactory.emulators.simulator.machine.clock import NS_PER_MS
from rlfactory.emulators.simulator.machine.databases import open_database
from rlfactory.emulators.simulator.machine.filesystem import FileTree
from rlfactory.emulators.simulator.machine.packages import UnknownPackageError
from rlfactory.emulators.simulator.machine.settings_tables import SettingsTables
from rlfactory.emulators.simulator.machine.state import Notification

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

TOAST_MS: Final = 2_000
MAX_CLIPBOARD_CHARS: Final = 262_144


class System:
    """The services of one phone; every call is made under its lock."""

    def __init__(self, phone: Phone) -> None:
        self._phone = phone

    @property
    def settings(self) -> SettingsTables:
        return self._phone.state.settings

    @property
    def files(self) -> FileTree:
        return self._phone.state.files

    @property
    def clipboard(self) -> str:
        return self._phone.state.clipboard

    @clipboard.setter
    def clipboard(self, text: str) -> None:
        self._phone.state.clipboard = text[:MAX_CLIPBOARD_CHARS]

    # --- device facts

    @property
    def model(self) -> str:
        return self._phone.config.model

    @property
    def android_version(self) -> str:
        return "13"

    @property
    def width_px(self) -> int:
        return self._phone.width_px

    @property
    def height_px(self) -> int:
        return self._phone.height_px

    # --- time

    def now(self) -> datetime:
        return self._phone.state.clock.now()

    def minute(self) -> datetime:
        """Return `now` without seconds, for screens that show none: they need not be built anew within the minute."""
        return self._phone.state.clock.minute()

    def uptime_ms(self) -> int:
        """Monotonic milliseconds since boot (stopwatch, timer)."""
        return self._phone.state.clock.uptime_ms()

    def set_time(self, when: datetime) -> None:
        """Set the wall clock; `when` is aware. Uptime is not touched."""
        self._phone.state.clock.set_wall(round(when.timestamp() * 1000) * NS_PER_MS)
        self._phone.invalidate()

    # --- navigation

    def start(self, target: type[Activity] | str, intent: Intent | None = None) -> None:
        """Open an activity of any app on top: its class, or `package/class`."""
        catalog = self._phone.catalog
        app, activity = catalog.component(target) if isinstance(target, str) else (catalog.owner(target), target)
        self._phone.navigator.start(app, activity, intent or Intent())

    def send(self, intent: Intent) -> bool:
        """Open whoever handles an implicit intent; False when nobody does."""
        found = self._phone.catalog.handler(intent, self._phone.state.packages)
        if found is None:
            return False
        self._phone.navigator.start(*found, intent)
        return True

    def open_app(self, package: str) -> None:
        """Open an app as the launcher does. Raises: UnknownComponentError: not installed."""
        app = self.app(package)
        if app is None:
            raise UnknownComponentError(f"no app {package!r}")
        self._phone.navigator.launch(app, app.activities[0], Intent())

    def back(self) -> None:
        """Finish the foreground activity."""
        self._phone.navigator.finish()

    def home(self) -> None:
        """Show the home screen."""
        self._phone.navigator.home()

    def toast(self, text: str) -> None:
        view = self._phone.state.view
        view.toast = text
        view.toast_until_ms = self.uptime_ms() + TOAST_MS
        self._phone.invalidate()

    def notify(self, package: str, number: int, *, title: str, text: str, icon: str) -> None:
        """Post a notification, replacing the package's one with the same number."""
        state = self._phone.state
        self.cancel_notification(package, number)
        when = state.clock.wall_ns()
        posted = Notification(id=number, package=package, title=title, text=text, icon=icon, posted_ns=when)
        state.notifications = (posted, *state.notifications)

    def cancel_notification(self, package: str, number: int) -> None:
        state = self._phone.state
        state.notifications = tuple(n for n in state.notifications if (n.package, n.id) != (package, number))
        self._phone.invalidate()

    # --- radios

    def set_wifi(self, on: bool) -> None:
        radios.set_wifi(self._phone.state, on)
        self._phone.invalidate()

    def set_bluetooth(self, on: bool) -> None:
        radios.set_bluetooth(self._phone.state, on)
        self._phone.invalidate()

    def set_airplane_mode(self, on: bool) -> None:
        radios.set_airplane_mode(self._phone.state, on)
        self._phone.invalidate()

    # --- packages

    def apps(self) -> tuple[App, ...]:
        installed = self._phone.state.packages.installed
        return tuple(app for app in self._phone.catalog.apps if app.package in installed)

    def app(self, package: str) -> App | None:
        return self._phone.catalog.app(package) if package in self._phone.state.packages.installed else None

    def force_stop(self, package: str) -> None:
        self._phone.navigator.force_stop(package)

    def clear_data(self, package: str) -> None:
        """Stop an app and put its data back to what `install` makes, as `pm clear` does."""
        app = self._phone.catalog.app(package)
        if app is None:
            raise UnknownPackageError(f"Unknown package: {package}")
        self.force_stop(package)
        clear_data(self._phone, app)

    # --- data

    def database(self, path: str) -> AbstractContextManager[sqlite3.Connection]:
        """Open a SQLite file of the tree; written back on a clean exit, if it changed, with the phone's time."""
        changed: Callable[[], None] = self._phone.invalidate
        return open_database(self.files, path, on_write=changed)
