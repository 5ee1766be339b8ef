"""What kind of file a name stands for: type, icon, and how its size and date are written."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

Category = Literal["image", "video", "audio", "document", "archive", "other"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FileKind:
    """How a file is shown."""

    label: str
    """As in the Files app's rows: "PDF document"."""
    icon: str
    color: str
    category: Category
    mime_type: str
    is_text: bool = False


def _kind(label: str, icon: str, color: str, category: Category, mime: str, *, is_text: bool = False) -> FileKind:
    return FileKind(label=label, icon=icon, color=color, category=category, mime_type=mime, is_text=is_text)


_TEXT: Final = _kind("Plain text", "file-document-outline", "#1A73E8", "document", "text/plain", is_text=True)
_MARKDOWN: Final = _kind("Markdown", "file-document-outline", "#1A73E8", "document", "text/markdown", is_text=True)
_IMAGE: Final = ("image-outline", "#D93025", "image")
KINDS: Final[Mapping[str, FileKind]] = {
    "txt": _TEXT,
    "log": _TEXT,
    "md": _MARKDOWN,
    "csv": _kind("CSV document", "file-delimited-outline", "#188038", "document", "text/csv", is_text=True),
    "json": _kind("JSON document", "code-json", "#5F6368", "document", "application/json", is_text=True),
    "html": _kind("HTML document", "language-html5", "#E8710A", "document", "text/html", is_text=True),
    "xml": _kind("XML document", "xml", "#E8710A", "document", "text/xml", is_text=True),
    "pdf": _kind("PDF document", "file-pdf-box", "#D93025", "document", "application/pdf"),
    "doc": _kind("Word document", "file-word-box-outline", "#1A73E8", "document", "application/msword"),
    "docx": _kind("Word document", "file-word-box-outline", "#1A73E8", "document", "application/msword"),
    "xlsx": _kind("Spreadsheet", "file-excel-box-outline", "#188038", "document", "application/vnd.ms-excel"),
    "pptx": _kind(
        "Presentation", "file-powerpoint-box-outline", "#E8710A", "document", "application/vnd.ms-powerpoint"
    ),
    "jpg": _kind("JPG image", *_IMAGE, "image/jpeg"),
    "jpeg": _kind("JPG image", *_IMAGE, "image/jpeg"),
    "png": _kind("PNG image", *_IMAGE, "image/png"),
    "gif": _kind("GIF image", *_IMAGE, "image/gif"),
    "webp": _kind("WebP image", *_IMAGE, "image/webp"),
    "mp3": _kind("MP3 audio", "music-note", "#9334E6", "audio", "audio/mpeg"),
    "m4a": _kind("M4A audio", "music-note", "#9334E6", "audio", "audio/mp4"),
    "wav": _kind("WAV audio", "music-note", "#9334E6", "audio", "audio/x-wav"),
    "ogg": _kind("OGG audio", "music-note", "#9334E6", "audio", "audio/ogg"),
    "mp4": _kind("MP4 video", "movie-outline", "#D93025", "video", "video/mp4"),
    "mkv": _kind("MKV video", "movie-outline", "#D93025", "video", "video/x-matroska"),
    "zip": _kind("ZIP archive", "folder-zip-outline", "#5F6368", "archive", "application/zip"),
    "apk": _kind("Android app", "android", "#188038", "archive", "application/vnd.android.package-archive"),
}
_OTHER: Final = _kind("File", "file-outline", "#5F6368", "other", "application/octet-stream")
FOLDER: Final = _kind("Folder", "folder", "#5F6368", "other", "vnd.android.document/directory")


def kind_of(path: str) -> FileKind:
    """Return the kind of a file by its extension."""
    extension = posixpath.splitext(path)[1][1:].lower()
    known = KINDS.get(extension)
    if known is not None or not extension:
        return known or _OTHER
    return _kind(f"{extension.upper()} file", _OTHER.icon, _OTHER.color, "other", _OTHER.mime_type)


def format_day(when: datetime, now: datetime) -> str:
    """Return a file's time as lists show it: the time for today, else the day, with the year if not this one's."""
    if when.date() == now.date():
        return f"{when:%H:%M}"
    if when.date() == (now - timedelta(days=1)).date():
        return "Yesterday"
    return f"{when:%b} {when.day}" if when.year == now.year else f"{when:%b} {when.day}, {when.year}"


def modified_at(modified_ns: int, now: datetime) -> datetime:
    """Return a file's time in the zone of `now`."""
    return datetime.fromtimestamp(modified_ns / 1e9, tz=now.tzinfo)
