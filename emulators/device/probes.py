"""What is read of a phone to know its state: shell commands, and how their output becomes keys.

A new app's data is one more of these. What users wrote stands behind a prefix on its line or in a row that is
numbered, so that no text of theirs passes for another part's output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree


@dataclass(frozen=True, slots=True)
class Probe:
    """One part of the script."""

    name: str
    command: str
    parse: Callable[[str], Mapping[str, str]]
    """Of what the command printed. Never raises: what cannot be read adds no keys."""
    reads: str
    """What its output follows from alone: a file or folder, `settings NAMESPACE`, `foreground`, `clock`."""


def record(**fields: Any) -> str:
    """Return the value of a key that stands for a thing with several fields."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _numbered(things: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return key -> value, the second of one key as `<key>#2`."""
    found: dict[str, str] = {}
    for key, value in things:
        number, free = 2, key
        while free in found:
            number, free = number + 1, f"{key}#{number}"
        found[free] = value
    return found


# --- settings, files -----------------------------------------------------------------------------------------------

SHARED: Final = "/sdcard/"
NOTES: Final = "Documents/Markor"


def _settings(namespace: str) -> Probe:
    def parse(output: str) -> dict[str, str]:
        found: dict[str, str] = {}
        key = ""
        for line in output.split("\n")[:-1]:
            name, equals, value = line.partition("=")
            if equals:
                key = f"settings/{namespace}/{name}"
                found[key] = value
            elif key:
                # A value of several lines goes on.
                found[key] += "\n" + line
        return found

    return Probe(f"settings-{namespace}", f"settings list {namespace}", parse, f"settings {namespace}")


def _parse_folders(output: str) -> dict[str, str]:
    lines = output.split("\n")
    return {f"files/{line[len(SHARED) :]}/": "dir" for line in lines if line.startswith(SHARED)}


def _parse_files(output: str) -> dict[str, str]:
    lines = [(line[:32], line[34:]) for line in output.split("\n")]
    return {f"files/{path[len(SHARED) :]}": digest for digest, path in lines if path.startswith(SHARED)}


def _parse_texts(output: str) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    for line in output.split("\n"):
        path, colon, text = line.removeprefix("./").partition(":")
        if colon:
            texts.setdefault(path, []).append(text)
    return {f"text/{NOTES}/{path}": "\n".join(lines) for path, lines in texts.items()}


def _parse_times(output: str) -> dict[str, str]:
    lines = [line.partition(" ") for line in output.split("\n")]
    return {f"times/{path[len(SHARED) :]}": time for time, _, path in lines if path.startswith(SHARED)}


# --- contacts ------------------------------------------------------------------------------------------------------

_CONTACTS: Final = "/data/data/com.android.providers.contacts"
_RAW_CONTACT: Final = re.compile(r"Row: \d+ _id=(\d+), starred=(\w*), display_name=(.*)", re.DOTALL)
_DATA: Final = re.compile(
    r"Row: \d+ raw_contact_id=(\d+), mimetype=[^,]*/([^,/]*), data2=(.*?), data3=(.*?), data1=(.*)", re.DOTALL
)
_LABELS: Final = {
    "phone_v2": {"": "mobile", "1": "home", "2": "mobile", "3": "work", "7": "other", "12": "main"},
    "email_v2": {"": "home", "1": "home", "2": "work", "3": "other", "4": "mobile"},
}
"""ContactsContract's types by kind of data; without one it is as the form of a new contact has it."""


def _rows(output: str) -> list[str]:
    return re.split(r"\n(?=Row: \d+ )", output.removesuffix("\n"))


def _parse_contacts(output: str) -> dict[str, str]:
    people: dict[str, str] = {}
    fields: dict[str, dict[str, Any]] = {}
    for row in _rows(output):
        if person := _RAW_CONTACT.fullmatch(row):
            number, starred, name = person.groups()
            people[number] = _present(name)
            fields[number] = {
                **{"given": "", "family": "", "company": "", "phones": [], "emails": [], "other": []},
                "starred": starred == "1",
            }
        elif (data := _DATA.fullmatch(row)) and data.group(1) in fields:
            _add_data(fields[data.group(1)], *(_present(cell) for cell in data.groups()[1:]))
    return _numbered((f"contacts/{name}", record(**fields[number], name=name)) for number, name in people.items())


def _present(cell: str) -> str:
    return "" if cell == "NULL" else cell


