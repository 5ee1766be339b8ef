"""The phone's files: a persistent (copy-on-write) tree of immutable entries.

A change rebuilds only the directories on the way to what changed; everything else is shared. So a snapshot is one
reference, two snapshots that agree on a folder share its very object, and digests are cached on the entries they
describe.
"""

from __future__ import annotations

import builtins
import errno
import os
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from rlfactory.emulators.simulator.machine.tree_nodes import (
    DirectoryNode,
    FileEntry,
    FileNode,
    Node,
    copied,
    empty_directory,
)

__all__ = ["SHARED_STORAGE", "FileEntry", "FileTree"]

SHARED_STORAGE: Final = "/storage/emulated/0"
ALIASES: Final = {
    "/sdcard": SHARED_STORAGE,
    "/mnt/sdcard": SHARED_STORAGE,
    "/storage/self/primary": SHARED_STORAGE,
    "/data/media/0": SHARED_STORAGE,
    "/data/user/0": "/data/data",
}
"""Other names of a directory, as bind mounts and links make them on a phone."""
_ALIAS_PARTS: Final = {tuple(name[1:].split("/")): target for name, target in ALIASES.items()}
_ALIAS_HEADS: Final = frozenset(parts[0] for parts in _ALIAS_PARTS)
_ALIAS_NAMES: Final = tuple(posixpath.split(name) for name in ALIASES)
_MOUNT_POINTS: Final = frozenset({"/", SHARED_STORAGE, "/data", "/data/data", "/storage", "/storage/emulated"})

DEFAULT_CAPACITY_BYTES: Final = 512 * 1024 * 1024
MAX_NAME_BYTES: Final = 255
MAX_DEPTH: Final = 128
MAX_ENTRIES: Final = 200_000


def _error(number: int, path: str) -> OSError:
    # OSError picks the subclass (FileNotFoundError, ...) by the number.
    return OSError(number, os.strerror(number), path)


