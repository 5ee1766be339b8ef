"""What Clock keeps: alarms in alarms.db (AOSP's tables), timers, stopwatch and cities in its preferences."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, cast

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences, Value
from rlfactory.emulators.simulator.apps.kit.tables import make_database
from rlfactory.emulators.simulator.machine.databases import read_rows

PACKAGE: Final = "com.google.android.deskclock"
DATABASE: Final = f"/data/data/{PACKAGE}/databases/alarms.db"
DEFAULT_RINGTONE: Final = "Bright Morning"
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""Bit n of `Alarm.days` is day n, as in AOSP."""
EVERY_DAY: Final = 0b1111111

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS alarm_templates (
    _id INTEGER PRIMARY KEY, hour INTEGER NOT NULL, minutes INTEGER NOT NULL, daysofweek INTEGER NOT NULL,
    enabled INTEGER NOT NULL, vibrate INTEGER NOT NULL, label TEXT NOT NULL, ringtone TEXT,
    delete_after_use INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS alarm_instances (
    _id INTEGER PRIMARY KEY, year INTEGER NOT NULL, month INTEGER NOT NULL, day INTEGER NOT NULL,
    hour INTEGER NOT NULL, minutes INTEGER NOT NULL, vibrate INTEGER NOT NULL, label TEXT NOT NULL, ringtone TEXT,
    alarm_state INTEGER NOT NULL, alarm_id INTEGER REFERENCES alarm_templates(_id) ON UPDATE CASCADE ON DELETE CASCADE);
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """One alarm; `id` is 0 for one that is not saved."""

    id: int = 0
    hour: int
    minute: int
    days: int = 0
    """Bits of the days of the week on which it repeats; 0 rings once."""
    enabled: bool = True
    vibrate: bool = True
    label: str = ""
    ringtone: str = DEFAULT_RINGTONE

    def next_time(self, now: datetime) -> datetime:
        """Return when it rings next after `now`, were it enabled."""
        today = now.replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)
        for ahead in range(9):
            when = today + timedelta(days=ahead)
            if when > now and (self.days == 0 or self.days >> when.weekday() & 1):
                return when
        return today + timedelta(days=7)


def create_database(system: System) -> None:
    """Make the database, or whatever tables it lacks."""
    system.files.make_dirs(DATABASE.rpartition("/")[0])
    make_database(system, DATABASE, _SCHEMA)


def all_alarms(system: System) -> tuple[Alarm, ...]:
    """Return the alarms by time of day."""
    if not system.files.is_file(DATABASE):
        return ()
    rows = read_rows(
        system.files.read(DATABASE),
        "SELECT _id, hour, minutes, daysofweek, enabled, vibrate, label, coalesce(ringtone, '') "
        "FROM alarm_templates ORDER BY hour, minutes, _id",
    )
    return tuple(
        Alarm(
            id=number,
            hour=hour,
            minute=minute,
            days=days,
            enabled=bool(enabled),
            vibrate=bool(vibrate),
            label=str(label),
            ringtone=str(ringtone) or DEFAULT_RINGTONE,
        )
        for number, hour, minute, days, enabled, vibrate, label, ringtone in rows
    )


def save_alarm(system: System, alarm: Alarm) -> int:
    """Insert an alarm (id 0) or replace the one with its id, and plan its next ring; return its id."""
    create_database(system)
    told = {name: getattr(alarm, name) for name in ("hour", "enabled", "vibrate", "label", "ringtone")}
    row = {**told, "minutes": alarm.minute, "daysofweek": alarm.days}
    with system.database(DATABASE) as db:
        if alarm.id:
            pairs = ", ".join(f"{column} = :{column}" for column in row)
            db.execute(f"UPDATE alarm_templates SET {pairs} WHERE _id = :id", {**row, "id": alarm.id})
        saved = alarm.id or _insert(db, "alarm_templates", row)
    plan_alarms(system)
    return saved


def _insert(db: sqlite3.Connection, table: str, row: Mapping[str, object]) -> int:
    marks = ", ".join(f":{column}" for column in row)
    return cast(int, db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row).lastrowid)


def delete_alarm(system: System, alarm_id: int) -> None:
    with system.database(DATABASE) as db:
        db.execute("DELETE FROM alarm_instances WHERE alarm_id = ?", (alarm_id,))
        db.execute("DELETE FROM alarm_templates WHERE _id = ?", (alarm_id,))


def plan_alarms(system: System) -> None:
    """Make `alarm_instances` hold the next ring of each enabled alarm, and nothing else."""
    now = system.now()
    wanted = {alarm.id: alarm.next_time(now) for alarm in all_alarms(system) if alarm.enabled}
    if wanted == dict(planned(system)):
        return
    with system.database(DATABASE) as db:
        db.execute("DELETE FROM alarm_instances")
        for alarm in all_alarms(system):
            if alarm.id in wanted:
                when = wanted[alarm.id]
                row = {
                    "year": when.year,
                    "month": when.month - 1,
                    "day": when.day,
                    "hour": when.hour,
                    "minutes": when.minute,
                    "vibrate": alarm.vibrate,
                    "label": alarm.label,
                    "ringtone": alarm.ringtone,
                    "alarm_state": 0,
                    "alarm_id": alarm.id,
                }
                _insert(db, "alarm_instances", row)


