"""Everything that a phone is at one moment: what snapshots copy and `state_hash` hashes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, Literal

from rlfactory.emulators.simulator.machine.clock import Clock
from rlfactory.emulators.simulator.machine.filesystem import FileTree
from rlfactory.emulators.simulator.machine.packages import PackageState
from rlfactory.emulators.simulator.machine.settings_tables import SettingsTables
from rlfactory.emulators.simulator.machine.task_stack import TaskStack

Rotation = Literal[0, 1, 2, 3]
Overlay = Literal["", "shade", "recents"]
Loading = Literal["", "splash", "two_steps"]
KeyboardPage = Literal["letters", "symbols", "more_symbols"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notification:
    """One entry of the notification shade."""

    id: int
    package: str
    title: str
    text: str
    icon: str
    """Material Design icon name."""
    posted_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Interruption:
    """A window of the system or of another app that comes over whatever is shown."""

    kind: Literal["dialog", "banner", "call", "storage"]
    """All but a banner keep touches from what lies below; a banner covers the top and goes by itself."""
    package: str
    title: str
    text: str = ""
    buttons: tuple[str, ...] = ("OK",)
    """Each closes it; the first one declines, or makes room where storage is full."""
    until_ms: int = 0
    """Uptime at which a banner goes; 0: when it is answered."""


@dataclass(kw_only=True, slots=True)
class Radios:
    """What airplane mode has to put back when it ends."""

    wifi_after_airplane: bool = False
    bluetooth_after_airplane: bool = False


@dataclass(kw_only=True, slots=True)
class Display:
    """`wm size` and `wm density` overrides and the rotation (quarter turns, counter-clockwise)."""

    rotation: Rotation = 0
    size_override: tuple[int, int] | None = None
    density_override: int | None = None


@dataclass(kw_only=True, slots=True)
class ViewState:
    """What the phone's own surface remembers between events: keyboard, shade, recents, toast."""

    keyboard_open: bool = False
    keyboard_page: KeyboardPage = "letters"
    shift: bool = False
    """The next letter of the keyboard is a capital."""
    select_all: bool = False
    """The whole focused text is selected: the next character or deletion replaces it."""
    toolbar: bool = False
    """Cut, copy, paste float over the focused field."""
    overlay: Overlay = ""
    """What lies over all windows."""
    toast: str = ""
    toast_until_ms: int = 0
    """Uptime at which the toast goes; it is not shown from then on."""
    screen_on: bool = True
    interruptions: tuple[Interruption, ...] = ()
    """What waits for an answer, the topmost last."""
    loading: Loading = ""
    """How activities open from now on: at once, or after a while."""
    loading_ms: int = 0
    """What that while is."""
    loaded_at_ms: int = 0
    """Uptime at which the activity in front has loaded."""
    autofocused: str = ""
    """The field that has had its `autofocus` ("activity token/key"), so that it takes the focus only once."""


@dataclass(kw_only=True, slots=True)
class PhoneState:
    """The whole phone as plain data. Only `Phone` and its parts change it, under the phone's lock."""

    clock: Clock
    files: FileTree
    settings: SettingsTables = field(default_factory=SettingsTables)
    packages: PackageState = field(default_factory=PackageState)
    tasks: TaskStack = field(default_factory=TaskStack)
    view: ViewState = field(default_factory=ViewState)
    display: Display = field(default_factory=Display)
    radios: Radios = field(default_factory=Radios)
    clipboard: str = ""
    notifications: tuple[Notification, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    """System properties set by `setprop`, over the built-in ones."""
    call_state: int = 0
    """Telephony: 0 idle, 1 ringing, 2 in a call."""

    def copy(self) -> PhoneState:
        """Return an independent copy (file contents and installed packages are immutable and shared)."""
        return PhoneState(
            clock=dataclasses.replace(self.clock),
            files=self.files.snapshot(),
            settings=self.settings.copy(),
            packages=self.packages.copy(),
            tasks=self.tasks.copy(),
            view=dataclasses.replace(self.view),
            display=dataclasses.replace(self.display),
            radios=dataclasses.replace(self.radios),
            clipboard=self.clipboard,
            notifications=self.notifications,
            properties=dict(self.properties),
            call_state=self.call_state,
        )

    def digest(self) -> str:
        """Return a hash (hex) of everything that makes a difference to who uses the phone."""
        total = sha256(self.files.digest().encode())
        for namespace in ("system", "secure", "global"):
            total.update(repr(self.settings.items(namespace)).encode())
        if self.clock.kind == "virtual":
            total.update(repr((self.clock.wall_offset_ns, self.clock.elapsed_ms)).encode())
        total.update(self.clock.zone.encode())
        rest = (self.packages, self.tasks, self.view, self.display, self.radios, self.notifications)
        total.update(repr(_plain(rest)).encode("utf-8", "backslashreplace"))
        total.update(repr((self.clipboard, sorted(self.properties.items()), self.call_state)).encode())
        if self.files.storage_full:
            total.update(b"full")
        return total.hexdigest()


@dataclass(frozen=True, slots=True)
class PhoneSnapshot:
    """A phone at one moment. Never changed: restoring copies it."""

    state: PhoneState


_CACHE_FIELDS: Final = frozenset({"clock_seen"})
"""Bookkeeping of what was last drawn: differs between phones that are alike in all else."""


def _plain(value: Any) -> Any:
    """Return a value whose `repr` depends on content only: no identities, no order of sets and mappings."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f.name for f in dataclasses.fields(value) if f.name not in _CACHE_FIELDS]
        return (type(value).__qualname__, tuple((name, _plain(getattr(value, name))) for name in fields))
    if isinstance(value, Mapping):
        return ("map", tuple(sorted((repr(_plain(key)), _plain(item)) for key, item in value.items())))
    if isinstance(value, set | frozenset):
        return ("set", tuple(sorted(repr(_plain(item)) for item in value)))
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, type):
        return value.__qualname__
    return value
