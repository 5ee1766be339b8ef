"""Keys of the flat state of a phone (`rlfactory.emulators.device.state`) that tasks are about."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.device.probes import NOTES

NOTES_FOLDER: Final = NOTES
"""Below /sdcard."""


def file_key(path: str) -> str:
    """Return the state key of a file below /sdcard, given as "Download/a.txt"; folders end in a slash."""
    return f"files/{path}"


def note_key(name: str) -> str:
    return file_key(f"{NOTES_FOLDER}/{name}")
