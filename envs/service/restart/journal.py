"""What a service writes down of its sessions, so that those that need no phone outlive it.

One SQLite file, in which each turn stands before its caller is told of it. What a process has written is there when it
is killed; nothing is forced to the disk, so a crash of the whole machine may cost the last turns.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import SessionOptions, Split, StepResult, ToolCall, split_named
from rlfactory.envs.wire import convert
from rlfactory.envs.wire.v1 import env_pb2 as pb

log = logging.getLogger(__name__)

MAX_SESSION_BYTES: Final = 8 << 20
"""Of calls and results of a session; one that said more does not outlive the service."""
SCHEMA: Final = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, tenant TEXT, client TEXT, task TEXT, seed TEXT, split TEXT, options BLOB, lives_on INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turn (
    session TEXT, seq INTEGER, fingerprint BLOB, request BLOB, response BLOB, PRIMARY KEY (session, seq)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedSession:
    """A session as it was when the service died."""

    id: str
    tenant: str
    client: str
    task: str
    seed: int
    split: Split
    options: SessionOptions
    lives_on: bool
    """All that it needs is here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedTurn:
    """One turn of it."""

    fingerprint: bytes
    calls: tuple[ToolCall, ...]
    result: StepResult | None
    """None: it was under way, and what it did is unknown."""


class Journal:
    """Of one service. Every method returns at once; one that cannot write any more gives the whole journal up."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is None for a service whose sessions end with it: then nothing is kept.

        Raises: TaskError: the file cannot be written, is no journal, or another service writes it.
        """
        self._path = path
        self._bytes: Counter[str] = Counter()
        self._file: sqlite3.Connection | None = None
        if path is None:
            return
        try:
            path.touch(mode=0o600)  # sessions are known by their ids, and what was said in them is here
            self._file = sqlite3.connect(path, isolation_level=None, timeout=0.0)
            self._file.executescript(SCHEMA)
            self._file.execute("UPDATE session SET lives_on = lives_on WHERE id = ''")  # takes the lock
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise TaskError(f"the journal {path} cannot be used: {error}; each service needs one of its own") from None

    def close(self) -> None:
        """Write no more; what is written stays. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    # --- writing -----------------------------------------------------------------------------------------------------

    def begun(self, saved: SavedSession, *, parent: str = "") -> None:
        """A session is open, or a fork of a parent with its turns."""
        options = convert.options_to_pb(saved.options).SerializeToString()
        place = (saved.id, saved.tenant, saved.client, saved.task, str(saved.seed), saved.split, options)
        self._write("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *place, saved.lives_on)
        if parent:
            turns = "SELECT ?, seq, fingerprint, request, response FROM turn WHERE session = ?"
            self._write(f"INSERT INTO turn {turns}", saved.id, parent)
            kept = "UPDATE session SET lives_on = (SELECT lives_on FROM session WHERE id = ?) WHERE id = ?"
            self._write(kept, parent, saved.id)
            self._bytes[saved.id] = self._bytes[parent]

    def turn_begins(self, session: str, seq: int) -> None:
        """A turn has begun that must not be done again."""
        self._write("INSERT INTO turn VALUES (?, ?, x'', x'', NULL)", session, seq)

    def turn_played(
        self, session: str, seq: int, fingerprint: bytes, calls: Sequence[ToolCall], result: StepResult
    ) -> None:
        """A turn is over; the next call of its client may be to another process."""
        if self._file is None:
            return
        request = pb.StepRequest(calls=convert.calls_to_pb(calls)).SerializeToString()
        response = convert.step_to_pb(result, with_bytes=False).SerializeToString()
        self._bytes[session] += len(request) + len(response)
        if self._bytes[session] > MAX_SESSION_BYTES:
            self.lost(session)
        else:
            self._write(
                "INSERT OR REPLACE INTO turn VALUES (?, ?, ?, ?, ?)", session, seq, fingerprint, request, response
            )

    def lost(self, session: str) -> None:
        """It will not go on; those who ask for it later are told so."""
        self._write("UPDATE session SET lives_on = 0 WHERE id = ?", session)
        self._write("DELETE FROM turn WHERE session = ?", session)

    def closed(self, session: str) -> None:
        """Nobody will ask for it any more."""
        self._bytes.pop(session, None)
        self._write("DELETE FROM turn WHERE session = ?", session)
        self._write("DELETE FROM session WHERE id = ?", session)

    def _write(self, statement: str, *values: object) -> None:
        if self._file is None:
            return
        try:
            self._file.execute(statement, values)
        except sqlite3.Error as error:
            log.warning("the journal %s is given up, sessions will end with this service: %s", self._path, error)
            self.close()
            if self._path is not None:  # half of the truth would be worse than none
                self._path.unlink(missing_ok=True)

    # --- reading -----------------------------------------------------------------------------------------------------

    def sessions(self) -> list[SavedSession]:
        """Return those that were open when the file was last written."""
        rows = self._file.execute("SELECT * FROM session").fetchall() if self._file is not None else []
        return [
            SavedSession(
                **dict(zip(("id", "tenant", "client", "task"), row[:4], strict=True)),
                seed=int(row[4]),
                split=split_named(row[5]),
                options=convert.options_from_pb(pb.Options.FromString(row[6])),
                lives_on=bool(row[7]),
            )
            for row in rows
        ]

    def turns(self, session: str) -> Iterator[SavedTurn]:
        """Give the turns of a session in their order."""
        if self._file is None:
            return
        asked = "SELECT fingerprint, request, response FROM turn WHERE session = ? ORDER BY seq"
        for fingerprint, request, response in self._file.execute(asked, (session,)):
            result = None if response is None else convert.step_from_pb(pb.StepResponse.FromString(response))
            calls = convert.calls_from_pb(pb.StepRequest.FromString(request).calls)
            yield SavedTurn(fingerprint=fingerprint, calls=calls, result=result)
