"""Names of users, modes and times, as Android prints them."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from rlfactory.emulators.simulator.machine.filesystem import FileEntry

_USERS: Final = {
    0: "root",
    1000: "system",
    1001: "radio",
    1013: "media",
    1015: "sdcard_rw",
    1023: "media_rw",
    1028: "sdcard_r",
    1078: "ext_data_rw",
    2000: "shell",
    9997: "everybody",
}
_FIRST_APP: Final = 10_000


def user_name(uid: int) -> str:
    """Return the name of a user or group id: `root`, `u0_a123`, else the number."""
    if uid in _USERS:
        return _USERS[uid]
    return f"u0_a{uid - _FIRST_APP}" if _FIRST_APP <= uid < 20_000 else str(uid)


def user_id(name: str) -> int:
    """Raises: ValueError: unknown user."""
    for uid, known in _USERS.items():
        if known == name:
            return uid
    if name.startswith("u0_a") and name[4:].isdigit():
        return _FIRST_APP + int(name[4:])
    if name.isdigit():
        return int(name)
    raise ValueError(f"bad user '{name}'")


def mode_text(entry: FileEntry) -> str:
    """Return `-rw-rw----`."""
    kind = stat.S_IFDIR if entry.is_dir else stat.S_IFREG
    return stat.filemode(kind | entry.mode)


def local_time(time_ns: int, zone: tzinfo) -> datetime:
    """Return a file time as a datetime, microseconds cut off."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)).astimezone(zone)


def full_time(time_ns: int, zone: tzinfo) -> str:
    """Return `2023-10-15 15:34:00.000000000 +0000`."""
    when = local_time(time_ns, zone)
    return f"{when:%Y-%m-%d %H:%M:%S}.{time_ns % 1_000_000_000:09d} {when:%z}"


def human_size(size: int) -> str:
    """Return `4.0K`, as -h prints sizes."""
    if size < 1000:
        return str(size)
    power = next((power for power in (1, 2, 3) if size / 1024**power < 1000), 4)
    value = size / 1024**power
    return f"{value:.1f}{'BKMGT'[power]}" if value < 10 else f"{value:.0f}{'BKMGT'[power]}"
