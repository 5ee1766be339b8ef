"""Reading the flat state of a phone (`rlfactory.emulators.device.state`) as contacts, alarms and files."""

from __future__ import annotations

import hashlib
from collections import Counter

from rlfactory.emulators.device.state import DeviceState
from rlfactory.envs.tasks.phone.pools import digits_of

NOTES_FOLDER = "Documents/Markor"
"""Below /sdcard."""


def contact_numbers(state: DeviceState, name: str) -> Counter[str]:
    """Return digits -> how many contacts of exactly this display name have that number."""
    prefix = f"contacts/{name}/"
    return Counter(
        {digits_of(key.removeprefix(prefix)): int(count) for key, count in state.items() if key.startswith(prefix)}
    )


def contact_names(state: DeviceState) -> set[str]:
    return {key.split("/")[1] for key in state if key.startswith("contacts/")}


def file_key(path: str) -> str:
    """Return the state key of a file below /sdcard, given as "Download/a.txt"; folders end in a slash."""
    return f"files/{path}"


def note_key(name: str) -> str:
    return file_key(f"{NOTES_FOLDER}/{name}")


def holds_text(state: DeviceState, key: str, text: str) -> bool:
    """Tell whether a file has this text; line breaks at its end do not matter."""
    return state.get(key) in {_md5(text.rstrip("\n") + "\n" * breaks) for breaks in range(4)}


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def alarms_at(state: DeviceState, time: str) -> dict[str, str]:
    """Return label -> "on" or "off" of the alarms at "07:25"."""
    prefix = f"alarms/{time}/"
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
