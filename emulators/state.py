"""The state of a phone that adb can see, as one flat mapping, and the difference of two such states.

Tasks judge by this state and name side effects by its difference, so it is read with shell commands that a real phone
has too. Keys are paths; values are short strings:

    settings/<namespace>/<key>              the setting's value
    files/<path under /sdcard>              md5 of the content; a directory ends in "/" and has the value "dir"
    contacts/<display name>/<number>        "1"
    alarms/<hh:mm>/<label>                  "on" or "off"
    foreground                              package/class of the resumed activity

An app that keeps its data in a private database contributes further keys (see `PROBES`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

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
