"""What a file tree is made of: immutable entries, and the nodes that share them between snapshots."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, replace
from hashlib import md5, sha256


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A regular file or directory; immutable, so that trees may share it."""

    data: bytes | None
    """None for a directory."""
    mode: int
    """Permission bits."""
    uid: int
    gid: int
    modified_ns: int
    """Simulated time. Reading does not count as access, so this is the access time too."""

    @property
    def is_dir(self) -> bool:
        return self.data is None

    @property
    def size(self) -> int:
        return 4096 if self.data is None else len(self.data)


class FileNode:
    """A leaf of the tree: an entry with its digests, computed when first asked for."""

    __slots__ = ("_md5", "_sha256", "entry")

    height = 0
    count = 1

    def __init__(self, entry: FileEntry) -> None:
        self.entry = entry
        self._md5: str | None = None
        self._sha256: bytes | None = None

    @property
    def content(self) -> bytes:
        data = self.entry.data
        assert data is not None
        return data

    @property
    def bytes(self) -> int:
        return len(self.content)

    @property
    def md5(self) -> str:
        if self._md5 is None:
            self._md5 = md5(self.content, usedforsecurity=False).hexdigest()
        return self._md5

    def digest(self) -> builtins.bytes:
        if self._sha256 is None:
            self._sha256 = sha256(_header(self.entry) + self.content).digest()
        return self._sha256


class DirectoryNode:
    """A directory node; never changed once built."""

    __slots__ = ("_sha256", "bytes", "children", "count", "entry", "height")

    def __init__(self, entry: FileEntry, children: dict[str, Node], *, size: int, count: int, height: int) -> None:
        self.entry = entry
        self.children = children
        self.bytes = size
        self.count = count
        self.height = height
        """At least the number of levels below (it does not shrink on removal)."""
        self._sha256: bytes | None = None

    def with_entry(self, entry: FileEntry) -> DirectoryNode:
        return DirectoryNode(entry, self.children, size=self.bytes, count=self.count, height=self.height)

    def with_child(self, name: str, node: Node | None, modified_ns: int | None) -> DirectoryNode:
        """Return this directory with one child replaced (None: removed); the time is kept when None."""
        children = dict(self.children)
        old = children.pop(name, None) if node is None else children.get(name)
        if node is not None:
            children[name] = node
        entry = self.entry if modified_ns is None else replace(self.entry, modified_ns=modified_ns)
        return DirectoryNode(
            entry,
            children,
            size=self.bytes + (node.bytes if node else 0) - (old.bytes if old else 0),
            count=self.count + (node.count if node else 0) - (old.count if old else 0),
            height=max(self.height, node.height + 1 if node else 0),
        )

    def digest(self) -> builtins.bytes:
        if self._sha256 is None:
            total = sha256(_header(self.entry))
            for name in sorted(self.children):
                total.update(name.encode("utf-8", "surrogateescape") + b"\0" + self.children[name].digest())
            self._sha256 = total.digest()
        return self._sha256


Node = FileNode | DirectoryNode


def _header(entry: FileEntry) -> bytes:
    return f"{entry.is_dir} {entry.mode:o} {entry.uid} {entry.gid} {entry.modified_ns}\n".encode()


def empty_directory(*, mode: int, uid: int, gid: int, modified_ns: int) -> DirectoryNode:
    return DirectoryNode(FileEntry(None, mode, uid, gid, modified_ns), {}, size=0, count=1, height=0)


def copied(node: DirectoryNode, owner: FileEntry, modified_ns: int) -> DirectoryNode:
    """Return a directory's copy as `cp -r` makes it: new times, the owner of where it goes."""
    children: dict[str, Node] = {}
    for name, child in node.children.items():
        if isinstance(child, DirectoryNode):
            children[name] = copied(child, owner, modified_ns)
        else:
            children[name] = FileNode(replace(child.entry, uid=owner.uid, gid=owner.gid, modified_ns=modified_ns))
    entry = replace(node.entry, uid=owner.uid, gid=owner.gid, modified_ns=modified_ns)
    return DirectoryNode(entry, children, size=node.bytes, count=node.count, height=node.height)