def planned(system: System) -> tuple[tuple[int, datetime], ...]:
    """Return (alarm id, when it rings) of all planned rings."""
    if not system.files.is_file(DATABASE):
        return ()
    rows = read_rows(
        system.files.read(DATABASE), "SELECT alarm_id, year, month + 1, day, hour, minutes FROM alarm_instances"
    )
    zone = system.now().tzinfo
    return tuple(
        (alarm_id, datetime(year, month, day, hour, minute, tzinfo=zone))
        for alarm_id, year, month, day, hour, minute in rows
    )


# --- timers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Timer:
    """A countdown. Times in milliseconds; `ends_at_ms` is of the phone's uptime."""

    id: int
    length_ms: int
    left_ms: int
    """What is left when it does not run."""
    ends_at_ms: int | None = None
    """None while it does not run."""
    notified: bool = False
    """It is over, and that has been announced."""
    added_ms: int = 0
    """To its length, since it was last reset."""

    def remaining_ms(self, uptime_ms: int) -> int:
        """Return what is left; negative once it is over."""
        return self.left_ms if self.ends_at_ms is None else self.ends_at_ms - uptime_ms

    def started(self, uptime_ms: int) -> Timer:
        return replace(self, ends_at_ms=uptime_ms + self.left_ms)

    def paused(self, uptime_ms: int) -> Timer:
        return replace(self, left_ms=max(self.remaining_ms(uptime_ms), 0), ends_at_ms=None)

    def restored(self) -> Timer:
        return replace(self, left_ms=self.length_ms, ends_at_ms=None, notified=False, added_ms=0)

    def extended(self, uptime_ms: int, by_ms: int) -> Timer:
        """Return it with more time; one that is over starts again from now."""
        added_ms = self.added_ms + by_ms
        if self.ends_at_ms is None:
            return replace(self, left_ms=self.left_ms + by_ms, added_ms=added_ms)
        return replace(self, ends_at_ms=max(self.ends_at_ms, uptime_ms) + by_ms, notified=False, added_ms=added_ms)


_STATE, _LENGTH, _LEFT, _START = "timer_state_", "timer_setup_timet_", "timer_time_left_", "timer_start_time_"
_TOTAL: Final = "timer_original_timet_"
_RUNNING, _PAUSED, _EXPIRED, _RESET = 1, 2, 3, 4
"""AOSP's keys, each followed by the timer's id, and its states."""


def all_timers(system: System) -> tuple[Timer, ...]:
    """Return the timers, the newest first."""
    prefs = Preferences.of(system, PACKAGE)
    ids = [int(key.removeprefix(_STATE)) for key in prefs.all() if key.startswith(_STATE)]
    return tuple(_load_timer(prefs, number) for number in sorted(ids, reverse=True))


def _load_timer(prefs: Preferences, number: int) -> Timer:
    state, left_ms = prefs.get(f"{_STATE}{number}", _RESET), prefs.get(f"{_LEFT}{number}", 0)
    ends_at_ms = prefs.get(f"{_START}{number}", 0) + left_ms if state in {_RUNNING, _EXPIRED} else None
    length_ms = prefs.get(f"{_LENGTH}{number}", 0)
    return Timer(
        id=number,
        length_ms=length_ms,
        left_ms=left_ms,
        ends_at_ms=ends_at_ms,
        notified=state == _EXPIRED,
        added_ms=prefs.get(f"{_TOTAL}{number}", length_ms) - length_ms,
    )


def save_timers(system: System, timers: Sequence[Timer]) -> None:
    """Make these the phone's timers."""
    keys = (_STATE, _LENGTH, _LEFT, _START, _TOTAL)
    values: dict[str, Value | None] = {f"{key}{timer.id}": None for timer in all_timers(system) for key in keys}
    for timer in timers:
        start_ms = None if timer.ends_at_ms is None else timer.ends_at_ms - timer.left_ms
        facts = (_timer_state(timer), timer.length_ms, timer.left_ms, start_ms, timer.length_ms + timer.added_ms)
        values.update({f"{key}{timer.id}": fact for key, fact in zip(keys, facts, strict=True)})
    Preferences.of(system, PACKAGE).put(**values)


def _timer_state(timer: Timer) -> int:
    if timer.ends_at_ms is not None:
        return _EXPIRED if timer.notified else _RUNNING
    return _RESET if timer.left_ms == timer.length_ms and not timer.added_ms else _PAUSED


# --- stopwatch -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopwatch:
    """Times in milliseconds; `since_ms` is of the phone's uptime."""

    before_ms: int = 0
    """What had passed when it was last started."""
    since_ms: int | None = None
    """None while it does not run."""
    laps_ms: tuple[int, ...] = ()
    """Total time at the end of each finished lap."""

    def elapsed_ms(self, uptime_ms: int) -> int:
        return self.before_ms + (0 if self.since_ms is None else uptime_ms - self.since_ms)


def load_stopwatch(system: System) -> Stopwatch:
    prefs = Preferences.of(system, PACKAGE)
    since = prefs.get("sw_start_time", -1)
    laps = prefs.get("sw_laps", "")
    return Stopwatch(
        before_ms=prefs.get("sw_accum_time", 0),
        since_ms=None if since < 0 else since,
        laps_ms=tuple(int(lap) for lap in laps.split(",") if lap),
    )


def save_stopwatch(system: System, stopwatch: Stopwatch) -> None:
    state = 1 if stopwatch.since_ms is not None else 2 if stopwatch.before_ms else None
    Preferences.of(system, PACKAGE).put(
        sw_state=state,
        sw_accum_time=stopwatch.before_ms or None,
        sw_start_time=stopwatch.since_ms,
        sw_laps=",".join(str(lap) for lap in stopwatch.laps_ms) or None,
    )
