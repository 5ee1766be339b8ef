"""What apps may ask of the phone. `phone.Phone` owns the state; this is the face it shows to activities."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.machine.filesystem import FileTree


class Settings(Protocol):
    """The settings tables. Namespaces: system, secure, global."""

    def get(self, namespace: str, key: str, default: str = "") -> str: ...

    def put(self, namespace: str, key: str, value: str) -> None: ...

    def flag(self, namespace: str, key: str) -> bool: ...


class System(Protocol):
    """Services of the phone, in process, synchronous, instantaneous."""

    clipboard: str

    @property
    def settings(self) -> Settings: ...
    @property
    def files(self) -> FileTree: ...

    # --- device facts
    @property
    def model(self) -> str: ...
    @property
    def android_version(self) -> str: ...
    @property
    def width_px(self) -> int: ...
    @property
    def height_px(self) -> int: ...

    # --- time
    def now(self) -> datetime:
        """The phone's clock, aware, in its time zone."""
        ...

    def uptime_ms(self) -> int:
        """Monotonic milliseconds since boot (stopwatch, timer)."""
        ...

    def set_time(self, when: datetime) -> None:
        """Set the wall clock; `when` is aware. Uptime is not touched."""
        ...

    # --- navigation
    def start(self, target: type[Activity] | str, intent: Intent | None = None) -> None:
        """Open an activity of any app on top: its class, or `package/class`."""
        ...

    def send(self, intent: Intent) -> bool:
        """Open whoever handles an implicit intent; False when nobody does."""
        ...

    def open_app(self, package: str) -> None:
        """Open an app as the launcher does."""
        ...

    def back(self) -> None:
        """Finish the foreground activity."""
        ...

    def home(self) -> None: ...

    def toast(self, text: str) -> None: ...

    def notify(self, package: str, number: int, *, title: str, text: str, icon: str) -> None:
        """Post a notification, replacing the package's one with the same number."""
        ...

    def cancel_notification(self, package: str, number: int) -> None: ...

    # --- radios, so that the settings keys, the status bar and `svc` agree
    def set_wifi(self, on: bool) -> None: ...
    def set_bluetooth(self, on: bool) -> None: ...
    def set_airplane_mode(self, on: bool) -> None: ...

    # --- packages
    def apps(self) -> tuple[App, ...]: ...

    def app(self, package: str) -> App | None: ...

    def force_stop(self, package: str) -> None: ...

    def clear_data(self, package: str) -> None:
        """Stop an app and put its data back to what `install` makes, as `pm clear` does."""
        ...

    # --- data
    def database(self, path: str) -> AbstractContextManager[sqlite3.Connection]:
        """Open a SQLite file of the tree; written back on a clean exit, if it changed, with the phone's time."""
        ...
