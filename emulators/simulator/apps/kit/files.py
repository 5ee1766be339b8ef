"""Folders as file managers show them, and what they do with files: list, sort, find, copy, move, delete, rename."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from rlfactory.emulators.simulator.android.system import System

STORAGE: Final = "/storage/emulated/0"
Category = Literal["image", "video", "audio", "document", "archive", "other"]
SortKey = Literal["name", "date", "size", "type"]
MAX_NAME_BYTES: Final = 240
"""A little below the file system's limit, so that a number can be put to the name."""
BAD_NAME_CHARACTERS: Final = frozenset('/\0\\:*?"<>|\n')


@dataclass(frozen=True, slots=True)
class FileKind:
    """How a file is shown."""

    label: str
    """As in the Files app's rows: "PDF document"."""
    icon: str
    color: str
    category: Category
    is_text: bool = False


_TEXT: Final = FileKind("Plain text", "file-document-outline", "#1A73E8", "document", is_text=True)
_MARKDOWN: Final = FileKind("Markdown", "file-document-outline", "#1A73E8", "document", is_text=True)
_IMAGE: Final = ("image-outline", "#D93025", "image")
KINDS: Final[Mapping[str, FileKind]] = {
    "txt": _TEXT,
    "log": _TEXT,
    "md": _MARKDOWN,
    "csv": FileKind("CSV document", "file-delimited-outline", "#188038", "document", is_text=True),
    "json": FileKind("JSON document", "code-json", "#5F6368", "document", is_text=True),
    "html": FileKind("HTML document", "language-html5", "#E8710A", "document", is_text=True),
    "xml": FileKind("XML document", "xml", "#E8710A", "document", is_text=True),
    "pdf": FileKind("PDF document", "file-pdf-box", "#D93025", "document"),
    "doc": FileKind("Word document", "file-word-box-outline", "#1A73E8", "document"),
    "docx": FileKind("Word document", "file-word-box-outline", "#1A73E8", "document"),
    "xlsx": FileKind("Spreadsheet", "file-excel-box-outline", "#188038", "document"),
    "pptx": FileKind("Presentation", "file-powerpoint-box-outline", "#E8710A", "document"),
    "jpg": FileKind("JPG image", *_IMAGE),
    "jpeg": FileKind("JPG image", *_IMAGE),
    "png": FileKind("PNG image", *_IMAGE),
    "gif": FileKind("GIF image", *_IMAGE),
    "webp": FileKind("WebP image", *_IMAGE),
    "mp3": FileKind("MP3 audio", "music-note", "#9334E6", "audio"),
    "m4a": FileKind("M4A audio", "music-note", "#9334E6", "audio"),
    "wav": FileKind("WAV audio", "music-note", "#9334E6", "audio"),
    "ogg": FileKind("OGG audio", "music-note", "#9334E6", "audio"),
    "mp4": FileKind("MP4 video", "movie-outline", "#D93025", "video"),
    "mkv": FileKind("MKV video", "movie-outline", "#D93025", "video"),
    "zip": FileKind("ZIP archive", "folder-zip-outline", "#5F6368", "archive"),
    "apk": FileKind("Android app", "android", "#188038", "archive"),
}
_OTHER: Final = FileKind("File", "file-outline", "#5F6368", "other")
FOLDER: Final = FileKind("Folder", "folder", "#5F6368", "other")


def kind_of(path: str) -> FileKind:
    """Return the kind of a file by its extension."""
    extension = posixpath.splitext(path)[1][1:].lower()
    known = KINDS.get(extension)
    if known is not None or not extension:
        return known or _OTHER
    return FileKind(f"{extension.upper()} file", _OTHER.icon, _OTHER.color, "other")


# --- lists -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class FileItem:
    """A file or folder in a list."""

    path: str
    is_dir: bool
    modified_ns: int
    size: int
    """Bytes; 0 for a folder."""

    @property
    def name(self) -> str:
        return posixpath.basename(self.path)

    @property
    def kind(self) -> FileKind:
        return FOLDER if self.is_dir else kind_of(self.path)

    def modified_at(self, now: datetime) -> datetime:
        """Return when it was changed, in the zone of `now`."""
        return datetime.fromtimestamp(self.modified_ns / 1e9, tz=now.tzinfo)

    def modified_day(self, now: datetime) -> str:
        """Return that as lists show it: the time for today, else the day, with the year if not this one's."""
        when = self.modified_at(now)
        if when.date() == now.date():
            return f"{when:%H:%M}"
        if when.date() == (now - timedelta(days=1)).date():
            return "Yesterday"
        return f"{when:%b} {when.day}" if when.year == now.year else f"{when:%b} {when.day}, {when.year}"


