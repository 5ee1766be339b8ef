"""A table of an app's own database: made when it is missing, read again for each look at it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.machine.databases import read_rows

Record = Mapping[str, Any]
"""A row by its columns."""


def make_database(system: System, path: str, schema: str) -> None:
    """Make what a database lacks.

    A file that is broken is deleted and begun anew, as Android's DefaultDatabaseErrorHandler does.
    """
    try:
        with system.database(path) as db:
            db.executescript(schema)
    except sqlite3.DatabaseError:
        system.files.remove(path)
        with system.database(path) as db:
            db.executescript(schema)


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """One table, by the schema of the original app."""

    path: str
    """Of the database file."""
    name: str
    columns: Mapping[str, str]
    """Name -> what follows it in CREATE TABLE. The first is the key."""
    more: str = ""
    """Further statements that make the database: its other tables, indexes."""

    @property
    def key(self) -> str:
        return next(iter(self.columns))

    def ensure(self, system: System) -> None:
        """Make the database and the table, unless they are there."""
        if self._there(system):
            return
        system.files.make_dirs(self.path.rpartition("/")[0])
        columns = ", ".join(f'"{name}" {kind}' for name, kind in self.columns.items())
        make_database(system, self.path, f'CREATE TABLE IF NOT EXISTS "{self.name}" ({columns});{self.more}')

    def _there(self, system: System) -> bool:
        if not system.files.is_file(self.path):
            return False
        found = read_rows(system.files.read(self.path), "SELECT name FROM sqlite_schema")
        return (self.name,) in found

    def rows(self, system: System, rest: str = "") -> tuple[Record, ...]:
        """Return the rows; `rest` follows the table's name in SELECT (WHERE, ORDER BY)."""
        if not system.files.is_file(self.path):
            return ()
        return _records(system.files.read(self.path), self.name, tuple(self.columns), rest)

    def row(self, system: System, key: object) -> Record | None:
        return next((row for row in self.rows(system) if row[self.key] == key), None)

    def open(self, system: System) -> AbstractContextManager[sqlite3.Connection]:
        """Open the database for several changes; the table is there."""
        self.ensure(system)
        return system.database(self.path)

    def insert(self, system: System, values: Record) -> int:
        """Add a row and return its key, which SQLite counts where `values` lack it."""
        with self.open(system) as db:
            columns, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
            cursor = db.execute(f'INSERT INTO "{self.name}" ({columns}) VALUES ({marks})', tuple(values.values()))
            return cast(int, cursor.lastrowid)

    def update(self, system: System, key: object, values: Record) -> None:
        with self.open(system) as db:
            pairs = ", ".join(f'"{name}" = ?' for name in values)
            db.execute(f'UPDATE "{self.name}" SET {pairs} WHERE "{self.key}" = ?', (*values.values(), key))

    def delete(self, system: System, keys: Sequence[object]) -> None:
        with self.open(system) as db:
            db.executemany(f'DELETE FROM "{self.name}" WHERE "{self.key}" = ?', [(key,) for key in keys])


@lru_cache(maxsize=128)
def _records(image: bytes, table: str, columns: tuple[str, ...], rest: str) -> tuple[Record, ...]:
    names = ", ".join(f'"{name}"' for name in columns)
    found = read_rows(image, f'SELECT {names} FROM "{table}" {rest}')
    return tuple(dict(zip(columns, row, strict=True)) for row in found)
