"""The phone's files: an in-memory tree whose file contents are immutable, so a snapshot is a shallow copy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A regular file or directory; immutable, so that trees may share it."""

    data: bytes | None
    """None for a directory."""
    mode: int
    uid: int
    gid: int
    modified_ns: int
    """Simulated time."""


class FileTree:
    """Absolute POSIX paths -> entries. /storage/emulated/0, /sdcard and /data/media/0 are one tree.

    Raises throughout: FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, OSError (ENOSPC) with
    Android's errno, as `os` would.
    """

    # The interface that apps and commands rely on (filled in by the implementation):
    def resolve(self, path: str, cwd: str = "/") -> str: ...
    def exists(self, path: str) -> bool: ...
    def is_dir(self, path: str) -> bool: ...
    def is_file(self, path: str) -> bool: ...
    def stat(self, path: str) -> FileEntry: ...
    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted."""
    def read(self, path: str) -> bytes: ...
    def write(self, path: str, data: bytes, *, modified_ns: int | None = None, mode: int = 0o660) -> None:
        """Create or replace a file; its parent must exist."""
    def make_dirs(self, path: str) -> None: ...
    def remove(self, path: str, *, recursive: bool = False) -> None: ...
    def rename(self, source: str, target: str) -> None: ...
    def copy(self, source: str, target: str, *, recursive: bool = False) -> None: ...
    def walk(self, path: str) -> list[str]:
        """All paths at and below `path`, sorted."""
    def snapshot(self) -> FileTree: ...