def _add_data(person: dict[str, Any], kind: str, second: str, third: str, first: str) -> None:
    """Add one row of ContactsContract's data to a contact."""
    match kind:
        case "name":
            person["given"], person["family"] = second, third
        case "organization":
            person["company"] = first
        case "phone_v2" | "email_v2":
            label = _LABELS[kind].get(second, third or second)
            person["phones" if kind == "phone_v2" else "emails"].append([first, label])
        case _ if first:
            person["other"].append([kind, first])


# --- Clock ---------------------------------------------------------------------------------------------------------

_CLOCK: Final = "/data/data/com.google.android.deskclock"
_ALARMS: Final = f"{_CLOCK}/databases/alarms.db"
_CLOCK_PREFERENCES: Final = f"{_CLOCK}/shared_prefs/com.google.android.deskclock_preferences.xml"
_DEFAULT_SOUNDS: Final = frozenset({"", "Bright Morning", "content://settings/system/alarm_alert"})
_TIMER_STATES: Final = {"1": "running", "2": "paused", "3": "expired", "4": "reset", "5": "expired"}
_TIMER: Final = re.compile(r"timer_(state|setup_timet|original_timet)_(\d+)")


def _parse_alarms(output: str) -> dict[str, str]:
    alarms: list[tuple[str, str]] = []
    for line in output.split("\n"):
        cells = line.split("|", 6)
        if len(cells) == 7 and cells[2].isdecimal():
            time, on, days, vibrate, once, sound, label = cells
            alarm = record(
                **{"time": time, "label": label, "on": on == "1", "days": int(days), "vibrate": vibrate == "1"},
                **{"sound": "default" if sound in _DEFAULT_SOUNDS else sound, "once": once == "1"},
            )
            alarms.append((f"alarms/{time}/{label}", alarm))
    return _numbered(alarms)


def _parse_clock(output: str) -> dict[str, str]:
    values = _preferences(output)
    timers: dict[int, dict[str, str]] = {}
    for key, value in values.items():
        if match := _TIMER.fullmatch(key):
            timers.setdefault(int(match.group(2)), {})[match.group(1)] = value
    found = _numbered(_timer(timer) for _, timer in sorted(timers.items()))
    state = {"1": "running", "2": "paused"}.get(values.get("sw_state", ""))
    if state:
        laps = len([lap for lap in values.get("sw_laps", "").split(",") if lap])
        found["stopwatch"] = f"{state}, {laps} laps" if laps else state
        found["clock/stopwatch"] = values.get("sw_accum_time", "0")
    if values.get("cities"):
        found["cities"] = values["cities"]
    return found


def _timer(values: Mapping[str, str]) -> tuple[str, str]:
    seconds = _whole_seconds(values.get("setup_timet", ""))
    total = _whole_seconds(values.get("original_timet", "")) or seconds
    state = _TIMER_STATES.get(values.get("state", ""), "reset")
    return f"timers/{seconds}", record(length=seconds, state=state, total=total)


def _whole_seconds(milliseconds: str) -> int:
    return int(milliseconds) // 1000 if milliseconds.isdecimal() else 0


# --- what apps and services keep in preferences --------------------------------------------------------------------


def _preferences(output: str) -> dict[str, str]:
    """Return what a file of Android's SharedPreferences holds; one that is broken holds nothing."""
    try:
        root = ElementTree.fromstring(output)
    except ElementTree.ParseError:
        return {}
    return {node.get("name", ""): node.get("value") or node.text or "" for node in root}


def _kept(name: str, path: str, keys: str = ".*") -> Probe:
    """Return the probe of the preferences whose names match; one that is "false" is as good as not there."""
    wanted = re.compile(keys)

    def parse(output: str) -> dict[str, str]:
        return {
            f"{name}/{key}": value
            for key, value in _preferences(output).items()
            if wanted.fullmatch(key) and value not in {"", "false"}
        }

    return Probe(name, f"cat {path}", parse, path)


def _kept_by_app(package: str, file: str, keys: str) -> Probe:
    return _kept(f"app/{package}", f"/data/data/{package}/shared_prefs/{file}.xml", keys)


_FIRST_RUN: Final = re.compile(r'/data/data/([^/]*)/.*name="first_run" value="(\d+)"')


def _parse_first_runs(output: str) -> dict[str, str]:
    found = (_FIRST_RUN.match(line) for line in output.split("\n"))
    return {f"app/{match[1]}/first_run": match[2] for match in found if match}


