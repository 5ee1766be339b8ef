"""The file tree against a plain model, and its promises about sharing, aliases and errors."""

from __future__ import annotations

import contextlib
import errno
import posixpath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rlfactory.emulators.simulator.machine.filesystem import MAX_DEPTH, FileTree

NAMES = st.sampled_from(["a", "b", "c d", "é", ".x"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
CONTENTS = st.binary(max_size=8)


class TreeMachine(RuleBasedStateMachine):
    """Every operation has the same effect, or the same kind of refusal, as on a dict of paths."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = FileTree()
        self.model: dict[str, bytes | None] = {"/": None}
        self.kept: list[tuple[FileTree, dict[str, bytes | None]]] = []

    def _parent_is_dir(self, path: str) -> bool:
        return self.model.get(posixpath.dirname(path), b"") is None

    def _below(self, path: str) -> list[str]:
        return [known for known in self.model if known.startswith(path + "/")]

    @rule(path=PATHS, data=CONTENTS)
    def write(self, path: str, data: bytes) -> None:
        allowed = self._parent_is_dir(path) and self.model.get(path, b"") is not None
        with contextlib.nullcontext() if allowed else pytest.raises(OSError, match="Errno"):
            self.tree.write(path, data)
        if allowed:
            self.model[path] = data

    @rule(path=PATHS)
    def make_dir(self, path: str) -> None:
        allowed = self._parent_is_dir(path) and path not in self.model
        with contextlib.nullcontext() if allowed else pytest.raises(OSError, match="Errno"):
            self.tree.make_dir(path)
        if allowed:
            self.model[path] = None

    @rule(path=PATHS)
    def make_dirs(self, path: str) -> None:
        ancestors = [path]
        while ancestors[-1] != "/":
            ancestors.append(posixpath.dirname(ancestors[-1]))
        # As with mkdir -p, folders above the file that is in the way are made all the same.
        for ancestor in reversed(ancestors):
            if self.model.get(ancestor) is not None:
                with pytest.raises(OSError, match="Errno"):
                    self.tree.make_dirs(path)
                return
            self.model[ancestor] = None
        self.tree.make_dirs(path)

    @rule(path=PATHS, recursive=st.booleans())
    def remove(self, path: str, recursive: bool) -> None:
        allowed = path in self.model and (recursive or not self._below(path))
        with contextlib.nullcontext() if allowed else pytest.raises(OSError, match="Errno"):
            self.tree.remove(path, recursive=recursive)
        if allowed:
            for gone in [path, *self._below(path)]:
                del self.model[gone]

    @rule(source=PATHS, goal=PATHS)
    def rename(self, source: str, goal: str) -> None:
        allowed = source in self.model and self._may_replace(source, goal)
        with contextlib.nullcontext() if allowed else pytest.raises(OSError, match="Errno"):
            self.tree.rename(source, goal)
        if allowed and source != goal:
            moved = {goal + known[len(source) :]: self.model[known] for known in [source, *self._below(source)]}
            for gone in [source, *self._below(source)]:
                del self.model[gone]
            self.model.update(moved)

    def _may_replace(self, source: str, target: str) -> bool:
        if source == target:
            return True
        if target.startswith(source + "/") or not self._parent_is_dir(target):
            return False
        if target not in self.model:
            return True
        if self.model[target] is None:
            return self.model[source] is None and not self._below(target)
        return self.model[source] is not None

    @rule(source=PATHS, goal=PATHS, preserve=st.booleans())
    def copy(self, source: str, goal: str, preserve: bool) -> None:
        data = self.model.get(source)
        if source not in self.model:
            allowed = False
        elif data is None:
            inside = (goal + "/").startswith(source + "/")
            allowed = not inside and goal not in self.model and self._parent_is_dir(goal)
        else:
            allowed = self._parent_is_dir(goal) and self.model.get(goal, b"") is not None
        with contextlib.nullcontext() if allowed else pytest.raises(OSError, match="Errno"):
            self.tree.copy(source, goal, recursive=True, preserve=preserve)
        if allowed:
            below = self._below(source)
            self.model.update({goal + known[len(source) :]: self.model[known] for known in [source, *below]})

    @rule()
    def snapshot(self) -> None:
        self.kept.append((self.tree.snapshot(), dict(self.model)))
        del self.kept[:-3]

    @rule()
    def restore(self) -> None:
        if self.kept:
            snapshot, model = self.kept[0]
            self.tree.restore(snapshot)
            self.model = dict(model)

    @invariant()
    def agrees(self) -> None:
        for tree, model in [(self.tree, self.model), *self.kept]:
            found = {path: entry.data for path, entry in tree.walk_entries("/")}
            assert found == model
            assert tree.used_bytes() == sum(len(data or b"") for data in model.values())


TreeMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestTree = TreeMachine.TestCase


@pytest.fixture
def tree() -> FileTree:
    files = FileTree()
    for folder in ("/storage/emulated/0/Download", "/data/data", "/data/media", "/storage/self"):
        files.make_dirs(folder)
    return files


@pytest.mark.parametrize("alias", ["/sdcard", "/data/media/0", "/storage/self/primary", "/mnt/sdcard"])
def test_shared_storage_is_one_tree_under_all_its_names(tree: FileTree, alias: str) -> None:
    tree.write(f"{alias}/Download/a.txt", b"hello")
    assert tree.read("/storage/emulated/0/Download/a.txt") == b"hello"
    assert tree.resolve("a.txt", f"{alias}/Download/../Download/.") == "/storage/emulated/0/Download/a.txt"
    assert tree.list(alias) == ["Download"]


def test_aliases_are_listed_where_a_phone_shows_them(tree: FileTree) -> None:
    assert "sdcard" in tree.list("/")
    assert tree.list("/data/media") == ["0"]


def test_a_mount_point_cannot_be_removed(tree: FileTree) -> None:
    for path in ("/", "/sdcard", "/storage/emulated", "/data"):
        with pytest.raises(OSError, match="busy") as caught:
            tree.remove(path, recursive=True)
        assert caught.value.errno == errno.EBUSY


def test_errors_carry_androids_errno(tree: FileTree) -> None:
    tree.write("/data/f", b"x")
    with pytest.raises(FileNotFoundError):
        tree.read("/data/none")
    with pytest.raises(IsADirectoryError):
        tree.read("/data/data")
    with pytest.raises(NotADirectoryError):
        tree.list("/data/f")
    with pytest.raises(NotADirectoryError):
        tree.write("/data/f/below", b"")
    with pytest.raises(FileExistsError):
        tree.make_dir("/data/data")
    with pytest.raises(OSError, match="too long") as caught:
        tree.write("/data/" + "n" * 256, b"")
    assert caught.value.errno == errno.ENAMETOOLONG


def test_a_full_disk_is_told_and_nothing_is_written() -> None:
    tree = FileTree(capacity_bytes=10)
    tree.write("/a", b"12345678")
    with pytest.raises(OSError, match="space") as caught:
        tree.write("/b", b"123")
    assert caught.value.errno == errno.ENOSPC
    assert tree.list("/") == ["a", "sdcard"]
    tree.write("/a", b"1234567890")


def test_depth_is_bounded_also_by_moving_and_copying(tree: FileTree) -> None:
    deep = "/data" + "/d" * (MAX_DEPTH - 1)
    tree.make_dirs(deep)
    with pytest.raises(OSError, match="too long"):
        tree.make_dir(deep + "/e")
    tree.make_dirs("/data/other")
    with pytest.raises(OSError, match="too long"):
        tree.rename("/data/d", "/data/other/d")
    with pytest.raises(OSError, match="too long"):
        tree.copy("/data/d", "/data/other/d", recursive=True)
    tree.remove("/data/d", recursive=True)
    assert "d" not in tree.list("/data")


def test_times_come_from_the_clock_and_touch_only_what_changed() -> None:
    now = 5
    tree = FileTree(lambda: now)
    tree.make_dirs("/a/b")
    tree.write("/a/b/f", b"1")
    now = 9
    tree.write("/a/b/f", b"2")
    assert tree.stat("/a/b/f").modified_ns == 9
    # Rewriting a file changes no directory entry; adding one does, and only in its own directory.
    assert tree.stat("/a/b").modified_ns == 5
    tree.write("/a/b/g", b"")
    assert (tree.stat("/a/b").modified_ns, tree.stat("/a").modified_ns) == (9, 5)


def test_unchanged_folders_keep_their_identity_and_digest(tree: FileTree) -> None:
    tree.write("/sdcard/Download/a", b"1")
    before, digest = tree.identity("/sdcard"), tree.digest()
    tree.write("/data/x", b"1")
    assert tree.identity("/sdcard") is before
    assert tree.digest() != digest
    tree.remove("/data/x")
    assert tree.identity("/data/none") == ""


def test_a_replaced_file_keeps_owner_and_mode_and_a_new_one_takes_its_folders_owner(tree: FileTree) -> None:
    tree.set_owner("/data/data", 10123, 10123)
    tree.write("/data/data/f", b"1", mode=0o600)
    tree.write("/data/data/f", b"2")
    entry = tree.stat("/data/data/f")
    assert (entry.uid, entry.gid, entry.mode) == (10123, 10123, 0o600)


@given(path=st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_no_path_breaks_the_tree(path: str) -> None:
    tree = FileTree()
    resolved = tree.resolve(path)
    assert resolved.startswith("/")
    assert tree.resolve(resolved) == resolved
    with contextlib.suppress(OSError):
        tree.write(path, b"1")
        assert tree.read(path) == b"1"
