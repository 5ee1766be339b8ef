"""Contacts as `com.android.providers.contacts` keeps them: a subset of the real contacts2.db."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.tables import make_database
from rlfactory.emulators.simulator.machine.databases import read_rows

DATABASE: Final = "/data/data/com.android.providers.contacts/databases/contacts2.db"

_KINDS: Final = (
    *("email_v2", "im", "postal-address_v2", "photo", "phone_v2", "name", "organization", "nickname"),
    *("group_membership", "note", "website"),
)
MIME_TYPES: Final = tuple(f"vnd.android.cursor.item/{kind}" for kind in _KINDS)
NAME, PHONE, EMAIL, ORGANIZATION = (
    f"vnd.android.cursor.item/{kind}" for kind in ("name", "phone_v2", "email_v2", "organization")
)

PHONE_TYPES: Final = {2: "Mobile", 1: "Home", 3: "Work", 12: "Main", 7: "Other"}
EMAIL_TYPES: Final = {1: "Home", 2: "Work", 3: "Other", 4: "Mobile"}
MOBILE: Final = 2
HOME: Final = 1

DATA_COLUMNS: Final = tuple(f"data{number}" for number in range(1, 16))

_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS mimetypes (_id INTEGER PRIMARY KEY AUTOINCREMENT, mimetype TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS contacts (
    _id INTEGER PRIMARY KEY AUTOINCREMENT, name_raw_contact_id INTEGER, photo_id INTEGER, custom_ringtone TEXT,
    send_to_voicemail INTEGER NOT NULL DEFAULT 0, starred INTEGER NOT NULL DEFAULT 0,
    has_phone_number INTEGER NOT NULL DEFAULT 0, lookup TEXT, contact_last_updated_timestamp INTEGER);
CREATE TABLE IF NOT EXISTS raw_contacts (
    _id INTEGER PRIMARY KEY AUTOINCREMENT, account_name TEXT, account_type TEXT, sourceid TEXT,
    version INTEGER NOT NULL DEFAULT 1, dirty INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,
    contact_id INTEGER REFERENCES contacts(_id), starred INTEGER NOT NULL DEFAULT 0, display_name TEXT,
    display_name_alt TEXT, sort_key TEXT);
CREATE TABLE IF NOT EXISTS data (
    _id INTEGER PRIMARY KEY AUTOINCREMENT, mimetype_id INTEGER NOT NULL REFERENCES mimetypes(_id),
    raw_contact_id INTEGER NOT NULL REFERENCES raw_contacts(_id), is_primary INTEGER NOT NULL DEFAULT 0,
    is_super_primary INTEGER NOT NULL DEFAULT 0, {", ".join(f"{column} TEXT" for column in DATA_COLUMNS)});
CREATE INDEX IF NOT EXISTS data_raw_contact_id ON data (raw_contact_id);
CREATE VIEW IF NOT EXISTS view_data AS
    SELECT data._id AS _id, data.raw_contact_id AS raw_contact_id, raw_contacts.contact_id AS contact_id,
        mimetypes.mimetype AS mimetype, raw_contacts.display_name AS display_name, is_primary,
        raw_contacts.starred AS starred, {", ".join(DATA_COLUMNS)}
    FROM data JOIN mimetypes ON mimetypes._id = data.mimetype_id
    JOIN raw_contacts ON raw_contacts._id = data.raw_contact_id WHERE raw_contacts.deleted = 0;
"""
_TABLES: Final = frozenset({"mimetypes", "contacts", "raw_contacts", "data", "data_raw_contact_id", "view_data"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Labeled:
    """A number or address and what it is: a key of PHONE_TYPES or EMAIL_TYPES."""

    value: str
    type: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Contact:
    """A person; `id` is the raw contact's, 0 for one that is not saved."""

    id: int = 0
    given: str = ""
    family: str = ""
    display_name: str = ""
    company: str = ""
    phones: tuple[Labeled, ...] = ()
    emails: tuple[Labeled, ...] = ()
    starred: bool = False

    @property
    def full_name(self) -> str:
        return " ".join(part for part in (self.given, self.family) if part)


def create_database(system: System) -> None:
    """Make the database, or whatever tables it lacks; a complete one is not touched."""
    if _is_complete(system):
        return
    system.files.make_dirs(DATABASE.rpartition("/")[0])
    make_database(system, DATABASE, _SCHEMA)
    with system.database(DATABASE) as db:
        db.executemany("INSERT OR IGNORE INTO mimetypes (mimetype) VALUES (?)", [(name,) for name in MIME_TYPES])


def _is_complete(system: System) -> bool:
    if not system.files.is_file(DATABASE):
        return False
    image = system.files.read(DATABASE)
    names = {row[0] for row in read_rows(image, "SELECT name FROM sqlite_schema")}
    kinds = {row[0] for row in read_rows(image, "SELECT mimetype FROM mimetypes")}
    return names >= _TABLES and kinds.issuperset(MIME_TYPES)


def split_name(full: str) -> tuple[str, str]:
    """Return given and family name of a display name: the last word is the family's."""
    given, _, family = full.strip().rpartition(" ")
    return (given.strip(), family) if given else (family, "")


# --- reading -------------------------------------------------------------------------------------------------------


def all_contacts(system: System) -> tuple[Contact, ...]:
    """Return all contacts by display name, case aside."""
    if not system.files.is_file(DATABASE):
        return ()
    image = system.files.read(DATABASE)
    people = read_rows(
        image, "SELECT _id, coalesce(display_name, ''), starred FROM raw_contacts WHERE deleted = 0 ORDER BY _id"
    )
    data = read_rows(
        image,
        "SELECT raw_contact_id, mimetype, coalesce(data1, ''), coalesce(data2, ''), coalesce(data3, '') "
        "FROM view_data ORDER BY _id",
    )
    found = [_contact(raw_id, str(name), bool(starred), data) for raw_id, name, starred in people]
    return tuple(sorted(found, key=lambda contact: (not contact.display_name, contact.display_name.casefold())))


def _contact(raw_id: int, display_name: str, starred: bool, data: Iterable[tuple[Any, ...]]) -> Contact:
    own = [(str(row[1]), str(row[2]), str(row[3]), str(row[4])) for row in data if row[0] == raw_id]
    names = [(given, family) for kind, _, given, family in own if kind == NAME]
    given, family = names[0] if names else ("", "")
    return Contact(
        id=raw_id,
        given=given,
        family=family,
        display_name=display_name,
        company=next((value for kind, value, *_ in own if kind == ORGANIZATION), ""),
        phones=_labeled(own, PHONE, MOBILE),
        emails=_labeled(own, EMAIL, HOME),
        starred=starred,
    )


def _labeled(rows: Sequence[tuple[str, str, str, str]], wanted: str, default: int) -> tuple[Labeled, ...]:
    return tuple(
        Labeled(value=value, type=int(label) if label.isdecimal() else default)
        for kind, value, label, _ in rows
        if kind == wanted and value
    )


def find_contact(system: System, raw_id: int) -> Contact | None:
    return next((contact for contact in all_contacts(system) if contact.id == raw_id), None)


# --- writing -------------------------------------------------------------------------------------------------------


def save_contact(system: System, contact: Contact) -> int:
    """Insert a contact (id 0) or replace what one holds; return its id."""
    create_database(system)
    with system.database(DATABASE) as db:
        raw_id = contact.id or insert_raw_contact(db, {})
        db.execute("DELETE FROM data WHERE raw_contact_id = ?", (raw_id,))
        if contact.full_name:
            insert_data(db, raw_id, NAME, (contact.full_name, contact.given, contact.family))
        for phone in contact.phones:
            insert_data(db, raw_id, PHONE, (phone.value, str(phone.type), None, normalized(phone.value)))
        for email in contact.emails:
            insert_data(db, raw_id, EMAIL, (email.value, str(email.type)))
        if contact.company:
            insert_data(db, raw_id, ORGANIZATION, (contact.company, "1"))
        db.execute("UPDATE raw_contacts SET starred = ? WHERE _id = ?", (int(contact.starred), raw_id))
        refresh_contact(db, raw_id)
    return raw_id


def set_starred(system: System, raw_id: int, starred: bool) -> None:
    with system.database(DATABASE) as db:
        db.execute("UPDATE raw_contacts SET starred = ? WHERE _id = ?", (int(starred), raw_id))


def delete_contact(system: System, raw_id: int) -> None:
    with system.database(DATABASE) as db:
        delete_raw_contacts(db, [raw_id])


def normalized(number: str) -> str:
    """Return a phone number's digits and leading plus."""
    digits = "".join(c for c in number if c.isdecimal())
    return f"+{digits}" if number.strip().startswith("+") else digits


def insert_raw_contact(db: sqlite3.Connection, values: dict[str, object]) -> int:
    """Add an empty raw contact with its aggregate."""
    contact_id = db.execute("INSERT INTO contacts (has_phone_number) VALUES (0)").lastrowid
    cursor = db.execute(
        "INSERT INTO raw_contacts (contact_id, account_name, account_type, starred) VALUES (?, ?, ?, ?)",
        (contact_id, values.get("account_name"), values.get("account_type"), values.get("starred", 0)),
    )
    db.execute("UPDATE contacts SET name_raw_contact_id = ? WHERE _id = ?", (cursor.lastrowid, contact_id))
    return cast(int, cursor.lastrowid)


def insert_data(db: sqlite3.Connection, raw_id: int, mimetype: str, values: Sequence[object]) -> int:
    """Add a row of `data` with data1, data2, ... = values."""
    db.execute("INSERT OR IGNORE INTO mimetypes (mimetype) VALUES (?)", (mimetype,))
    columns = ", ".join(DATA_COLUMNS[: len(values)])
    marks = ", ".join("?" * len(values))
    cursor = db.execute(
        f"INSERT INTO data (raw_contact_id, mimetype_id, {columns}) "
        f"VALUES (?, (SELECT _id FROM mimetypes WHERE mimetype = ?), {marks})",
        (raw_id, mimetype, *values),
    )
    return cast(int, cursor.lastrowid)


def refresh_contact(db: sqlite3.Connection, raw_id: int) -> None:
    """Recompute what the tables above `data` say about it: display name, whether there is a number."""
    rows = db.execute("SELECT mimetype, data1, data2, data3 FROM view_data WHERE raw_contact_id = ?", (raw_id,))
    by_kind: dict[str, tuple[str, str, str]] = {}
    for kind, value, second, third in rows:
        if value:
            by_kind.setdefault(kind, (str(value), str(second or ""), str(third or "")))
    name = next((by_kind[kind][0] for kind in (NAME, ORGANIZATION, PHONE, EMAIL) if kind in by_kind), None)
    given, family = by_kind[NAME][1:] if NAME in by_kind else ("", "")
    other_order = f"{family}, {given}" if given and family else name
    db.execute(
        "UPDATE raw_contacts SET display_name = ?, display_name_alt = ?, sort_key = ?, version = version + 1 "
        "WHERE _id = ?",
        (name, other_order, name, raw_id),
    )
    db.execute(
        "UPDATE contacts SET has_phone_number = ? WHERE name_raw_contact_id = ?", (int(PHONE in by_kind), raw_id)
    )


def delete_raw_contacts(db: sqlite3.Connection, raw_ids: Iterable[int]) -> None:
    for raw_id in raw_ids:
        db.execute("DELETE FROM data WHERE raw_contact_id = ?", (raw_id,))
        db.execute("DELETE FROM contacts WHERE name_raw_contact_id = ?", (raw_id,))
        db.execute("DELETE FROM raw_contacts WHERE _id = ?", (raw_id,))
