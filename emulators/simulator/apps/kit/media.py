"""Media files of the shared storage as players and galleries list them: found by their kind, tags and lengths read."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache

import mutagen

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.files import STORAGE, Category, FileItem, shared_files


@dataclass(frozen=True, kw_only=True, slots=True)
class Media:
    """One audio or video file."""

    path: str
    title: str
    artist: str
    duration_ms: int

    @property
    def length(self) -> str:
        minutes, seconds = divmod(round(self.duration_ms / 1000), 60)
        return f"{minutes:02d}:{seconds:02d}"


def media_files(system: System, category: Category, folders: tuple[str, ...] = ("",)) -> list[FileItem]:
    """Return the files of a kind below these folders of the shared storage, by name."""
    roots = tuple(f"{STORAGE}/{folder}".rstrip("/") + "/" for folder in folders)
    found = [item for item in shared_files(system) if item.kind.category == category and item.path.startswith(roots)]
    return sorted(found, key=lambda item: item.name.casefold())


def read_media(system: System, item: FileItem) -> Media:
    """Return what a file says of itself; one that cannot be read is called by its name and has no length."""
    title, artist, duration_ms = _tags(system.files.read(item.path))
    return Media(path=item.path, title=title or item.name.rpartition(".")[0], artist=artist, duration_ms=duration_ms)


@lru_cache(maxsize=512)
def _tags(data: bytes) -> tuple[str, str, int]:
    """Return title, artist and length in milliseconds."""
    try:
        file = mutagen.File(io.BytesIO(data), easy=True)
    except (mutagen.MutagenError, ValueError, IndexError):
        file = None
    if file is None or file.info is None:
        return "", "", 0
    tags = file.tags or {}
    return (*(str((tags.get(name) or [""])[0]) for name in ("title", "artist")), round(file.info.length * 1000))
