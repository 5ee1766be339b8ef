"""The state of a phone that adb can see, as one flat mapping, and the difference of two such states.

Tasks judge by this state and name side effects by its difference, so it is read with shell commands that a real phone
has too (`rlfactory.emulators.device.probes`). Keys are paths; values are strings, those of records JSON:

    settings/<namespace>/<key>              the setting's value
    files/<path under /sdcard>              md5 of the content; a directory ends in "/" and has the value "dir"
    contacts/<display name>                 record: names, company, numbers and addresses with labels, starred, the rest
    alarms/<hh:mm>/<label>                  record: time, label, on, days, vibrate, sound, once (it goes when it rang)
    timers/<seconds>                        record: state ("running", "paused", "expired", "reset"), length, total
                                            (with what was added since)
    stopwatch                               "running" or "paused", and how many laps; not there at rest
    cities                                  of the world clock, in their order
    wifi/<key>, bluetooth/<key>             networks saved and in use, devices paired
    sms/<number>                            record: text, type ("received", "sent", "draft")
    app/<package>/<table>/<row>             a row of an app's database, as SQL has its values
    app/<package>/<key>                     what else an app keeps that is not just how it shows things
    app/<package>/<path>                    md5 of a file of an app that does not ship with RLFactory, but for its cache
    foreground                              package/class of the resumed activity

The second of two things of one key is `<key>#2`. Aside from what is compared (`ASIDE`) there are

    clock/now, clock/boot                   the phone's local time, as "2023-10-15 15:34:00"; when it was started
    clock/stopwatch                         what it had counted when it was last started or paused (milliseconds)
    text/<path>, times/<path>               of notes: what they say, when they were changed (seconds since 1970)

Gaps: of a real phone, Wi-Fi networks, paired devices, cities and `app/<package>/<key>` are not read, for there they lie
elsewhere, and calls that come in are changes; what a user changes in tables that apps fill by themselves (the
calendar's kinds of events) is not seen; a setting that is written for the first time shows as a change, even if the
phone assumed that value before.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from rlfactory.emulators.device.probes import PROBES, record

DeviceState = Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One key that differs; None stands for "not there"."""

    key: str
    before: str | None
    after: str | None


ASIDE: Final = ("clock/", "text/", "times/")
"""How keys begin that are read and not compared: time passes by itself; what a note says, `files/` tells, too; and to
save a note as it was changes nothing but its time, which tasks that go by times look at themselves."""


def diff(before: DeviceState, after: DeviceState) -> tuple[Change, ...]:
    """Return what changed, sorted by key."""
    changed = {key for key, _ in before.items() ^ after.items() if not key.startswith(ASIDE)}
    return tuple(Change(key=key, before=before.get(key), after=after.get(key)) for key in sorted(changed))


def compared(state: DeviceState) -> dict[str, str]:
    """Return what of a state makes a difference: all but what is aside."""
    return {key: value for key, value in state.items() if not key.startswith(ASIDE)}


def digest(state: DeviceState) -> str:
    """Return the content hash (hex, 32 digits) of a state: equal states have equal digests."""
    lines = "\n".join(f"{key!r} {value!r}" for key, value in sorted(compared(state).items()))
    return hashlib.blake2b(lines.encode(), digest_size=16).hexdigest()


# --- what a phone does by itself -------------------------------------------------------------------------------------

MAX_DRIFT: Final = timedelta(minutes=2)
"""By which a phone may correct its clock; who sets it by hand moves it further."""


def untouched(before: DeviceState, after: DeviceState) -> dict[str, str | None]:
    """Return what of `before` is another value by the time of `after`, had nobody touched the phone: key -> value.

    An alarm that does not repeat is off once it has rung, or gone if it was to be deleted then (None). A timer that
    runs ends; no touch does that.
    """
    changed: dict[str, str | None] = {}
    for key, value in before.items():
        if key.startswith("alarms/"):
            alarm = json.loads(value)
            if alarm["on"] and not alarm["days"] and has_come(before, after, key.split("/")[1]):
                changed[key] = None if alarm["once"] else record(**alarm | {"on": False})
        elif key.startswith("timers/"):
            timer = json.loads(value)
            if timer["state"] == "running":
                changed[key] = record(**timer | {"state": "expired"})
    return changed