class FileTree:
    """Absolute POSIX paths -> entries. /storage/emulated/0, /sdcard and /data/media/0 are one tree.

    New entries belong to the owner of the directory that they are made in, as on Android's shared storage.
    Raises throughout: FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, OSError (ENOSPC,
    ENOTEMPTY, ENAMETOOLONG, EBUSY, EINVAL) with Android's errno, as `os` would.
    """

    def __init__(self, now_ns: Callable[[], int] = lambda: 0, *, capacity_bytes: int = DEFAULT_CAPACITY_BYTES) -> None:
        """Make a tree that holds only `/`; `now_ns` is asked for the time of every change."""
        self._now_ns = now_ns
        self.capacity_bytes = capacity_bytes
        self.storage_full = False
        """Shared storage takes nothing more; apps' own data goes into the reserve that Android keeps for it."""
        self._root = empty_directory(mode=0o755, uid=0, gid=0, modified_ns=0)

    # --- names ---------------------------------------------------------------------------------------------------

    def resolve(self, path: str, cwd: str = "/") -> str:
        """Return the path as absolute and normal, with aliases of shared storage replaced."""
        return "/" + "/".join(_parts(posixpath.join(cwd, path)))

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_dir(self, path: str) -> bool:
        return isinstance(self._find(path), DirectoryNode)

    def is_file(self, path: str) -> bool:
        return isinstance(self._find(path), FileNode)

    # --- reading -------------------------------------------------------------------------------------------------

    def stat(self, path: str) -> FileEntry:
        return self._get(path).entry

    def list(self, path: str) -> list[str]:
        """Return the names in a directory, sorted, aliases among them."""
        folder = self.resolve(path)
        aliases = [name for parent, name in _ALIAS_NAMES if parent == folder]
        return sorted({*self._directory(path).children, *aliases})

    def read(self, path: str) -> bytes:
        return self._file(path).content

    def md5(self, path: str) -> str:
        """Return the hex MD5 of a file's content (computed once per content)."""
        return self._file(path).md5

    def walk(self, path: str) -> builtins.list[str]:
        """Return all paths at and below `path`, sorted, with the prefix as given."""
        return sorted(found for found, _ in self.walk_entries(path))

    def walk_entries(self, path: str) -> Iterator[tuple[str, FileEntry]]:
        """Yield path and entry of everything at and below `path`, parents first, names in order."""
        pending: list[tuple[str, Node]] = [(path.rstrip("/") or "/", self._get(path))]
        while pending:
            at, node = pending.pop()
            yield at, node.entry
            if isinstance(node, DirectoryNode):
                prefix = at if at.endswith("/") else at + "/"
                pending.extend((prefix + name, node.children[name]) for name in sorted(node.children, reverse=True))

    def used_bytes(self, path: str = "/") -> int:
        """Return how many bytes the files at and below `path` hold."""
        return self._get(path).bytes

    def identity(self, path: str) -> object:
        """Return an object that is the same as long as nothing at or below `path` changed; "" where there is none."""
        return self._find(path) or ""

    def digest(self) -> str:
        """Return a hash of everything in the tree: names, contents, owners, modes, times."""
        return self._root.digest().hex()

    # --- changing ------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes, *, modified_ns: int | None = None, mode: int | None = None) -> None:
        """Create or replace a file; its parent must exist. A replaced file keeps owner and mode unless given."""
        when = self._now_ns() if modified_ns is None else modified_ns
        old = self._find(path)
        if isinstance(old, DirectoryNode) or path.endswith("/"):
            raise _error(errno.EISDIR, path)
        parent, _ = self._parent(path)
        if old is not None:
            entry = replace(old.entry, data=data, modified_ns=when, mode=old.entry.mode if mode is None else mode)
        else:
            entry = FileEntry(data, 0o660 if mode is None else mode, parent.entry.uid, parent.entry.gid, when)
        self._check_room(len(data) - (old.bytes if old else 0), 0 if old else 1, path)
        self._put(path, FileNode(entry), touch_parent=old is None)

    def make_dir(self, path: str, *, mode: int = 0o771) -> None:
        """Create one directory; its parent must exist."""
        if self._find(path) is not None:
            raise _error(errno.EEXIST, path)
        parent, _ = self._parent(path)
        self._check_room(0, 1, path)
        self._put(
            path, empty_directory(mode=mode, uid=parent.entry.uid, gid=parent.entry.gid, modified_ns=self._now_ns())
        )

    def make_dirs(self, path: str) -> None:
        """Create a directory and its missing parents; fine if it is there already."""
        parts = _parts(path)
        for length in range(1, len(parts) + 1):
            at = "/" + "/".join(parts[:length])
            found = self._find(at)
            if found is None:
                self.make_dir(at)
            elif isinstance(found, FileNode):
                raise _error(errno.ENOTDIR if length < len(parts) else errno.EEXIST, path)

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, an empty directory, or with `recursive` a whole one."""
        node = self._get(path)
        if self.resolve(path) in _MOUNT_POINTS:
            raise _error(errno.EBUSY, path)
        if isinstance(node, DirectoryNode) and node.children and not recursive:
            raise _error(errno.ENOTEMPTY, path)
        self._put(path, None)

    def rename(self, source: str, target: str) -> None:
        """Move `source` to the name `target` (not into it), replacing a file or an empty directory there."""
        node = self._get(source)
        source_path, target_path = self.resolve(source), self.resolve(target)
        if source_path == target_path:
            return
        if source_path in _MOUNT_POINTS:
            raise _error(errno.EBUSY, source)
        if target_path.startswith(source_path + "/"):
            raise _error(errno.EINVAL, target)
        self._check_replaceable(node, target)
        self._check_depth(node, target)
        self._parent(target)
        self._put(source, None)
        self._put(target, node)

    def copy(self, source: str, target: str, *, recursive: bool = False, preserve: bool = False) -> None:
        """Copy to the name `target` (not into it); a directory needs `recursive` and an absent target.

        With `preserve`, times, modes and owners are kept, and the copy shares its entries with the source.
        """
        node = self._get(source)
        if isinstance(node, FileNode):
            if preserve:
                self._check_replaceable(node, target)
                self._check_room(node.bytes, 1, target)
                self._parent(target)
                self._put(target, FileNode(node.entry))
            else:
                mode = None if self.exists(target) else node.entry.mode
                self.write(target, node.content, mode=mode)
            return
        if not recursive:
            raise _error(errno.EISDIR, source)
        if (self.resolve(target) + "/").startswith(self.resolve(source) + "/"):
            raise _error(errno.EINVAL, target)
        if self.exists(target):
            raise _error(errno.EEXIST, target)
        parent, _ = self._parent(target)
        self._check_room(node.bytes, node.count, target)
        self._check_depth(node, target)
        self._put(target, node if preserve else copied(node, parent.entry, self._now_ns()))

    def set_times(self, path: str, modified_ns: int) -> None:
        self._set_entry(path, replace(self.stat(path), modified_ns=modified_ns))

    def set_mode(self, path: str, mode: int) -> None:
        self._set_entry(path, replace(self.stat(path), mode=mode))

    def set_owner(self, path: str, uid: int, gid: int) -> None:
        self._set_entry(path, replace(self.stat(path), uid=uid, gid=gid))

    # --- snapshots -----------------------------------------------------------------------------------------------

    def snapshot(self) -> FileTree:
        """Return a tree with the same content, independent of this one from now on."""
        twin = FileTree(self._now_ns, capacity_bytes=self.capacity_bytes)
        twin.restore(self)
        return twin

    def restore(self, other: FileTree) -> None:
        """Take over the content of another tree."""
        self._root, self.storage_full = other._root, other.storage_full

    # --- inside --------------------------------------------------------------------------------------------------

    def _find(self, path: str) -> Node | None:
        node: Node = self._root
        for name in _parts(path):
            if not isinstance(node, DirectoryNode):
                return None
            child = node.children.get(name)
            if child is None:
                return None
            node = child
        return None if path.endswith("/") and isinstance(node, FileNode) else node

    def _get(self, path: str) -> Node:
        node: Node = self._root
        for name in _parts(path):
            if not isinstance(node, DirectoryNode):
                raise _error(errno.ENOTDIR, path)
            child = node.children.get(name)
            if child is None:
                raise _error(errno.ENOENT, path)
            node = child
        if path.endswith("/") and isinstance(node, FileNode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _file(self, path: str) -> FileNode:
        node = self._get(path)
        if isinstance(node, DirectoryNode):
            raise _error(errno.EISDIR, path)
        return node

    def _directory(self, path: str) -> DirectoryNode:
        node = self._get(path)
        if isinstance(node, FileNode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[DirectoryNode, str]:
        """Return the directory that holds (or would hold) `path`, and the last name; checks the name."""
        parts = _parts(path)
        if not parts:
            raise _error(errno.EBUSY, path)
        name = parts[-1]
        if "\0" in path:
            raise _error(errno.EINVAL, path)
        if len(name.encode("utf-8", "surrogateescape")) > MAX_NAME_BYTES or len(parts) > MAX_DEPTH:
            raise _error(errno.ENAMETOOLONG, path)
        try:
            parent = self._get("/" + "/".join(parts[:-1]))
        except OSError as error:
            raise _error(error.errno or errno.ENOENT, path) from None
        if isinstance(parent, FileNode):
            raise _error(errno.ENOTDIR, path)
        return parent, name

    def _set_entry(self, path: str, entry: FileEntry) -> None:
        node = self._get(path)
        changed = FileNode(entry) if isinstance(node, FileNode) else node.with_entry(entry)
        self._put(path, changed, touch_parent=False)

    def _put(self, path: str, node: Node | None, *, touch_parent: bool = True) -> None:
        """Rebuild the spine from `path` (whose parent exists) up to the root."""
        parts = _parts(path)
        if not parts:
            assert isinstance(node, DirectoryNode)
            self._root = node
            return
        spine: list[DirectoryNode] = [self._root]
        for name in parts[:-1]:
            below = spine[-1].children[name]
            assert isinstance(below, DirectoryNode)
            spine.append(below)
        time_ns = self._now_ns() if touch_parent else None
        built = spine[-1].with_child(parts[-1], node, time_ns)
        for above, name in zip(reversed(spine[:-1]), reversed(parts[:-1]), strict=True):
            built = above.with_child(name, built, None)
        self._root = built

    def _check_room(self, more_bytes: int, more_entries: int, path: str) -> None:
        if self._root.bytes + more_bytes > self.capacity_bytes or self._root.count + more_entries > MAX_ENTRIES:
            raise _error(errno.ENOSPC, path)
        grows = more_bytes > 0 or more_entries > 0
        if self.storage_full and grows and self.resolve(path).startswith(SHARED_STORAGE):
            raise _error(errno.ENOSPC, path)

    def _check_depth(self, node: Node, target: str) -> None:
        if len(_parts(target)) + node.height > MAX_DEPTH:
            raise _error(errno.ENAMETOOLONG, target)

    def _check_replaceable(self, node: Node, target: str) -> None:
        existing = self._find(target)
        if isinstance(existing, DirectoryNode):
            if isinstance(node, FileNode):
                raise _error(errno.EISDIR, target)
            if existing.children:
                raise _error(errno.ENOTEMPTY, target)
        elif existing is not None and isinstance(node, DirectoryNode):
            raise _error(errno.ENOTDIR, target)


def _parts(path: str) -> tuple[str, ...]:
    """Return the names on the way to a path, aliases replaced."""
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if names:
                names.pop()
        elif name and name != ".":
            names.append(name)
    if not names or names[0] not in _ALIAS_HEADS:
        return tuple(names)
    for alias, target in _ALIAS_PARTS.items():
        if names[: len(alias)] == list(alias):
            return tuple(target[1:].split("/")) + tuple(names[len(alias) :])
    return tuple(names)
