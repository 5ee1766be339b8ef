"""SQLite, able to read one database and nothing else."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from rlfactory.envs.tools.sql.limits import SqlLimits
from rlfactory.envs.tools.sql.rows import FailureKind, QueryFailed, Rows, batches, collect

READ_ACTIONS: Final = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
READ_PRAGMAS: Final = {
    "foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo",
}  # fmt: skip
"""They tell of the schema. Every other pragma is refused, also with a name that only reads."""
READ_TABLES: Final = ("json_each('[]')", "json_tree('[]')", *(f"pragma_{name}('_')" for name in sorted(READ_PRAGMAS)))
"""What can be read besides the database's own tables; every other virtual table is refused."""
REFUSED_FUNCTIONS: Final = {
    "edit", "fts3_tokenizer", "load_extension", "readfile", "shell_add_schema", "sqlite_log", "writefile",
}  # fmt: skip
ACTIONS: Final[Mapping[int, str]] = {
    code: name.removeprefix("SQLITE_").replace("_", " ")
    for name, code in vars(sqlite3).items()
    if name.startswith(("SQLITE_CREATE", "SQLITE_DROP", "SQLITE_ALTER"))
} | {
    sqlite3.SQLITE_INSERT: "INSERT",
    sqlite3.SQLITE_UPDATE: "UPDATE",
    sqlite3.SQLITE_DELETE: "DELETE",
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_TRANSACTION: "a transaction",
    sqlite3.SQLITE_SAVEPOINT: "SAVEPOINT",
    sqlite3.SQLITE_ANALYZE: "ANALYZE",
    sqlite3.SQLITE_REINDEX: "REINDEX",
}
SCHEMA_TABLES: Final = {"sqlite_master", "sqlite_temp_master"}
STEPS_BETWEEN_LOOKS: Final = 1_000
"""Virtual machine steps between two looks at the clock; some microseconds."""
WAL_VERSIONS: Final = slice(18, 20)
"""Of the header: 2, 2 says that there is a write-ahead log, which a copy in memory cannot have."""
ONE_STATEMENT: Final = "You can only execute one statement at a time"
MEMORY_WORDS: Final = ("out of memory", "too big", "too large", "database or disk is full")


class SqliteEngine:
    """One database. Queries read it; whatever else they try is refused before it begins."""

    def __init__(self, connection: sqlite3.Connection, limits: SqlLimits) -> None:
        """Raises: sqlite3.Error: it is no database."""
        self._limits = limits
        self._connection = connection
        self._refused = ""
        self._deadline_s = 0.0
        connection.isolation_level = None
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        for pragma in ("temp_store=MEMORY", "mmap_size=0", "query_only=ON", "trusted_schema=OFF", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(f"PRAGMA hard_heap_limit={limits.max_memory_bytes}")
        for table in ("sqlite_schema", *READ_TABLES):  # made on first use, and that would be refused later
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        self._functions = {name for (name,) in connection.execute("SELECT name FROM pragma_function_list")}
        self._functions -= REFUSED_FUNCTIONS
        _bound(connection, limits)
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._is_late, STEPS_BETWEEN_LOOKS)

    @classmethod
    def of_bytes(cls, data: bytes, limits: SqlLimits) -> SqliteEngine:
        """Return the engine of a database in memory. Raises: sqlite3.Error."""
        connection = sqlite3.connect(":memory:", cached_statements=0)
        image = bytearray(data)
        if image[WAL_VERSIONS] == b"\x02\x02":
            image[WAL_VERSIONS] = b"\x01\x01"
        connection.deserialize(bytes(image))
        return cls(connection, limits)

    @classmethod
    def of_file(cls, path: str, limits: SqlLimits) -> SqliteEngine:
        """Return the engine of a file, which is opened once, read-only and immutable. Raises: sqlite3.Error."""
        uri = f"file:{quote(path)}?mode=ro&immutable=1"
        return cls(sqlite3.connect(uri, uri=True, cached_statements=0), limits)

    def run(self, sql: str, *, timeout_s: float, max_rows: int) -> Rows:
        """Return the rows of one query. Raises: QueryFailed: it is refused, wrong, late or too large."""
        self._refused = ""
        self._deadline_s = time.monotonic() + timeout_s
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql)
            columns = [column[0] for column in cursor.description or ()]
            if not columns:
                raise QueryFailed(FailureKind.REFUSED, "it is no query: it has no columns")
            return collect(
                columns, batches(cursor.fetchmany), max_rows=max_rows, max_bytes=self._limits.max_result_bytes
            )
        except (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError) as error:
            raise self._failure(error, timeout_s) from None
        finally:
            cursor.close()

    def close(self) -> None:
        self._connection.close()

    def _failure(self, error: Exception, timeout_s: float) -> QueryFailed:
        text = str(error)
        if self._refused:
            return QueryFailed(FailureKind.REFUSED, f"{self._refused} is not allowed: queries may only read")
        if text.startswith(ONE_STATEMENT):
            return QueryFailed(FailureKind.REFUSED, "there is more than one statement; give one query")
        if text == "interrupted":
            return QueryFailed(FailureKind.TIMEOUT, f"the query did not end within {timeout_s:g} seconds")
        if isinstance(error, MemoryError) or any(words in text for words in MEMORY_WORDS):
            return QueryFailed(FailureKind.TOO_LARGE, f"the query needs more memory than it may: {text or 'no room'}")
        return QueryFailed(FailureKind.ERROR, text)

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline_s

    def _authorize(
        self, action: int, first: str | None, second: str | None, database: str | None, source: str | None
    ) -> int:
        """Allow what reads, and the functions and pragmas that are known to; refuse all else, also what is to come."""
        if action in READ_ACTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            known = second is not None and second.lower() in self._functions
            return sqlite3.SQLITE_OK if known else self._refuse(f"the function {second}")
        if action == sqlite3.SQLITE_PRAGMA:
            known = first is not None and first.lower() in READ_PRAGMAS
            return sqlite3.SQLITE_OK if known else self._refuse(f"PRAGMA {first}")
        if first in SCHEMA_TABLES:
            return self._refuse("changing the schema")
        return self._refuse(ACTIONS.get(action, "this statement"))

    def _refuse(self, what: str) -> int:
        self._refused = self._refused or what
        return sqlite3.SQLITE_DENY


def _bound(connection: sqlite3.Connection, limits: SqlLimits) -> None:
    """Lower SQLite's own limits to what queries written by models need."""
    for limit, value in (
        (sqlite3.SQLITE_LIMIT_LENGTH, limits.max_value_bytes),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 4 * limits.max_sql_chars),
        (sqlite3.SQLITE_LIMIT_COLUMN, 500),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100),
        (sqlite3.SQLITE_LIMIT_VDBE_OP, 100_000),
        (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 100),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
        (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 10),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        connection.setlimit(limit, value)