def file_item(system: System, path: str) -> FileItem:
    entry = system.files.stat(path)
    return FileItem(path=path, is_dir=entry.data is None, modified_ns=entry.modified_ns, size=len(entry.data or b""))


def folder_items(system: System, folder: str) -> list[FileItem]:
    """Return what is in a folder, hidden files left out; nothing for a folder that is gone."""
    if not system.files.is_dir(folder):
        return []
    names = [name for name in system.files.list(folder) if not name.startswith(".")]
    return [file_item(system, posixpath.join(folder, name)) for name in names]


def found_items(system: System, folder: str, query: str) -> list[FileItem]:
    """Return everything below a folder whose name contains the query, case aside."""
    text = query.casefold().strip()
    if not text or not system.files.is_dir(folder):
        return []
    below = system.files.walk(folder)[1:]
    return [
        file_item(system, path)
        for path in below
        if text in posixpath.basename(path).casefold() and _is_for_people(path)
    ]


def shared_files(system: System) -> list[FileItem]:
    """Return all files of shared storage, wherever they are."""
    items = [file_item(system, path) for path in system.files.walk(STORAGE) if _is_for_people(path)]
    return [item for item in items if not item.is_dir]


def _is_for_people(path: str) -> bool:
    """Tell whether a file manager shows a path: no hidden files, none that apps keep for themselves."""
    return "/." not in path and not path.startswith(f"{STORAGE}/Android/")


def sort_items(items: Iterable[FileItem], key: SortKey, *, reverse: bool = False) -> list[FileItem]:
    """Sort: folders first, then by name, newest first, largest first, or by type; `reverse` turns files around."""
    ordered = sorted(items, key=lambda item: item.name.casefold())
    if key == "date":
        ordered.sort(key=lambda item: item.modified_ns, reverse=True)
    elif key == "size":
        ordered.sort(key=lambda item: item.size, reverse=True)
    elif key == "type":
        ordered.sort(key=lambda item: item.kind.label)
    if reverse:
        ordered.reverse()
    return sorted(ordered, key=lambda item: not item.is_dir)


def is_good_name(name: str) -> bool:
    """Tell whether a file may be called so."""
    fits = 0 < len(name.encode("utf-8", "surrogateescape")) <= MAX_NAME_BYTES
    return fits and bool(name.strip()) and name not in {".", ".."} and not BAD_NAME_CHARACTERS & set(name)


def try_change(system: System, change: Callable[[], object]) -> bool:
    """Change files; when that fails (name taken, no space), a toast says why and the answer is False."""
    try:
        change()
    except FileExistsError:
        system.toast("An item with this name already exists")
    except OSError as error:
        system.toast(error.strerror or "That did not work")
    else:
        return True
    return False


def free_path(system: System, folder: str, name: str) -> str:
    """Return a path in the folder that is not taken, numbering the name as Android does: "a (1).txt"."""
    stem, extension = posixpath.splitext(name)
    path, number = posixpath.join(folder, name), 0
    while system.files.exists(path):
        number += 1
        path = posixpath.join(folder, f"{stem} ({number}){extension}")
    return path


def delete_paths(system: System, paths: Sequence[str]) -> None:
    for path in paths:
        if system.files.exists(path):
            system.files.remove(path, recursive=True)


def transfer_paths(system: System, paths: Sequence[str], folder: str, *, move: bool) -> int:
    """Copy or move into a folder; return how many could be: a folder never goes into itself."""
    done = 0
    for path in paths:
        inside_itself = folder == path or folder.startswith(path + "/")
        if inside_itself or not system.files.exists(path) or not system.files.is_dir(folder):
            continue
        if move and posixpath.dirname(path) == folder:
            continue
        target = free_path(system, folder, posixpath.basename(path))
        if move:
            system.files.rename(path, target)
        else:
            system.files.copy(path, target, recursive=True)
        done += 1
    return done


def rename_path(system: System, path: str, name: str) -> str:
    """Rename within the folder and return the new path.

    Raises: ValueError: a bad name; FileExistsError: the name is taken.
    """
    if not is_good_name(name):
        raise ValueError(f"not a file name: {name!r}")
    target = posixpath.join(posixpath.dirname(path), name)
    if target == path:
        return path
    if system.files.exists(target):
        raise FileExistsError(target)
    system.files.rename(path, target)
    return target


def read_text(system: System, path: str) -> tuple[str, str]:
    """Return a file's text and its encoding: UTF-8, or Latin-1 when it is not (so that saving loses nothing)."""
    data = system.files.read(path) if system.files.is_file(path) else b""
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"
