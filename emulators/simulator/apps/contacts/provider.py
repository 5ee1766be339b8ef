"""The contacts provider: `content://contacts` (as in Android 1) and `content://com.android.contacts`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import ClassVar, Final

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.android.content import ContentProvider, Row, Selection, UnsupportedUriError
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.contacts.data import (
    DATA_COLUMNS,
    DATABASE,
    EMAIL,
    NAME,
    PHONE,
    create_database,
    delete_raw_contacts,
    insert_data,
    insert_raw_contact,
    normalized,
    refresh_contact,
    save_contact,
    split_name,
)
from rlfactory.emulators.simulator.apps.golden import CONTACTS as GOLDEN_CONTACTS
from rlfactory.emulators.simulator.apps.kit.no_screen import NoScreen
from rlfactory.emulators.simulator.machine.databases import read_named_rows

_PEOPLE: Final = """SELECT contacts._id AS _id, raw_contacts.display_name AS display_name,
    raw_contacts.display_name_alt AS display_name_alt, contacts.has_phone_number AS has_phone_number,
    raw_contacts.starred AS starred, contacts.name_raw_contact_id AS name_raw_contact_id
    FROM contacts JOIN raw_contacts ON raw_contacts._id = contacts.name_raw_contact_id
    WHERE raw_contacts.deleted = 0"""
_SOURCES: Final = {
    ("contacts", "phones"): f"""SELECT _id, display_name, data1 AS number, data2 AS type, data3 AS label,
        data4 AS number_key, contact_id AS person, display_name AS name, is_primary AS isprimary
        FROM view_data WHERE mimetype = '{PHONE}'""",
    ("contacts", "people"): f"SELECT _id, display_name, display_name AS name, starred FROM ({_PEOPLE})",
    ("com.android.contacts", "contacts"): _PEOPLE,
    ("com.android.contacts", "raw_contacts"): "SELECT * FROM raw_contacts WHERE deleted = 0",
    ("com.android.contacts", "data"): "SELECT * FROM view_data",
    ("com.android.contacts", "data/phones"): f"SELECT * FROM view_data WHERE mimetype = '{PHONE}'",
    ("com.android.contacts", "data/emails"): f"SELECT * FROM view_data WHERE mimetype = '{EMAIL}'",
}
_COLUMN: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


class ContactsProvider(ContentProvider):
    """Reads and writes contacts2.db. An `_id` may follow a path, as in `raw_contacts/3`."""

    authorities: ClassVar[tuple[str, ...]] = ("com.android.contacts",)

    def query(self, system: System, path: str, projection: Sequence[str], selection: Selection) -> list[Row]:
        source, row_id = self._source(path)
        columns = ", ".join(_column(name) for name in projection) or "*"
        create_database(system)
        where, order = _where(row_id, selection), selection.sort or "_id"
        sql = f"SELECT {columns} FROM ({source}) WHERE {where} ORDER BY {order}"
        rows = read_named_rows(system.files.read(DATABASE), sql, tuple(selection.arguments))
        return [dict(row) for row in rows]

    def insert(self, system: System, path: str, values: Row) -> int:
        create_database(system)
        with system.database(DATABASE) as db:
            if path == "raw_contacts":
                return insert_raw_contact(db, dict(values))
            if path == "data":
                return _insert_data_row(db, values)
        raise UnsupportedUriError(f"{self.authorities[0]}/{path} takes no rows")

    def update(self, system: System, path: str, values: Row, selection: Selection) -> int:
        table, row_id = self._table(path)
        with system.database(DATABASE) as db:
            ids = _ids(db, self._source(path)[0], _where(row_id, selection), selection)
            for changed in ids:
                pairs = ", ".join(f"{_column(name)} = ?" for name in values)
                db.execute(f"UPDATE {table} SET {pairs} WHERE _id = ?", (*values.values(), changed))
                owner = changed if table == "raw_contacts" else _owner(db, changed)
                if table == "data":
                    refresh_contact(db, owner)
            return len(ids)

    def delete(self, system: System, path: str, selection: Selection) -> int:
        create_database(system)
        table, row_id = self._table(path)
        with system.database(DATABASE) as db:
            ids = _ids(db, self._source(path)[0], _where(row_id, selection), selection)
            if table == "data":
                for row in ids:
                    owner = _owner(db, row)
                    db.execute("DELETE FROM data WHERE _id = ?", (row,))
                    refresh_contact(db, owner)
            elif table == "contacts":
                marks = ", ".join("?" * len(ids))
                raw = db.execute(f"SELECT _id FROM raw_contacts WHERE contact_id IN ({marks})", ids).fetchall()
                delete_raw_contacts(db, [int(row[0]) for row in raw])
            else:
                delete_raw_contacts(db, ids)
            return len(ids)

    def _source(self, path: str) -> tuple[str, int | None]:
        """Return the query behind a path, and the id at its end if there is one."""
        found = _SOURCES.get((self.authorities[0], path))
        if found is not None:
            return found, None
        head, _, tail = path.rpartition("/")
        found = _SOURCES.get((self.authorities[0], head))
        if found is None or not tail.isdecimal():
            raise UnsupportedUriError(f"{self.authorities[0]}/{path} is not known")
        return found, int(tail)

    def _table(self, path: str) -> tuple[str, int | None]:
        _, row_id = self._source(path)
        head = path.split("/", maxsplit=1)[0]
        tables = {"raw_contacts": "raw_contacts", "data": "data", "phones": "data", "contacts": "contacts"}
        return {**tables, "people": "contacts"}[head], row_id


class LegacyContactsProvider(ContactsProvider):
    """What Android 1 called the contacts; adb scripts still read `content://contacts/phones/`."""

    authorities: ClassVar[tuple[str, ...]] = ("contacts",)


def _insert_data_row(db: sqlite3.Connection, values: Row) -> int:
    """Add one `data` row as the real provider does: names are split, numbers normalized."""
    raw_id, mimetype = values.get("raw_contact_id"), values.get("mimetype")
    if not isinstance(raw_id, int) or not isinstance(mimetype, str):
        raise UnsupportedUriError("a data row needs raw_contact_id (integer) and mimetype")
    if db.execute("SELECT 1 FROM raw_contacts WHERE _id = ?", (raw_id,)).fetchone() is None:
        raise UnsupportedUriError(f"there is no raw contact {raw_id}")
    cells: dict[str, object] = {name: value for name, value in values.items() if name in DATA_COLUMNS}
    if mimetype == NAME:
        _complete_name(cells)
    if mimetype == PHONE and cells.get("data1"):
        cells.setdefault("data4", normalized(str(cells["data1"])))
    row_id = insert_data(db, raw_id, mimetype, [cells.get(column) for column in DATA_COLUMNS])
    refresh_contact(db, raw_id)
    return row_id


def _complete_name(cells: dict[str, object]) -> None:
    """Fill in the parts of a name from the whole, or the whole from its parts."""
    if cells.get("data1") and not cells.get("data2") and not cells.get("data3"):
        cells["data2"], cells["data3"] = split_name(str(cells["data1"]))
    elif not cells.get("data1"):
        cells["data1"] = " ".join(str(cells[part]) for part in ("data2", "data3") if cells.get(part))


def _ids(db: sqlite3.Connection, source: str, where: str, selection: Selection) -> list[int]:
    return [int(row[0]) for row in db.execute(f"SELECT _id FROM ({source}) WHERE {where}", selection.arguments)]


def _owner(db: sqlite3.Connection, data_id: int) -> int:
    return int(db.execute("SELECT raw_contact_id FROM data WHERE _id = ?", (data_id,)).fetchone()[0])


def _where(row_id: int | None, selection: Selection) -> str:
    conditions = [f"({selection.where})"] if selection.where else []
    if row_id is not None:
        conditions.append(f"_id = {row_id}")
    return " AND ".join(conditions) or "1"


def _column(name: str) -> str:
    if not _COLUMN.fullmatch(name):
        raise sqlite3.OperationalError(f"Invalid column {name}")
    # Brackets, not quotes: SQLite takes an unknown name in double quotes for a string.
    return f"[{name}]"


class _ContactsScreen(NoScreen):
    name = ".debug.ContactsDumpActivity"
    icon, label = "database-outline", "Contacts Storage"


class _ContactsStorage(App):
    def install(self, system: System) -> None:
        create_database(system)

    def on_launch(self, system: System) -> None:
        create_database(system)

    def furnish(self, system: System) -> None:
        for contact in GOLDEN_CONTACTS:
            save_contact(system, contact)


CONTACTS_STORAGE = _ContactsStorage(
    package="com.android.providers.contacts",
    label="Contacts Storage",
    icon="database-outline",
    color="#5F6368",
    activities=(_ContactsScreen,),
    version_name="13",
    version_code=33,
    hidden=True,
    providers=(LegacyContactsProvider(), ContactsProvider()),
)