# --- what apps keep in databases -----------------------------------------------------------------------------------

_DERIVED: Final = frozenset(
    {"android_metadata", "room_master_table", "sqlite_sequence", "Media", "notes_normalized", "event_types"}
)
"""Tables that apps fill by themselves: SQLite's and Android's, VLC's index of the storage, Joplin's for searching, the
kinds of events that the calendar begins with."""
_INSERTED: Final = re.compile(
    r"""^INSERT INTO ["']?(.*?)["']? VALUES\(((?:'(?:[^']|'')*+'|[^';)]|\)(?!;$))*+)\);$""", re.MULTILINE
)
"""One row as `.dump` prints it: table and values; texts may hold anything, line ends and statements, too."""


def _rows_of_app(package: str, *databases: str) -> Probe:
    """Return the probe of the rows of an app's databases, given by their paths in its folder.

    A database without rows is as good as not there: apps make theirs when they are first opened.
    """
    folder = f"/data/data/{package}"
    dumps = (f"[ -f {folder}/{name} ] && sqlite3 {folder}/{name} .dump" for name in databases)

    def parse(output: str) -> dict[str, str]:
        return _numbered(
            (f"app/{package}/{table}/{row.partition(',')[0]}", row)
            for table, row in _INSERTED.findall(output)
            if table not in _DERIVED
        )

    return Probe(f"rows/{package}", "; ".join(dumps), parse, folder)


# --- what apps of one's own keep --------------------------------------------------------------------------------------

OWN_APPS: Final = "rlfactory.apps"
"""Property of a simulated phone: the packages that do not ship with it. On other phones there is none: what apps of
others keep changes by itself."""
_OWN_FILE: Final = re.compile(r"/data/data/([^/]+)/(.*)")
_OWN_ROW: Final = re.compile(rf"^-- /data/data/([^/\n]+)/|{_INSERTED.pattern}", re.MULTILINE)


def _parse_own_preferences(output: str) -> dict[str, str]:
    files: dict[str, list[str]] = {}
    for line in output.split("\n"):
        path, colon, text = line.partition(":")
        if colon and _OWN_FILE.fullmatch(path):
            files.setdefault(path, []).append(text)
    return _numbered(
        (f"app/{path.split('/')[3]}/{key}", value)
        for path, lines in files.items()
        for key, value in _preferences("\n".join(lines)).items()
        if value not in {"", "false"}
    )


def _parse_own_rows(output: str) -> dict[str, str]:
    rows: list[tuple[str, str]] = []
    package = ""
    for begun, table, row in _OWN_ROW.findall(output):
        package = begun or package
        if not begun and table not in _DERIVED:
            rows.append((f"app/{package}/{table}/{row.partition(',')[0]}", row))
    return _numbered(rows)


def _parse_own_files(output: str) -> dict[str, str]:
    found = ((line[:32], _OWN_FILE.fullmatch(line[34:])) for line in output.split("\n"))
    return {f"app/{match[1]}/{match[2]}": digest for digest, match in found if match}


def _of_own_apps(name: str, command: str, parse: Callable[[str], Mapping[str, str]]) -> Probe:
    """Return the probe that runs a command for the folder of each of them, `$app`."""
    loop = f"for package in $(getprop {OWN_APPS}); do app=/data/data/$package; {command}; done"
    return Probe(f"own/{name}", loop, parse, "/data/data")


_OWN: Final = (
    _of_own_apps("preferences", "grep -r '' $app/shared_prefs", _parse_own_preferences),
    _of_own_apps(
        "rows",
        'for file in $app/databases/*; do [ -f "$file" ] && echo "-- $file" && sqlite3 "$file" .dump; done',
        _parse_own_rows,
    ),
    _of_own_apps(
        "files",
        "find $app -type f -not -path '*/cache/*' -not -path '*/shared_prefs/*' -not -path '*/databases/*' "
        "-exec md5sum {} +",
        _parse_own_files,
    ),
)

_SMS: Final = re.compile(r"Row: \d+ address=(.*?), type=(\w*), body=(.*)", re.DOTALL)
_SMS_TYPES: Final = {"1": "received", "2": "sent", "3": "draft"}


def _parse_sms(output: str) -> dict[str, str]:
    messages = [match.groups() for row in _rows(output) if (match := _SMS.fullmatch(row))]
    return _numbered(
        (f"sms/{address}", record(type=_SMS_TYPES.get(kind, kind), text=text)) for address, kind, text in messages
    )


