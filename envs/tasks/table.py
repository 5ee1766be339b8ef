"""Tables of data that lie beside the code that reads them, in YAML; and tables of databases that tasks fill."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

from rlfactory.envs.tools.sql.database import SqliteBytes

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C, where it is there: tables are read whenever tasks are listed."""


def read_table(module: str, name: str) -> Any:
    """Return the table `name` in the folder of a module, given as its `__file__`."""
    return yaml.load(Path(module).with_name(name).read_bytes(), Loader=LOADER)


def read_tables(module: str, folder: str) -> Mapping[str, Any]:
    """Return the tables of a folder beside a module as one; they share no key."""
    tables: dict[str, Any] = {}
    for path in sorted(Path(module).with_name(folder).glob("*.yaml")):
        table = read_table(str(path), path.name)
        assert not tables.keys() & table.keys()
        tables |= table
    return tables


def frozen(value: Any) -> Any:
    """Return a table with its lists as tuples, all the way down."""
    match value:
        case list():
            return tuple(frozen(each) for each in value)
        case dict():
            return {key: frozen(each) for key, each in value.items()}
        case _:
            return value


def filled(ddl: str, rows: Iterable[tuple[str, tuple[object, ...]]]) -> SqliteBytes:
    """Return a database of these tables and rows: (table, values) each."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(ddl)
        for table, values in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
        connection.commit()
        return SqliteBytes(connection.serialize())
