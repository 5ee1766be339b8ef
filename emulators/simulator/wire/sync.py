"""ADB's file transfer service (AOSP, packages/modules/adb/SYNC.TXT), versions 1 and 2 of stat and list.

A request is four letters, a u32 length and that many bytes (a path). Requests follow each other on one stream until
QUIT. A file that fails to arrive in full leaves no trace.
"""

from __future__ import annotations

import errno
import stat
import struct
from functools import partial
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.wire.adbd import ServiceMisused, Stream
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.machine.filesystem import FileEntry, FileTree
    from rlfactory.emulators.simulator.phone import Phone

MAX_CHUNK: Final = 64 * 1024
MAX_PATH: Final = 1024
MAX_FILE: Final = 512 * 1024 * 1024

_REQUEST = struct.Struct("<4sI")
_STAT_V1 = struct.Struct("<4sIII")
_DENT_V1 = struct.Struct("<4sIIII")
_STAT_V2 = struct.Struct("<4sIQQIIIIQqqq")
_DENT_V2 = struct.Struct("<4sIQQIIIIQqqqI")
_EMPTY_STAT_V2 = (0,) * 10


async def serve_sync(stream: Stream, thread: PhoneThread) -> None:
    """Serve one `sync:` stream."""
    while True:
        name, length = _REQUEST.unpack(await stream.read_exactly(_REQUEST.size))
        if name == b"QUIT":
            return
        if length > MAX_PATH:
            await _fail(stream, "path too long")
            return
        path = _path(await stream.read_exactly(length))
        match name:
            case b"STAT":
                await stream.write(await thread.call(partial(_stat_v1, path=path)))
            case b"STA2" | b"LST2":
                await stream.write(await thread.call(partial(_stat_v2, name=name, path=path)))
            case b"LIST" | b"LIS2":
                word = b"DENT" if name == b"LIST" else b"DNT2"
                await stream.write(await thread.call(partial(_list, path=path, word=word)))
            case b"RECV":
                await _send_file(stream, thread, path)
            case b"SEND":
                await _receive_file(stream, thread, path)
            case _:
                await _fail(stream, f"unknown command {name!r}")
                return


def _path(raw: bytes) -> str:
    """Raises: ServiceMisused: no name that a file can have."""
    try:
        path = raw.decode()
    except UnicodeDecodeError as error:
        raise ServiceMisused(f"path {raw!r} is not UTF-8") from error
    if "\0" in path:
        raise ServiceMisused(f"path {raw!r} holds a zero byte")
    return path


async def _fail(stream: Stream, message: str) -> None:
    text = message.encode()
    await stream.write(_REQUEST.pack(b"FAIL", len(text)) + text)


# --- looking


def _full_mode(entry: FileEntry) -> int:
    return entry.mode | (stat.S_IFDIR if entry.data is None else stat.S_IFREG)


def _u32(number: int) -> int:
    return max(0, min(number, 0xFFFFFFFF))


def _find(files: FileTree, path: str) -> FileEntry | None:
    try:
        return files.stat(path)
    except OSError:
        return None


def _stat_v1(phone: Phone, path: str) -> bytes:
    entry = _find(phone.system.files, path)
    if entry is None:
        return _STAT_V1.pack(b"STAT", 0, 0, 0)
    return _STAT_V1.pack(b"STAT", *_fields_v1(entry))


def _stat_v2(phone: Phone, name: bytes, path: str) -> bytes:
    try:
        entry = phone.system.files.stat(path)
    except OSError as error:
        return _STAT_V2.pack(name, error.errno or errno.EIO, *_EMPTY_STAT_V2)
    return _STAT_V2.pack(name, *_fields_v2(entry))


def _list(phone: Phone, path: str, word: bytes) -> bytes:
    """Return a directory's entries, each of which begins with `word`, and DONE."""
    packed, fields = (_DENT_V1, _fields_v1) if word == b"DENT" else (_DENT_V2, _fields_v2)
    parts = []
    for name, entry in _children(phone.system.files, path):
        text = name.encode()
        parts.append(packed.pack(word, *fields(entry), len(text)) + text)
    return b"".join((*parts, b"DONE".ljust(packed.size, b"\0")))


def _children(files: FileTree, path: str) -> list[tuple[str, FileEntry]]:
    """Return what `readdir` does, the dots included; nothing for what is no directory."""
    if not files.is_dir(path):
        return []
    here = files.stat(path)
    base = path.rstrip("/")
    return [(".", here), ("..", here)] + [(name, files.stat(f"{base}/{name}")) for name in files.list(path)]


def _fields_v1(entry: FileEntry) -> tuple[int, ...]:
    """Return mode, size and time."""
    return _full_mode(entry), _u32(_size(entry)), _u32(_seconds(entry))


def _fields_v2(entry: FileEntry) -> tuple[int, ...]:
    """Return error, dev, ino, mode, nlink, uid, gid, size, atime, mtime, ctime."""
    when = _seconds(entry)
    return (0, 1, 1, _full_mode(entry), 1, entry.uid, entry.gid, _size(entry), when, when, when)


def _size(entry: FileEntry) -> int:
    return 4096 if entry.data is None else len(entry.data)


def _seconds(entry: FileEntry) -> int:
    return entry.modified_ns // 1_000_000_000


# --- files


async def _send_file(stream: Stream, thread: PhoneThread, path: str) -> None:
    try:
        data = await thread.call(lambda phone: phone.system.files.read(path))
    except OSError as error:
        await _fail(stream, f"open failed: {error.strerror}")
        return
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    for start in range(0, len(view), MAX_CHUNK):
        chunk = view[start : start + MAX_CHUNK]
        parts += [_REQUEST.pack(b"DATA", len(chunk)), chunk]
    parts.append(_REQUEST.pack(b"DONE", 0))
    await stream.write(b"".join(parts))


async def _receive_file(stream: Stream, thread: PhoneThread, request: str) -> None:
    """Take a file: the request is `path,mode` with a decimal mode. It is written once all of it has come."""
    path, _, mode_text = request.rpartition(",")
    mode = int(mode_text) if mode_text.isdecimal() else -1
    chunks: list[bytes] = []
    total = 0
    while True:
        name, length = _REQUEST.unpack(await stream.read_exactly(_REQUEST.size))
        if name == b"DONE":
            break
        if name != b"DATA" or length > MAX_CHUNK:
            raise ServiceMisused(f"{name!r} of {length} bytes within a file")
        total += length
        data = await stream.read_exactly(length)
        if total <= MAX_FILE:
            chunks.append(data)
    if not path or mode < 0:
        await _fail(stream, f"bad request {request!r}")
    elif stat.S_ISLNK(mode):
        await _fail(stream, "symbolic links are not supported by this phone")
    elif total > MAX_FILE:
        await _fail(stream, f"file larger than {MAX_FILE} bytes")
    else:
        # `length` of DONE is the modification time.
        await _store(stream, thread, path, mode, b"".join(chunks), length)


async def _store(stream: Stream, thread: PhoneThread, path: str, mode: int, data: bytes, modified_s: int) -> None:
    def write(phone: Phone) -> None:
        files = phone.system.files
        files.make_dirs(path.rpartition("/")[0] or "/")
        files.write(path, data, mode=mode & 0o777, modified_ns=modified_s * 1_000_000_000)
        phone.invalidate()

    try:
        await thread.call(write)
    except OSError as error:
        await _fail(stream, f"couldn't create file: {error.strerror}")
    else:
        await stream.write(_REQUEST.pack(b"OKAY", 0))
