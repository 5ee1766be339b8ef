"""The state of a phone that adb can see, as one flat mapping, and the difference of two such states.

Tasks judge by this state and name side effects by its difference, so it is read with shell commands that a real phone
has too. Keys are paths; values are short strings:

    settings/<namespace>/<key>              the setting's value
    files/<path under /sdcard>              md5 of the content; a directory ends in "/" and has the value "dir"
    contacts/<display name>/<number>        how many contacts have this name and number, mostly "1"
    alarms/<hh:mm>/<label>                  "on" or "off"; a second alarm of that time and label is `<label>#2`
    timers/<seconds>                        states of Clock's timers of that length: "running", "paused", "expired" or
                                            "reset", with a comma between several
    stopwatch                               "running" or "paused"; not there at rest
    foreground                              package/class of the resumed activity

`PROBE` is the one shell script that reads it all and `parse_probe` the one reader of what it prints, for simulated and
real phones alike. Keys that change by themselves are left out (`VOLATILE`).
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

DeviceState = Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One key that differs; None stands for "not there"."""

    key: str
    before: str | None
    after: str | None


def diff(before: DeviceState, after: DeviceState) -> tuple[Change, ...]:
    """Return what changed, sorted by key."""
    keys = sorted(before.keys() | after.keys())
    return tuple(
        Change(key=key, before=before.get(key), after=after.get(key))
        for key in keys
        if before.get(key) != after.get(key)
    )


def digest(state: DeviceState) -> str:
    """Return the content hash (hex, 32 digits) of a state: equal states have equal digests."""
    lines = "\n".join(f"{key!r} {state[key]!r}" for key in sorted(state))
    return hashlib.blake2b(lines.encode(), digest_size=16).hexdigest()


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

_MARK: Final = "@@state:"
_SHARED: Final = "/sdcard/"
_ALARMS_DATABASE: Final = "/data/data/com.google.android.deskclock/databases/alarms.db"
_CLOCK_PREFERENCES: Final = (
    "/data/data/com.google.android.deskclock/shared_prefs/com.google.android.deskclock_preferences.xml"
)
_TIMER: Final = re.compile(r'name="timer_(state|setup_timet)_(\d+)" value="(\d+)"')
_TIMER_STATES: Final = {"1": "running", "2": "paused", "3": "expired", "4": "reset", "5": "expired"}
_STOPWATCH: Final = re.compile(r'name="sw_state" value="([12])"')
_CONTACT: Final = re.compile(r"Row: \d+ display_name=(.*), number=(.*)", re.DOTALL)
_RESUMED: Final = re.compile(r"ResumedActivity(?:=|: )ActivityRecord\{\S+ \S+ ([^\s/]+/[^\s}]+)")


@dataclass(frozen=True, slots=True)
class Probe:
    """One part of the script, and how its output becomes keys."""

    name: str
    command: str
    parse: Callable[[str, dict[str, str]], None]
    """(output, mapping to add to)."""


def _settings(namespace: str) -> Probe:
    def parse(output: str, state: dict[str, str]) -> None:
        key = ""
        for line in output.split("\n")[:-1]:
            name, equals, value = line.partition("=")
            if equals:
                key = f"settings/{namespace}/{name}"
                state[key] = value
            elif key:
                # A value of several lines goes on.
                state[key] += "\n" + line

    return Probe(f"settings-{namespace}", f"settings list {namespace}", parse)


def _parse_folders(output: str, state: dict[str, str]) -> None:
    for line in output.split("\n"):
        if line.startswith(_SHARED):
            state[f"files/{line[len(_SHARED) :]}/"] = "dir"


def _parse_files(output: str, state: dict[str, str]) -> None:
    for line in output.split("\n"):
        digest, path = line[:32], line[34:]
        if path.startswith(_SHARED):
            state[f"files/{path[len(_SHARED) :]}"] = digest


def _parse_contacts(output: str, state: dict[str, str]) -> None:
    for row in re.split(r"\n(?=Row: \d+ )", output.removesuffix("\n")):
        match = _CONTACT.fullmatch(row)
        if match:
            key = f"contacts/{match.group(1)}/{match.group(2)}"
            state[key] = str(int(state.get(key, "0")) + 1)


def _parse_alarms(output: str, state: dict[str, str]) -> None:
    for line in output.split("\n"):
        time, _, rest = line.partition("|")
        enabled, separator, label = rest.partition("|")
        if separator:
            key = f"alarms/{time}/{label}"
            number = 2
            while key in state:
                key = f"alarms/{time}/{label}#{number}"
                number += 1
            state[key] = "on" if enabled == "1" else "off"


def _parse_clock(output: str, state: dict[str, str]) -> None:
    timers: dict[str, dict[str, str]] = {}
    for field, number, value in _TIMER.findall(output):
        timers.setdefault(number, {})[field] = value
    for _, timer in sorted(timers.items()):
        key = f"timers/{int(timer.get('setup_timet', '0')) // 1000}"
        found = _TIMER_STATES.get(timer.get("state", ""), "reset")
        state[key] = f"{state[key]},{found}" if key in state else found
    if match := _STOPWATCH.search(output):
        state["stopwatch"] = {"1": "running", "2": "paused"}[match.group(1)]


def _parse_foreground(output: str, state: dict[str, str]) -> None:
    match = _RESUMED.search(output)
    state["foreground"] = match.group(1) if match else ""


PROBES: Final = (
    _settings("system"),
    _settings("secure"),
    _settings("global"),
    Probe("folders", f"find {_SHARED} -mindepth 1 -type d", _parse_folders),
    Probe("files", f"find {_SHARED} -type f -exec md5sum {{}} +", _parse_files),
    Probe(
        "contacts", "content query --uri content://contacts/phones/ --projection display_name:number", _parse_contacts
    ),
    Probe(
        "alarms",
        f"[ -f {_ALARMS_DATABASE} ] && sqlite3 {_ALARMS_DATABASE} "
        "\"SELECT printf('%02d:%02d', hour, minutes), enabled, replace(label, char(10), ' ') "
        'FROM alarm_templates ORDER BY hour, minutes, _id;"',
        _parse_alarms,
    ),
    Probe("clock", f"cat {_CLOCK_PREFERENCES}", _parse_clock),
    Probe("foreground", "dumpsys activity activities | grep -m 1 ResumedActivity", _parse_foreground),
)
"""The parts of the state; a new app's data is one more of these."""

PROBE: Final = "\n".join(f"echo '{_MARK}{probe.name}'; {{ {probe.command}; }} 2>/dev/null" for probe in PROBES)
"""The script; whatever fails in it (a phone without a clock) just adds no keys."""

_IS_VOLATILE: Final = re.compile("|".join(fnmatch.translate(pattern) for pattern in VOLATILE))


@lru_cache(maxsize=64)
def parse_probe(output: str) -> DeviceState:
    """Return the state from what `PROBE` printed. The mapping cannot be changed."""
    state: dict[str, str] = {}
    sections = dict(_sections(output))
    for probe in PROBES:
        probe.parse(sections.get(probe.name, ""), state)
    return MappingProxyType({key: value for key, value in state.items() if not _IS_VOLATILE.match(key)})


def _sections(output: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each part of the script's output."""
    for section in output.replace("\r\n", "\n").split(_MARK)[1:]:
        name, _, text = section.partition("\n")
        yield name, text
