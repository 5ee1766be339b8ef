"""Looking at files: ls, stat, du, df."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlfactory.emulators.simulator.machine.clock import zone_info
from rlfactory.emulators.simulator.machine.filesystem import FileEntry
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, split_options
from rlfactory.emulators.simulator.shell.commands.files.naming import (
    full_time,
    human_size,
    local_time,
    mode_text,
    user_name,
)

table = CommandTable()
BLOCK: Final = 4096


def _blocks_kib(entry: FileEntry) -> int:
    size = BLOCK if entry.is_dir else -(-entry.size // BLOCK) * BLOCK
    return size // 1024


def links(context: Context, path: str, entry: FileEntry) -> int:
    """Return what `ls -l` shows as the number of links: a directory counts its subdirectories."""
    if not entry.is_dir:
        return 1
    return 2 + sum(context.files.is_dir(f"{path.rstrip('/')}/{name}") for name in context.files.list(path))


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    path: str
    entry: FileEntry


class _Lister:
    """One call of ls."""

    def __init__(self, context: Context, options: Mapping[str, str]) -> None:
        self._context = context
        self._options = options
        self._zone = zone_info(context.state.clock.zone)

    def run(self, operands: list[str]) -> None:
        rows: list[_Row] = []
        folders: list[_Row] = []
        for operand in operands:
            path = self._context.path(operand)
            with self._context.attempt():
                entry = self._context.files.stat(path)
                row = _Row(operand, path, entry)
                (folders if entry.is_dir and "d" not in self._options else rows).append(row)
        self._print(self._ordered(rows))
        headed = len(operands) > 1 or "R" in self._options
        for number, folder in enumerate(self._ordered(folders)):
            self._folder(folder, headed=headed, first=number == 0 and not rows)

    def _folder(self, folder: _Row, *, headed: bool, first: bool) -> None:
        if headed:
            self._context.out(f"{'' if first else chr(10)}{folder.name}:\n")
        rows = self._rows(folder)
        if {"l", "s", "n", "g", "o"} & self._options.keys():
            self._context.line(f"total {sum(_blocks_kib(row.entry) for row in rows)}")
        self._print(rows)
        if "R" in self._options:
            for row in rows:
                if row.entry.is_dir and row.name not in {".", ".."}:
                    below = _Row(posixpath.join(folder.name, row.name), row.path, row.entry)
                    self._folder(below, headed=True, first=False)

    def _rows(self, folder: _Row) -> list[_Row]:
        files = self._context.files
        names = files.list(folder.path)
        special = [".", ".."] if "a" in self._options else []
        if not {"a", "A"} & self._options.keys():
            names = [name for name in names if not name.startswith(".")]
        rows = [_Row(name, f"{folder.path.rstrip('/')}/{name}", files.stat(f"{folder.path}/{name}")) for name in names]
        parents = [_Row(name, path := f"{folder.path}/{name}", files.stat(path)) for name in special]
        return self._ordered(parents + rows)

    def _ordered(self, rows: list[_Row]) -> list[_Row]:
        if "f" in self._options:
            return rows
        ordered = sorted(rows, key=lambda row: row.name)
        if "S" in self._options:
            ordered.sort(key=lambda row: -row.entry.size)
        elif {"t", "c", "u"} & self._options.keys() and ("t" in self._options or "l" not in self._options):
            ordered.sort(key=lambda row: -row.entry.modified_ns)
        return ordered[::-1] if "r" in self._options else ordered

    def _print(self, rows: list[_Row]) -> None:
        if not {"l", "n", "g", "o"} & self._options.keys():
            for row in rows:
                prefix = f"{_blocks_kib(row.entry):3d} " if "s" in self._options else ""
                context_label = "u:object_r:media_rw_data_file:s0 " if "Z" in self._options else ""
                self._context.line(prefix + context_label + self._marked(row))
            return
        table = [self._columns(row) for row in rows]
        widths = [max(len(line[at]) for line in table) for at in range(6)] if table else []
        for row, cells in zip(rows, table, strict=True):
            padded = [
                cell.ljust(width) if at in {2, 3} else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            self._context.line(" ".join(cell for cell in padded if cell) + " " + self._marked(row))

    def _columns(self, row: _Row) -> list[str]:
        entry, numeric = row.entry, "n" in self._options
        owner = str(entry.uid) if numeric else user_name(entry.uid)
        group = str(entry.gid) if numeric else user_name(entry.gid)
        if len(self._options.get("l", "")) > 1:
            when = full_time(entry.modified_ns, self._zone)
        else:
            when = f"{local_time(entry.modified_ns, self._zone):%Y-%m-%d %H:%M}"
        size = human_size(entry.size) if "h" in self._options else str(entry.size)
        return [
            mode_text(entry),
            str(links(self._context, row.path, entry)),
            "" if "g" in self._options else owner,
            "" if "o" in self._options else group,
            size,
            when,
        ]

    def _marked(self, row: _Row) -> str:
        if row.entry.is_dir and {"F", "p"} & self._options.keys():
            return row.name + "/"
        return row.name + ("*" if "F" in self._options and row.entry.mode & 0o111 else "")


@table.command("ls")
def _ls(context: Context) -> None:
    plain = [arg for arg in context.args if not arg.startswith("--")]
    options, operands = split_options(plain, "1aAbcCdfFghHiklLmnNopqrRsStuUwxZ", "")
    _Lister(context, options).run(operands or ["."])


# --- stat ----------------------------------------------------------------------------------------------------------


_DESCRIPTION: Final = (
    "  File: %n\n  Size: %s\t Blocks: %b\t IO Blocks: %o\t%F\n"
    "Access: (0%a/%A)\tUid: (%u/%U)\tGid: (%g/%G)\n"
    "Access: %x\nModify: %y\nChange: %z"
)


@table.command("stat", flags="tfL", with_value="c", least=1)
def _stat(context: Context) -> None:
    for operand, path in context.paths():
        try:
            entry = context.files.stat(path)
        except OSError as error:
            context.fail(f"cannot stat '{operand}': {error.strerror}")
            continue
        context.line(_filled(context, context.options.get("c", _DESCRIPTION), operand, path, entry))


def _filled(context: Context, template: str, name: str, path: str, entry: FileEntry) -> str:
    zone = zone_info(context.state.clock.zone)
    when, seconds = full_time(entry.modified_ns, zone), str(entry.modified_ns // 1_000_000_000)
    values = {
        "a": f"{entry.mode:o}",
        "A": mode_text(entry),
        "b": str(_blocks_kib(entry) * 2),
        "B": "512",
        "F": _kind(entry),
        "g": str(entry.gid),
        "G": user_name(entry.gid),
        "h": str(links(context, path, entry)),
        "i": "1",
        "n": name,
        "N": f"'{name}'",
        "o": str(BLOCK),
        "s": str(entry.size),
        "u": str(entry.uid),
        "U": user_name(entry.uid),
        "%": "%",
        **dict.fromkeys("xyz", when),
        **dict.fromkeys("XYZ", seconds),
    }
    return re.sub("%(.)", lambda match: values.get(match[1], match[0]), template, flags=re.DOTALL)


def _kind(entry: FileEntry) -> str:
    if entry.is_dir:
        return "directory"
    return "regular file" if entry.data else "regular empty file"


# --- du, df --------------------------------------------------------------------------------------------------------


@table.command("du", flags="abcHhKkLlmsx", with_value="d")
def _du(context: Context) -> None:
    options = context.options
    depth_limit = 0 if "s" in options else int(options.get("d", "999"))
    for operand in context.operands or ["."]:
        path = context.path(operand)
        with context.attempt():
            entries = list(context.files.walk_entries(path))
            sizes = _sizes_kib(path, entries)
            for at, entry in reversed(entries):
                below = at[len(path.rstrip("/")) :]
                shown = entry.is_dir or "a" in options or at == entries[0][0]
                if shown and below.count("/") <= depth_limit:
                    size = sizes[at]
                    text = human_size(size * 1024) if "h" in options else str(size // 1024 if "m" in options else size)
                    context.line(f"{text}\t{operand if at == entries[0][0] else operand.rstrip('/') + below}")


def _sizes_kib(path: str, entries: list[tuple[str, FileEntry]]) -> Counter[str]:
    """Return what each entry at or below `path` takes, with all that is in it."""
    sizes = Counter[str]()
    for at, entry in entries:
        folder = at
        while True:
            sizes[folder] += _blocks_kib(entry)
            if len(folder) <= len(path.rstrip("/") or "/"):
                break
            folder = posixpath.dirname(folder)
    return sizes


@table.command("df", flags="HPkhia", with_value="t")
def _df(context: Context) -> None:
    options = context.options
    total = context.files.capacity_bytes
    used = total if context.files.storage_full else context.files.used_bytes()
    rows = (("/dev/block/dm-5", "/data"), ("/dev/fuse", "/storage/emulated"))
    show = human_size if "h" in options else (lambda size: str(size // 1024))
    unit = "Size" if "h" in options else "1K-blocks"
    context.line(f"{'Filesystem':<20}{unit:>10}{'Used':>10}{'Available':>10}{'Use%':>5} Mounted on")
    for device, mount in rows:
        percent = f"{-(-used * 100 // total)}%"
        context.line(f"{device:<20}{show(total):>10}{show(used):>10}{show(total - used):>10}{percent:>5} {mount}")
