"""PostgreSQL, in read-only transactions of a role that can do little."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg.rows import TupleRow

from rlfactory.envs.tools.sql.limits import SqlLimits
from rlfactory.envs.tools.sql.rows import DatabaseLost, FailureKind, QueryFailed, Rows, collect

CONNECT_TIMEOUT_S: Final = 10
CHECKS_CLIENTS: Final = 14_00_00
"""The first server version that can notice in the middle of a query that nobody waits for it any more."""
BATCH_ROWS: Final = 256
STRONG_ROLE: Final = """
SELECT current_setting('is_superuser') = 'on'
    OR pg_has_role('pg_read_server_files', 'MEMBER') OR pg_has_role('pg_write_server_files', 'MEMBER')
    OR pg_has_role('pg_execute_server_program', 'MEMBER') OR pg_has_role('pg_signal_backend', 'MEMBER')
"""


class StrongRole(Exception):
    """The role could read files of the server, run programs there or stop others: queries of models must not."""


class PostgresEngine:
    """One database. Every query has a transaction of its own, which is read-only and is rolled back."""

    def __init__(self, dsn: str, limits: SqlLimits) -> None:
        """Raises: DatabaseLost: no connection. StrongRole: another role has to be used."""
        self._limits = limits
        try:
            self._connection = psycopg.connect(
                dsn,
                autocommit=True,
                connect_timeout=CONNECT_TIMEOUT_S,
                options="-c default_transaction_read_only=on -c client_encoding=UTF8",
            )
        except psycopg.OperationalError as error:
            raise DatabaseLost(_first_line(error)) from None
        self._connection.prepare_threshold = None
        (strong,) = self._connection.execute(STRONG_ROLE).fetchone() or (True,)
        if strong:
            self._connection.close()
            raise StrongRole("the role is a superuser or may reach the server's files; give one that may only read")

    def run(self, sql: str, *, timeout_s: float, max_rows: int) -> Rows:
        """Return the rows of one query. Raises: QueryFailed: it is refused, wrong, late or too large."""
        try:
            with self._read_only(timeout_s):
                # A cursor is declared for a query only, and the extended protocol (binary) takes one statement only.
                query = f"DECLARE rows NO SCROLL CURSOR FOR {sql}"
                self._connection.execute(query, binary=True)
                cursor = self._connection.execute("FETCH FORWARD 0 FROM rows")
                columns = [column.name for column in cursor.description or ()]
                return collect(columns, self._fetched(), max_rows=max_rows, max_bytes=self._limits.max_result_bytes)
        except psycopg.errors.QueryCanceled:
            raise QueryFailed(FailureKind.TIMEOUT, f"the query did not end within {timeout_s:g} seconds") from None
        except (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege) as error:
            raise QueryFailed(FailureKind.REFUSED, f"{_first_line(error)}: queries may only read") from None
        except (psycopg.errors.OutOfMemory, psycopg.errors.ProgramLimitExceeded, MemoryError) as error:
            raise QueryFailed(FailureKind.TOO_LARGE, _first_line(error)) from None
        except psycopg.Error as error:
            # Errors of a query may be of any class (a missing $1, a stack that is too deep): the connection tells.
            if self._connection.broken:
                raise DatabaseLost(_first_line(error)) from None
            raise QueryFailed(FailureKind.ERROR, _first_line(error)) from None
        except ValueError as error:
            raise QueryFailed(FailureKind.ERROR, _first_line(error)) from None

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _read_only(self, timeout_s: float) -> Iterator[None]:
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            timeout_ms = max(1, int(timeout_s * 1000))
            for setting in ("statement_timeout", "lock_timeout"):
                self._connection.execute(f"SET LOCAL {setting} = {timeout_ms}")
            if self._connection.info.server_version >= CHECKS_CLIENTS:  # the query of a killed worker ends, too
                self._connection.execute("SET LOCAL client_connection_check_interval = '1s'")
            yield
        finally:
            if not self._connection.broken:
                self._connection.execute("ROLLBACK")
                self._connection.execute("DISCARD ALL")

    def _fetched(self) -> Iterator[TupleRow]:
        fetch = f"FETCH FORWARD {BATCH_ROWS} FROM rows"
        while batch := self._connection.execute(fetch).fetchall():
            yield from batch


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
