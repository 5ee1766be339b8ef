"""Databases that can be queried. Each has a key, which is the same for the same contents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

Dialect = Literal["sqlite", "duckdb", "postgres"]

SQLITE_MAGIC: Final = b"SQLite format 3\x00"
MAX_COPIED_BYTES: Final = 32 << 20
"""SQLite files up to this size are copied into the worker's memory; larger ones are opened immutable and read-only."""


@dataclass(frozen=True, slots=True)
class SqliteBytes:
    """A SQLite database by its bytes. Nothing on disk is opened."""

    data: bytes = field(repr=False)
    key: str = field(init=False)
    dialect: Dialect = field(init=False, default="sqlite")

    def __post_init__(self) -> None:
        """Raises: ValueError: the bytes are no SQLite database."""
        if not self.data.startswith(SQLITE_MAGIC):
            raise ValueError("these bytes are no SQLite database")
        object.__setattr__(self, "key", f"sqlite:{hashlib.sha256(self.data).hexdigest()}")


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A large SQLite file that nobody writes while it is queried."""

    path: Path
    key: str = field(init=False)
    dialect: Dialect = field(init=False, default="sqlite")

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", _file_key("sqlite", self.path))


@dataclass(frozen=True, slots=True)
class DuckDbFile:
    """A DuckDB file that nobody writes while it is queried."""

    path: Path
    key: str = field(init=False)
    dialect: Dialect = field(init=False, default="duckdb")

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", _file_key("duckdb", self.path))


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A PostgreSQL database by its DSN. Its role must not be a superuser; what it may read, queries may read."""

    dsn: str = field(repr=False)
    """A connection string or URL, as libpq takes it."""
    key: str = field(init=False)
    dialect: Dialect = field(init=False, default="postgres")

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"postgres:{hashlib.sha256(self.dsn.encode()).hexdigest()}")


Database = SqliteBytes | SqliteFile | DuckDbFile | PostgresServer


def sqlite_database(path: Path) -> SqliteBytes | SqliteFile:
    """Return the SQLite database of a file: a copy of it if it is small.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no SQLite database.
    """
    if path.stat().st_size <= MAX_COPIED_BYTES:
        return SqliteBytes(path.read_bytes())
    return SqliteFile(path)


def _file_key(kind: str, path: Path) -> str:
    """Return a key that changes when the file does. Raises: OSError: there is no such file."""
    stat = path.stat()
    return f"{kind}:{path.resolve()}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}"
