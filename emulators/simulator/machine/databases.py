"""SQLite databases inside the file tree: opened in memory, written back as immutable bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

from rlfactory.emulators.simulator.machine.filesystem import FileTree

_MAGIC: Final = b"SQLite format 3\0"
_JOURNAL_VERSIONS: Final = slice(18, 20)
_MAX_STEPS: Final = 20_000_000
"""SQLite virtual-machine instructions that one session may take: a runaway query ends as `interrupted`."""
_DENIED: Final = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH})


@contextmanager
def open_database(
    files: FileTree, path: str, *, on_write: Callable[[], None] = lambda: None
) -> Iterator[sqlite3.Connection]:
    """Open a database of the tree; a missing or empty file is an empty database.

    On a clean exit the transaction is committed and the file replaced if its content changed (then `on_write` is
    called); on an exception nothing is written. A file that is not SQLite's is treated as Android treats a corrupt
    database: it counts as empty and is replaced on the first change.

    Raises: sqlite3.Error as SQLite does; OSError: the parent folder is missing, no space.
    """
    before = files.read(path) if files.exists(path) else b""
    image = before if before.startswith(_MAGIC) else b""
    connection = sqlite3.connect(":memory:")
    try:
        if image:
            connection.deserialize(_without_wal(image))
        _confine(connection)
        yield connection
        connection.commit()
        after = _serialized(connection)
    finally:
        connection.close()
    if after and after != _without_wal(image):
        files.write(path, after)
        on_write()


def _serialized(connection: sqlite3.Connection) -> bytes:
    try:
        return connection.serialize()
    except sqlite3.OperationalError:
        # A database that nothing was ever written to has no pages, and SQLite refuses to serialize that.
        return b""


def _without_wal(image: bytes) -> bytes:
    """Return the image with its journal mode set to rollback: an in-memory database has no write-ahead log."""
    if image[_JOURNAL_VERSIONS] == b"\x02\x02":
        return image[:18] + b"\x01\x01" + image[20:]
    return image


def _confine(connection: sqlite3.Connection) -> None:
    """Keep SQL inside the phone: no ATTACH (nor VACUUM INTO, which uses it) to files of the host, no endless query."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 10_000
        return int(steps > _MAX_STEPS)

    def authorize(action: int, *_: object) -> int:
        return sqlite3.SQLITE_DENY if action in _DENIED else sqlite3.SQLITE_OK

    connection.set_progress_handler(count, 10_000)
    connection.set_authorizer(authorize)


@lru_cache(maxsize=128)
def read_rows(image: bytes, sql: str) -> tuple[tuple[Any, ...], ...]:
    """Return what a query finds in a database image; screens that list a table ask this again and again.

    Not a database, or no such table: no rows.
    """
    try:
        return tuple(tuple(row) for row in read_named_rows(image, sql, ()))
    except sqlite3.DatabaseError:
        return ()


@lru_cache(maxsize=128)
def read_named_rows(image: bytes, sql: str, arguments: tuple[str, ...]) -> tuple[sqlite3.Row, ...]:
    """Return what a query finds in a database image. Raises: sqlite3.Error."""
    if not image.startswith(_MAGIC):
        return ()
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    try:
        connection.deserialize(_without_wal(image))
        _confine(connection)
        return tuple(connection.execute(sql, arguments).fetchall())
    finally:
        connection.close()