# --- what moves by itself ------------------------------------------------------------------------------------------

_RESUMED: Final = re.compile(r"ResumedActivity(?:=|: )ActivityRecord\{\S+ \S+ ([^\s/]+/[^\s}]+)")


def _parse_foreground(output: str) -> dict[str, str]:
    match = _RESUMED.search(output)
    return {"foreground": match.group(1) if match else ""}


def _parse_times_of_phone(output: str) -> dict[str, str]:
    lines = output.split("\n")
    return {"clock/now": lines[0], "clock/boot": lines[1]} if len(lines) > 2 else {}


_INTRODUCED: Final = (
    *("ca.zgrs.clipper", "code.name.monkey.retromusic", "com.android.camera2", "com.android.chrome"),
    *("com.arduia.expense", "com.simplemobiletools.gallery.pro", "com.simplemobiletools.smsmessenger"),
    *("net.osmand", "org.videolan.vlc"),
)
"""Apps that begin with pages of their own."""
_DATABASES: Final = {
    "com.android.providers.contacts": ("databases/calllog.db",),
    "code.name.monkey.retromusic": ("databases/playlist.db", "databases/music_playback_state.db"),
    "com.arduia.expense": ("databases/accounting.db",),
    "com.flauschcode.broccoli": ("databases/broccoli",),
    "com.simplemobiletools.calendar.pro": ("databases/events.db",),
    "de.dennisguse.opentracks": ("databases/database.db",),
    "net.cozic.joplin": ("databases/joplin.sqlite",),
    "net.osmand": ("databases/map_markers_db",),
    "org.tasks": ("databases/database",),
    "org.videolan.vlc": ("app_db/vlc_media.db",),
}
"""Of apps, by the paths in their folders."""
PROBES: Final = (
    _settings("system"),
    _settings("secure"),
    _settings("global"),
    Probe("folders", f"find {SHARED} -mindepth 1 -type d", _parse_folders, SHARED),
    Probe("files", f"find {SHARED} -type f -exec md5sum {{}} +", _parse_files, SHARED),
    Probe("texts", f"(cd {SHARED}{NOTES} && grep -r '' .)", _parse_texts, SHARED + NOTES),
    Probe("times", f"find {SHARED}{NOTES} -type f -exec stat -c '%Y %n' {{}} +", _parse_times, SHARED + NOTES),
    Probe(
        "contacts",
        "content query --uri content://com.android.contacts/raw_contacts --projection _id:starred:display_name; "
        "content query --uri content://com.android.contacts/data --projection "
        "raw_contact_id:mimetype:data2:data3:data1",
        _parse_contacts,
        _CONTACTS,
    ),
    Probe(
        "alarms",
        f"[ -f {_ALARMS} ] && sqlite3 {_ALARMS} "
        "\"SELECT printf('%02d:%02d', hour, minutes), enabled, daysofweek, vibrate, delete_after_use, "
        "replace(coalesce(ringtone, ''), char(10), ' '), replace(label, char(10), ' ') "
        'FROM alarm_templates ORDER BY hour, minutes, _id;"',
        _parse_alarms,
        _ALARMS,
    ),
    Probe("clock", f"cat {_CLOCK_PREFERENCES}", _parse_clock, _CLOCK_PREFERENCES),
    _kept("wifi", "/data/misc/wifi/WifiConfigStore.xml"),
    _kept("bluetooth", "/data/misc/bluedroid/bt_config.xml"),
    _kept_by_app("net.gsantner.markor", "app", "intro_done|changelog_seen|access_asked"),
    _kept_by_app("com.google.android.contacts", "com.google.android.contacts_preferences", "setup"),
    Probe(
        "first-runs",
        "grep first_run " + " ".join(f"/data/data/{package}/shared_prefs/first_run.xml" for package in _INTRODUCED),
        _parse_first_runs,
        "/data/data",
    ),
    *(_rows_of_app(package, *databases) for package, databases in _DATABASES.items()),
    *_OWN,
    Probe(
        "sms",
        "content query --uri content://sms --projection address:type:body --sort _id",
        _parse_sms,
        "/data/data/com.android.providers.telephony",
    ),
    Probe("foreground", "dumpsys activity activities | grep -m 1 ResumedActivity", _parse_foreground, "foreground"),
    Probe("now", "date '+%Y-%m-%d %H:%M:%S'; uptime -s", _parse_times_of_phone, "clock"),
)
