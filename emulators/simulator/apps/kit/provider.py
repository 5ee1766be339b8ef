"""A content provider over tables of an app: `content query --uri content://AUTHORITY/TABLE`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import ClassVar

from rlfactory.emulators.simulator.android.content import ContentProvider, Row, Selection, UnsupportedUriError
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.tables import Table


class TableProvider(ContentProvider):
    """Reads and writes the tables by their names; a row's key may follow, as in `items/3`."""

    tables: ClassVar[tuple[Table, ...]]

    def query(self, system: System, path: str, projection: Sequence[str], selection: Selection) -> list[Row]:
        table, where = self._found(path, selection)
        columns = ", ".join(f'"{name}"' for name in projection or table.columns)
        with table.open(system) as db:
            db.row_factory = sqlite3.Row
            sql = f'SELECT {columns} FROM "{table.name}" WHERE {where} ORDER BY {selection.sort or table.key}'
            return [dict(row) for row in db.execute(sql, selection.arguments)]

    def insert(self, system: System, path: str, values: Row) -> int:
        return self._found(path, Selection())[0].insert(system, values)

    def update(self, system: System, path: str, values: Row, selection: Selection) -> int:
        table, where = self._found(path, selection)
        pairs = ", ".join(f'"{name}" = ?' for name in values)
        with table.open(system) as db:
            sql = f'UPDATE "{table.name}" SET {pairs} WHERE {where}'
            return db.execute(sql, (*values.values(), *selection.arguments)).rowcount

    def delete(self, system: System, path: str, selection: Selection) -> int:
        table, where = self._found(path, selection)
        with table.open(system) as db:
            return db.execute(f'DELETE FROM "{table.name}" WHERE {where}', selection.arguments).rowcount

    def _found(self, path: str, selection: Selection) -> tuple[Table, str]:
        """Return the table that a path names, and the condition on its rows."""
        name, _, key = path.partition("/")
        table = next((each for each in self.tables if each.name == name), None)
        if table is None or (key and not key.isdecimal()):
            raise UnsupportedUriError(f"{self.authorities[0]}/{path} is not known")
        conditions = [f"({selection.where})"] * bool(selection.where) + [f'"{table.key}" = {key}'] * bool(key)
        return table, " AND ".join(conditions) or "1"
