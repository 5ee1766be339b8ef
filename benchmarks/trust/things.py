"""What a phone can hold, each kind with a way to put one there and to take it away: what acts of agents are made of.

They go by what the apps' own buttons call, without a screen, so that a mutant costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol, Self

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.broccoli import app as broccoli
from rlfactory.emulators.simulator.apps.calendar import app as calendar
from rlfactory.emulators.simulator.apps.clock import data as clock
from rlfactory.emulators.simulator.apps.clock.cities import chosen_cities
from rlfactory.emulators.simulator.apps.contacts import data as contacts
from rlfactory.emulators.simulator.apps.expense import app as expense
from rlfactory.emulators.simulator.apps.joplin import app as joplin
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.music import app as music
from rlfactory.emulators.simulator.apps.osmand import app as osmand
from rlfactory.emulators.simulator.apps.settings.devices import BluetoothState
from rlfactory.emulators.simulator.apps.settings.network import WifiState
from rlfactory.emulators.simulator.apps.tasks import app as tasks
from rlfactory.emulators.simulator.apps.telephony import provider as telephony
from rlfactory.emulators.simulator.apps.tracks import app as tracks
from rlfactory.emulators.simulator.apps.vlc import app as vlc
from rlfactory.emulators.simulator.phone import Phone


class Missing(Exception):
    """What was to be taken away is not there."""


class Thing(Protocol):
    """Something that is on a phone or not; equal ones are alike in all that matters."""

    several: ClassVar[bool]
    """There can be several of one kind."""

    def put(self, phone: Phone) -> None: ...

    def take(self, phone: Phone) -> None:
        """Raises: Missing."""
        ...

    def near(self) -> Iterable[Self]:
        """Yield what differs in one point from this."""
        ...


@dataclass(frozen=True, kw_only=True)
class Person:
    several: ClassVar[bool] = True

    name: str
    number: str
    label: int = contacts.MOBILE
    company: str = ""
    email: str = ""
    starred: bool = False
    second_number: str = ""

    def put(self, phone: Phone) -> None:
        given, family = contacts.split_name(self.name)
        emails = (contacts.Labeled(value=self.email, type=contacts.HOME),) if self.email else ()
        numbers = ((self.number, self.label), (self.second_number, contacts.MOBILE))
        contacts.save_contact(
            phone.system,
            contacts.Contact(
                given=given,
                family=family,
                company=self.company,
                starred=self.starred,
                phones=tuple(contacts.Labeled(value=number, type=label) for number, label in numbers if number),
                emails=emails,
            ),
        )

    def take(self, phone: Phone) -> None:
        for each in contacts.all_contacts(phone.system):
            numbers = [entry.value for entry in each.phones]
            if each.full_name == self.name and numbers[:1] == [self.number][: len(numbers)]:
                contacts.delete_contact(phone.system, each.id)
                return
        raise Missing

    def near(self) -> Iterable[Person]:
        first, _, last = self.name.partition(" ")
        yield replace(self, number=_other_digit(self.number))
        yield replace(self, number=self.number[:-1])
        yield replace(self, number=self.number + "1")
        yield replace(self, number=f"{self.number} xyz")
        yield replace(self, number="")
        yield replace(self, name=first)
        yield replace(self, name=f"{first} {last}s")
        yield replace(self, name=f"{last} {first}")
        yield replace(self, name=f"{first[:-1]} {last}")
        yield replace(self, label=1)
        yield replace(self, company="Acme")
        yield replace(self, email="a@example.org")
        yield replace(self, starred=True)
        yield replace(self, second_number="415-555-0100")


def _other_digit(text: str) -> str:
    """Return the text with its last digit another one."""
    index = max((at for at, character in enumerate(text) if character.isdecimal()), default=-1)
    return text if index < 0 else f"{text[:index]}{(int(text[index]) + 1) % 10}{text[index + 1 :]}"


@dataclass(frozen=True, kw_only=True)
class Alarm:
    several: ClassVar[bool] = True

    time: str
    label: str = ""
    on: bool = True
    days: int = 0
    vibrate: bool = True
    sound: str = clock.DEFAULT_RINGTONE

    def put(self, phone: Phone) -> None:
        hour, minute = (int(part) for part in self.time.split(":"))
        alarm = clock.Alarm(
            hour=hour,
            minute=minute,
            label=self.label,
            enabled=self.on,
            days=self.days,
            vibrate=self.vibrate,
            ringtone=self.sound,
        )
        clock.save_alarm(phone.system, alarm)

    def take(self, phone: Phone) -> None:
        for each in clock.all_alarms(phone.system):
            own = f"{each.hour:02d}:{each.minute:02d}", each.label, each.enabled
            if own == (self.time, self.label, self.on):
                clock.delete_alarm(phone.system, each.id)
                return
        raise Missing

    def near(self) -> Iterable[Alarm]:
        hour, minute = (int(part) for part in self.time.split(":"))
        for other in (
            *((hour, (minute + 1) % 60), (hour, (minute + 30) % 60), ((hour + 12) % 24, minute)),
            *(((hour + 1) % 24, minute), (hour, 0 if minute else 15)),
        ):
            yield replace(self, time="{:02d}:{:02d}".format(*other))
        yield replace(self, on=not self.on)
        yield replace(self, days=0b0000010 if not self.days else 0)
        yield replace(self, days=clock.EVERY_DAY)
        yield replace(self, vibrate=not self.vibrate)
        yield replace(self, sound="Silent")
        yield replace(self, label=f"{self.label}s" if self.label else "Gym")
        yield replace(self, label=self.label[:-1] if self.label else "x")


@dataclass(frozen=True, kw_only=True)
class Timer:
    several: ClassVar[bool] = True

    seconds: int
    added_s: int = 0
    state: str = "running"

    def put(self, phone: Phone) -> None:
        timers = clock.all_timers(phone.system)
        number = max((timer.id for timer in timers), default=0) + 1
        made = clock.Timer(id=number, length_ms=self.seconds * 1000, left_ms=self.seconds * 1000)
        if self.state != "reset":
            made = made.started(phone.system.uptime_ms())
        if self.added_s:
            made = made.extended(phone.system.uptime_ms(), self.added_s * 1000)
        if self.state == "paused":
            made = made.paused(phone.system.uptime_ms() + 1000)
        clock.save_timers(phone.system, (made, *timers))

    def take(self, phone: Phone) -> None:
        timers = list(clock.all_timers(phone.system))
        found = next((timer for timer in timers if timer.length_ms == self.seconds * 1000), None)
        if found is None:
            raise Missing
        clock.save_timers(phone.system, [timer for timer in timers if timer is not found])

    def near(self) -> Iterable[Timer]:
        for seconds in (self.seconds + 60, self.seconds - 60, self.seconds * 60, self.seconds + 1, self.seconds * 10):
            if seconds > 0:
                yield replace(self, seconds=seconds)
        yield replace(self, added_s=60)
        yield replace(self, added_s=600)
        yield replace(self, state="paused")
        yield replace(self, state="reset")


@dataclass(frozen=True, kw_only=True)
class Stopwatch:
    several: ClassVar[bool] = False

    running: bool
    laps: int = 0
    reset: bool = False
    """What it had counted is lost."""

    def put(self, phone: Phone) -> None:
        now_ms = phone.system.uptime_ms()
        counted_ms = 0 if self.reset else clock.load_stopwatch(phone.system).elapsed_ms(now_ms)
        watch = clock.Stopwatch(
            before_ms=counted_ms if self.running else max(counted_ms, 1),
            since_ms=now_ms if self.running else None,
            laps_ms=tuple(range(100, 100 * self.laps + 1, 100)),
        )
        clock.save_stopwatch(phone.system, watch)

    def take(self, phone: Phone) -> None:
        Stopwatch(running=not self.running).put(phone)

    def near(self) -> Iterable[Stopwatch]:
        yield replace(self, running=not self.running)
        yield replace(self, reset=True)
        yield replace(self, laps=1)
        yield replace(self, laps=3)


@dataclass(frozen=True, kw_only=True)
class File:
    """A file below /sdcard, or a folder, whose path ends in a slash."""

    several: ClassVar[bool] = False

    path: str
    text: str = ""

    def put(self, phone: Phone) -> None:
        if self.path.endswith("/"):
            phone.system.files.make_dirs(f"/sdcard/{self.path}")
        else:
            phone.system.files.make_dirs(f"/sdcard/{self.path}".rpartition("/")[0])
            phone.system.files.write(f"/sdcard/{self.path}", self.text.encode())

    def take(self, phone: Phone) -> None:
        path, files = f"/sdcard/{self.path}", phone.system.files
        if not files.exists(path) or (files.is_file(path) and files.read(path) != self.text.encode()):
            raise Missing
        phone.system.files.remove(path, recursive=True)

    def near(self) -> Iterable[File]:
        folder, slash, name = self.path.rstrip("/").rpartition("/")
        end = "/" if self.path.endswith("/") else ""
        for other in (f"x{name}", f"{name}x", name[1:], f"{name} 2"):
            if other:
                yield replace(self, path=f"{folder}{slash}{other}{end}")
        yield replace(self, path=f"{name}{end}" if folder else f"Music/{name}{end}")
        yield replace(self, path=f"Music/sub/{name}{end}")
        if not end:
            for text in (f"{self.text} x", self.text.rstrip("\n")[:-1], f"{self.text}\nx", _other_digit(self.text), ""):
                if text.split() != self.text.split():
                    yield replace(self, text=text)


@dataclass(frozen=True, kw_only=True)
class Value:
    """A value of the settings tables: `global/wifi_on`."""

    several: ClassVar[bool] = False

    key: str
    value: str

    def put(self, phone: Phone) -> None:
        namespace, _, name = self.key.partition("/")
        phone.system.settings.put(namespace, name, self.value)

    def take(self, phone: Phone) -> None:
        """A value goes when another is put in its place."""

    def near(self) -> Iterable[Value]:
        if self.value in {"0", "1"}:
            yield replace(self, value="10"[int(self.value)])
        elif self.value.isdecimal():
            for other in (int(self.value) + 1, int(self.value) - 1, int(self.value) * 2, 0):
                yield replace(self, value=str(other))
        else:
            yield replace(self, value=f"{self.value}s")
            yield replace(self, value=self.value[:-1])


@dataclass(frozen=True, kw_only=True)
class City:
    several: ClassVar[bool] = False

    name: str

    def put(self, phone: Phone) -> None:
        _keep_cities(phone.system, (*chosen_cities(phone.system), self.name))

    def take(self, phone: Phone) -> None:
        _keep_cities(phone.system, tuple(name for name in chosen_cities(phone.system) if name != self.name))

    def near(self) -> Iterable[City]:
        return ()


def _keep_cities(system: System, names: tuple[str, ...]) -> None:
    Preferences.of(system, clock.PACKAGE).put(cities="|".join(names) or None)


@dataclass(frozen=True, kw_only=True)
class Paired:
    """A Bluetooth device."""

    several: ClassVar[bool] = False

    name: str

    def put(self, phone: Phone) -> None:
        BluetoothState(phone.system).pair(self.name)

    def take(self, phone: Phone) -> None:
        BluetoothState(phone.system).forget(self.name)

    def near(self) -> Iterable[Paired]:
        return ()


@dataclass(frozen=True, kw_only=True)
class Joined:
    """The Wi-Fi network in use, saved."""

    several: ClassVar[bool] = False

    ssid: str

    def put(self, phone: Phone) -> None:
        WifiState(phone.system).connect(self.ssid)

    def take(self, phone: Phone) -> None:
        WifiState(phone.system).forget(self.ssid)

    def near(self) -> Iterable[Joined]:
        return ()


@dataclass(frozen=True, kw_only=True)
class AppData:
    several: ClassVar[bool] = False

    """What an app keeps; taken away as by "Clear storage"."""

    package: str

    def put(self, phone: Phone) -> None:
        raise Missing

    def take(self, phone: Phone) -> None:
        phone.system.clear_data(self.package)

    def near(self) -> Iterable[AppData]:
        return ()


TABLES: Final = {
    "event": calendar.EVENTS,
    "expense": expense.EXPENSES,
    "marker": osmand.MARKERS,
    "note": joplin.NOTES,
    "playlist": music.PLAYLISTS,
    "recipe": broccoli.RECIPES,
    "text message": telephony.SMS,
    "to-do": tasks.TASKS,
    "track": tracks.TRACKS,
    "video playlist": vlc.PLAYLISTS,
}
"""Where apps keep what their users make, by what it is."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """Something that a user made in an app that keeps it in a table."""

    several: ClassVar[bool] = False

    kind: str
    number: int = 77
    """What all its columns say."""

    def put(self, phone: Phone) -> None:
        table = TABLES[self.kind]
        table.insert(phone.system, dict.fromkeys(table.columns, self.number))

    def take(self, phone: Phone) -> None:
        table = TABLES[self.kind]
        keys = [row[table.key] for row in table.rows(phone.system) if str(row[table.key]) == str(self.number)]
        if not keys:
            raise Missing
        table.delete(phone.system, keys)

    def near(self) -> Iterable[Made]:
        yield replace(self, number=self.number + 1)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """An app in front."""

    several: ClassVar[bool] = False

    package: str

    def put(self, phone: Phone) -> None:
        phone.system.open_app(self.package)

    def take(self, phone: Phone) -> None:
        phone.system.home()

    def near(self) -> Iterable[Shown]:
        yield replace(self, package="com.android.settings")
