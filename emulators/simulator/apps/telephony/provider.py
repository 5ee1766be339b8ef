"""Telephony (`com.android.providers.telephony`): text messages in mmssms.db, and `content://sms` over them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.android.content import ContentProvider, Row, Selection, UnsupportedUriError
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.forms import stored
from rlfactory.emulators.simulator.apps.kit.no_screen import NoScreen
from rlfactory.emulators.simulator.apps.kit.tables import Table

PACKAGE: Final = "com.android.providers.telephony"
MESSENGER: Final = "com.simplemobiletools.smsmessenger"
INBOX: Final = 1
SENT: Final = 2
_TYPES: Final = {"": 0, "inbox": INBOX, "sent": SENT, "draft": 3, "outbox": 4}
SMS: Final = Table(
    path=f"/data/data/{PACKAGE}/databases/mmssms.db",
    name="sms",
    columns={
        "_id": "INTEGER PRIMARY KEY",
        "thread_id": "INTEGER",
        "address": "TEXT",
        "person": "INTEGER",
        "date": "INTEGER",
        "date_sent": "INTEGER DEFAULT 0",
        "protocol": "INTEGER",
        "read": "INTEGER DEFAULT 0",
        "status": "INTEGER DEFAULT -1",
        "type": "INTEGER",
        "reply_path_present": "INTEGER",
        "subject": "TEXT",
        "body": "TEXT",
        "service_center": "TEXT",
        "locked": "INTEGER DEFAULT 0",
        "sub_id": "INTEGER DEFAULT -1",
        "error_code": "INTEGER DEFAULT -1",
        "creator": "TEXT",
        "seen": "INTEGER DEFAULT 0",
    },
    more="""
    CREATE TABLE IF NOT EXISTS canonical_addresses (_id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT);
    CREATE TABLE IF NOT EXISTS threads (_id INTEGER PRIMARY KEY AUTOINCREMENT, date INTEGER DEFAULT 0,
        message_count INTEGER DEFAULT 0, recipient_ids TEXT, snippet TEXT, read INTEGER DEFAULT 1,
        archived INTEGER DEFAULT 0, type INTEGER DEFAULT 0, error INTEGER DEFAULT 0);
    """,
)
_SEPARATORS: Final = re.compile(r"[\s()-]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One text message, on either way."""

    id: int
    address: str
    body: str
    date_ms: int
    sent: bool


def bare(address: str) -> str:
    """Return a number without blanks, dashes and brackets: what tells threads apart."""
    return _SEPARATORS.sub("", address)


def messages(system: System) -> list[Message]:
    """Return all messages that came or went, the oldest first."""
    return [
        Message(
            id=row["_id"],
            address=row["address"] or "",
            body=row["body"] or "",
            date_ms=row["date"] or 0,
            sent=row["type"] == SENT,
        )
        for row in SMS.rows(system, "WHERE type IN (1, 2) ORDER BY date, _id")
    ]


def add_message(system: System, address: str, body: str, *, kind: int, date_ms: int | None = None) -> int:
    """Store a message in its thread and return its id."""
    when = stored(system.now(), 1e-3) if date_ms is None else date_ms
    with SMS.open(system) as db:
        thread = _thread(db, bare(address))
        message = db.execute(
            "INSERT INTO sms (thread_id, address, date, date_sent, read, type, body, seen, creator) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (thread, address, when, when if kind == INBOX else 0, int(kind != INBOX), kind, body, 1, MESSENGER),
        ).lastrowid
        db.execute(
            "INSERT INTO threads (_id, date, message_count, recipient_ids, snippet) VALUES (?1, ?2, 1, ?1, ?3) "
            "ON CONFLICT (_id) DO UPDATE SET date = ?2, message_count = message_count + 1, snippet = ?3",
            (thread, when, body),
        )
    assert message is not None
    return message


def delete_messages(system: System, ids: Sequence[int]) -> None:
    SMS.delete(system, ids)


def _thread(db: sqlite3.Connection, address: str) -> int:
    found = db.execute("SELECT _id FROM canonical_addresses WHERE address = ?", (address,)).fetchone()
    if found is None:
        return db.execute("INSERT INTO canonical_addresses (address) VALUES (?)", (address,)).lastrowid or 0
    return int(found[0])


class SmsProvider(ContentProvider):
    """`content://sms`, `content://sms/inbox` and so on, the newest first."""

    authorities: ClassVar[tuple[str, ...]] = ("sms",)

    def query(self, system: System, path: str, projection: Sequence[str], selection: Selection) -> list[Row]:
        SMS.ensure(system)
        columns = ", ".join(f"[{name}]" for name in projection or SMS.columns)
        with system.database(SMS.path) as db:
            db.row_factory = sqlite3.Row
            order = selection.sort or "date DESC, _id DESC"
            sql = f"SELECT {columns} FROM sms WHERE {_where(path, selection)} ORDER BY {order}"
            return [dict(row) for row in db.execute(sql, selection.arguments)]

    def insert(self, system: System, path: str, values: Row) -> int:
        kind = _TYPES.get(path)
        if kind is None:
            raise UnsupportedUriError(f"sms/{path} is not known")
        unknown = values.keys() - SMS.columns.keys()
        if unknown:
            raise sqlite3.OperationalError(f"table sms has no column named {min(unknown)}")
        address, body, date = str(values.get("address", "")), str(values.get("body", "")), values.get("date")
        date_ms = date if isinstance(date, int) else None
        message = add_message(system, address, body, kind=kind or int(str(values.get("type", INBOX))), date_ms=date_ms)
        if kind == INBOX:
            system.notify(MESSENGER, message, title=address, text=body, icon="message-text-outline")
        return message

    def update(self, system: System, path: str, values: Row, selection: Selection) -> int:
        pairs = ", ".join(f"[{name}] = ?" for name in values)
        with SMS.open(system) as db:
            sql = f"UPDATE sms SET {pairs} WHERE {_where(path, selection)}"
            return db.execute(sql, (*values.values(), *selection.arguments)).rowcount

    def delete(self, system: System, path: str, selection: Selection) -> int:
        with SMS.open(system) as db:
            return db.execute(f"DELETE FROM sms WHERE {_where(path, selection)}", selection.arguments).rowcount


def _where(path: str, selection: Selection) -> str:
    conditions = [f"({selection.where})"] if selection.where else []
    if path.isdecimal():
        conditions.append(f"_id = {path}")
    elif path not in _TYPES:
        raise UnsupportedUriError(f"sms/{path} is not known")
    elif path:
        conditions.append(f"type = {_TYPES[path]}")
    return " AND ".join(conditions) or "1"


class _PhoneScreen(NoScreen):
    icon, label = "database-outline", "Phone and Messaging Storage"


class _Telephony(App):
    def install(self, system: System) -> None:
        SMS.ensure(system)

    def on_launch(self, system: System) -> None:
        SMS.ensure(system)


TELEPHONY = _Telephony(
    package=PACKAGE,
    label="Phone and Messaging Storage",
    icon="database-outline",
    color="#5F6368",
    activities=(_PhoneScreen,),
    version_name="13",
    version_code=33,
    hidden=True,
    providers=(SmsProvider(),),
)