def has_come(before: DeviceState, after: DeviceState, time: str) -> bool:
    """Tell whether this time of day ("07:25") has come between two states."""
    if "clock/now" not in before or "clock/now" not in after:
        return False
    start, end = (datetime.fromisoformat(state["clock/now"]) for state in (before, after))
    hour, minute = (int(part) for part in time.split(":"))
    first = start.replace(hour=hour, minute=minute, second=0)
    return (first if first > start else first + timedelta(days=1)) <= end


def clock_set(before: DeviceState, after: DeviceState) -> tuple[Change, ...]:
    """Return the change that somebody set the phone's clock by hand, if so."""
    boots = before.get("clock/boot"), after.get("clock/boot")
    if boots[0] is None or boots[1] is None:
        return ()
    moved = datetime.fromisoformat(boots[1]) - datetime.fromisoformat(boots[0])
    return (Change(key="clock/boot", before=boots[0], after=boots[1]),) if abs(moved) > MAX_DRIFT else ()


# --- reading -------------------------------------------------------------------------------------------------------

VOLATILE: Final = (
    "files/*/.thumbnails/*",
    "files/Android/data/*/cache/*",
    "files/Android/media/*/cache/*",
    "files/window_dump.xml",
    "settings/global/auto_time_last_*",
    "settings/global/battery_*",
    "settings/global/boot_count",
    "settings/global/database_*_time",
    "settings/global/netstats_*",
    "settings/global/zen_mode_config_etag",
    "settings/secure/bluetooth_address",
    "settings/secure/default_input_method",
    "settings/secure/enabled_input_methods",
    "settings/secure/input_methods_subtype_history",
    "settings/secure/location_time_*",
    "settings/secure/selected_input_method_subtype",
    "settings/system/next_alarm_formatted",
)
"""fnmatch patterns of keys that phones change on their own, that tell nothing more than another key does, or that our
own tools change (uiautomator's dump, its keyboard)."""

MARK: Final = "@@state:"
"""Begins the line before what a part of the script prints; the part's name follows."""
PROBE: Final = "\n".join(f"echo '{MARK}{probe.name}'; {{ {probe.command}; }} 2>/dev/null" for probe in PROBES)
"""The script; whatever fails in it (a phone without a clock) just adds no keys."""

_IS_VOLATILE: Final = re.compile("|".join(fnmatch.translate(pattern) for pattern in VOLATILE))
_AT_A_MARK: Final = re.compile(f"^{MARK}", re.MULTILINE)
_PROBE_OF: Final = {probe.name: probe for probe in PROBES}


@lru_cache(maxsize=64)
def parse_probe(output: str) -> DeviceState:
    """Return the state from what `PROBE` printed. The mapping cannot be changed."""
    parts: dict[str, DeviceState] = {}
    for name, text in _sections(output):
        if name in _PROBE_OF:
            parts[name] = parse_part(name, text) if name not in parts else {f"probe/{name}": "printed twice"}
    return joined(parts.values())


@lru_cache(maxsize=1024)
def parse_part(name: str, text: str) -> DeviceState:
    """Return the keys of what the probe of this name printed: most print what they printed a step ago."""
    keys = _PROBE_OF[name].parse(text.replace("\r\n", "\n"))
    return {key: value for key, value in keys.items() if not _IS_VOLATILE.match(key)}


def joined(parts: Iterable[DeviceState]) -> DeviceState:
    """Return the state that these parts make. The mapping cannot be changed."""
    state: dict[str, str] = {}
    for part in parts:
        state.update(part)
    return MappingProxyType(state)


def _sections(output: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each part of the script's output."""
    for section in _AT_A_MARK.split(output.replace("\r\n", "\n"))[1:]:
        name, _, text = section.partition("\n")
        yield name, text
