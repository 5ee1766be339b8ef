"""What an app is to the phone: a package with activities, each a value that builds its screen.

An activity is a plain dataclass (each class below `Activity` becomes one) whose fields are its saved instance state:
it is deep-copied with the phone's snapshot, so it may hold data only, never the phone. Everything it does goes through
the `System` handed to it.

    class WifiScreen(Activity):
        name = ".wifi.WifiSettings"

        def build(self, system: System) -> Widget:
            return Scaffold(app_bar=AppBar(title="Wi-Fi", on_back=system.back), body=...)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, dataclass_transform

from rlfactory.emulators.simulator.view.widgets import Dialog, Menu, Widget

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.android.content import ContentProvider, Receiver
    from rlfactory.emulators.simulator.android.system import System


@dataclass(frozen=True, kw_only=True)
class Intent:
    """As in Android; `extras` hold strings, numbers or booleans."""

    action: str = "android.intent.action.MAIN"
    data: str = ""
    mime_type: str = ""
    extras: Mapping[str, object] = field(default_factory=dict)


@dataclass_transform(kw_only_default=True)
class _State:
    """Makes a dataclass with keywords only of each class below it that has fields of its own."""

    def __init_subclass__(cls) -> None:
        if inspect.get_annotations(cls):
            dataclass(kw_only=True)(cls)


class Activity(_State):
    """One screen of an app."""

    name: ClassVar[str]
    """Class name; with a leading dot it is relative to the app's package."""
    intent: Intent = field(default_factory=Intent)
    scroll_px: dict[str, int] = field(default_factory=dict)
    """Scroll offsets by widget key; kept by the view layer."""
    focus: str = ""
    """Key of the focused text field, "" for none; kept by the view layer."""
    cursor: int = 0
    """Where the next character goes in the focused field; kept by the view layer."""

    def on_create(self, system: System) -> None:
        """Called once, before the first `build`."""

    def on_resume(self, system: System) -> None:
        """Called each time the activity comes to the foreground."""

    def on_pause(self, system: System) -> None:
        """Called each time the activity leaves the foreground, also for good; not when its process is killed."""

    def build(self, system: System) -> Widget:
        """Return the screen. Pure: reads the phone, changes nothing; called after every event."""
        raise NotImplementedError

    def dialog(self, system: System) -> Dialog | Menu | None:
        """Return the dialog or menu that lies over the screen, if any."""
        return None

    def on_back(self, system: System) -> bool:
        """Handle BACK; False lets the system finish the activity."""
        return False


class Stored(Protocol):
    """What an app keeps on the phone: a table, for one."""

    def ensure(self, system: System) -> None:
        """Make it, unless it is there."""


@dataclass(frozen=True, kw_only=True)
class App:
    """An installed package."""

    package: str
    label: str
    icon: str
    """Material Design icon name."""
    color: str
    """Background of the launcher icon."""
    activities: tuple[type[Activity], ...]
    """The first is the launcher activity."""
    version_name: str = "1.0"
    version_code: int = 1
    system: bool = True
    """Part of the system image (`pm list packages -3` leaves it out)."""
    hidden: bool = False
    """Not shown in the launcher."""
    filters: Mapping[str, type[Activity]] = field(default_factory=dict)
    """Implicit intents: "ACTION", "ACTION scheme:" or "ACTION mime/type" -> activity."""
    providers: tuple[ContentProvider, ...] = ()
    receivers: Mapping[str, Receiver] = field(default_factory=dict)
    """Broadcast action -> what answers it."""
    uses_permissions: tuple[str, ...] = ()
    """Runtime permissions that it may be granted, without the prefix `android.permission.`."""
    tables: tuple[Stored, ...] = ()
    """Made when the app's process starts, if they are not there."""

    def install(self, system: System) -> None:
        """Create the app's files and databases, as after `pm clear`. The default makes an empty data folder."""
        system.files.make_dirs(f"/data/data/{self.package}")

    def furnish(self, system: System) -> None:
        """Add what a phone in use has (contacts, notes); called once, on a new phone, after all apps' `install`."""

    def on_time(self, system: System) -> None:
        """Called whenever the phone's time has passed: ring alarms, end timers."""

    def on_launch(self, system: System) -> None:
        """Called when the app's process starts: re-create whatever was deleted under /data/data."""
        for table in self.tables:
            table.ensure(system)
