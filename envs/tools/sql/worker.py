"""The process in which queries run. Started by `envs.tools.sql.workers`; speaks `envs.tools.sql.wire` on its pipes.

    {"op": "open", "key", "kind": "bytes" | "sqlite" | "duckdb" | "postgres", "place"}  + the database's bytes
    {"op": "close", "key"}
    {"op": "run", "key", "sql", "timeout_s", "max_rows"}              -> {"columns", "rows", "truncated"}
    {"op": "verify", "keys", "sql", "gold", "comparison", "timeout_s"} -> {"same", "database", "reason", "kind"}

Every answer has `outcome`: "ok"; "failed" with `kind` and `message` (the query's fault); "broken" with `message` (the
task's fault: its database does not open, or its gold query fails); "lost" with `message` (a server cannot be reached).
"""

from __future__ import annotations

import json
import os
import sys
from collections import OrderedDict
from typing import Any, Final, Protocol

from rlfactory.envs.tools.sql.compare import Comparison, difference
from rlfactory.envs.tools.sql.confine import confine, may_open
from rlfactory.envs.tools.sql.limits import SqlLimits
from rlfactory.envs.tools.sql.rows import DatabaseLost, QueryFailed, Rows
from rlfactory.envs.tools.sql.sqlite_engine import SqliteEngine
from rlfactory.envs.tools.sql.wire import Message, pack, read
from rlfactory.processes.child import when_parent_ends

MAX_GOLDS: Final = 256
"""Results of gold queries kept; a group of siblings asks for the same one."""


class SqlEngine(Protocol):
    def run(self, sql: str, *, timeout_s: float, max_rows: int) -> Rows: ...

    def close(self) -> None: ...


class Broken(Exception):
    """The task's fault, not the query's."""


class Worker:
    """Holds open databases and runs one request at a time."""

    def __init__(self, limits: SqlLimits) -> None:
        self._limits = limits
        self._engines: dict[str, SqlEngine] = {}
        self._golds: OrderedDict[tuple[str, str], Rows] = OrderedDict()

    def answer(self, message: Message, payload: bytes) -> Message:
        """Carry out one request. Never raises."""
        try:
            return {"outcome": "ok", **self._carry_out(message, payload)}
        except QueryFailed as failure:
            return {"outcome": "failed", "kind": failure.kind.value, "message": failure.message}
        except DatabaseLost as error:
            return {"outcome": "lost", "message": str(error)}
        except Exception as error:  # noqa: BLE001 - the pool has to hear of it, whatever it is
            return {"outcome": "broken", "message": f"{type(error).__name__}: {error}"}

    def _carry_out(self, message: Message, payload: bytes) -> Message:
        match message["op"]:
            case "open":
                with may_open():
                    self._engines[message["key"]] = self._open(message["kind"], message["place"], payload)
                return {}
            case "close":
                self._close(message["key"])
                return {}
            case "run":
                rows = self._engines[message["key"]].run(
                    message["sql"], timeout_s=message["timeout_s"], max_rows=message["max_rows"]
                )
                return {"columns": rows.columns, "rows": rows.rows, "truncated": rows.truncated}
            case "verify":
                return self._verify(message)
        raise ValueError(f"no such request: {message['op']!r}")

    def _open(self, kind: str, place: str, payload: bytes) -> SqlEngine:
        match kind:
            case "bytes":
                return SqliteEngine.of_bytes(payload, self._limits)
            case "sqlite":
                return SqliteEngine.of_file(place, self._limits)
            case "duckdb":
                from rlfactory.envs.tools.sql.duckdb_engine import DuckDbEngine

                return DuckDbEngine(place, self._limits)
            case "postgres":
                from rlfactory.envs.tools.sql.postgres_engine import PostgresEngine

                return PostgresEngine(place, self._limits)
        raise ValueError(f"no such kind of database: {kind!r}")

    def _close(self, key: str) -> None:
        self._engines.pop(key).close()
        for gold in [gold for gold in self._golds if gold[0] == key]:
            del self._golds[gold]

    def _verify(self, message: Message) -> dict[str, Any]:
        """Compare on one database after the other, up to the first that tells the two apart."""
        comparison = Comparison(**message["comparison"])
        for index, key in enumerate(message["keys"]):
            wanted = self._gold(key, message["gold"], message["timeout_s"])
            try:
                got = self._engines[key].run(
                    message["sql"], timeout_s=message["timeout_s"], max_rows=self._limits.max_rows
                )
            except QueryFailed as failure:
                return {"same": False, "database": index, "reason": failure.message, "kind": failure.kind.value}
            if reason := difference(got, wanted, comparison):
                return {"same": False, "database": index, "reason": reason, "kind": ""}
        return {"same": True, "database": len(message["keys"]), "reason": "", "kind": ""}

    def _gold(self, key: str, sql: str, timeout_s: float) -> Rows:
        rows = self._golds.get((key, sql))
        if rows is None:
            try:
                rows = self._engines[key].run(sql, timeout_s=timeout_s, max_rows=self._limits.max_rows)
            except QueryFailed as failure:
                raise Broken(f"the gold query fails: {failure.message}") from None
            if rows.truncated:
                raise Broken("the gold query has too many rows or bytes to be compared")
            self._golds[key, sql] = rows
            if len(self._golds) > MAX_GOLDS:
                self._golds.popitem(last=False)
        return rows


def main() -> None:
    """Answer until the pipe is closed."""
    limits = SqlLimits(**json.loads(sys.argv[1]))
    when_parent_ends(lambda: os._exit(1))  # a query does not read our input
    confine(limits.max_process_bytes)
    worker = Worker(limits)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(pack({"outcome": "ok", "pid": os.getpid()}))
    answers.flush()
    while True:
        try:
            message, payload = read(requests)
        except EOFError:
            return
        answers.write(pack(worker.answer(message, payload)))
        answers.flush()


if __name__ == "__main__":
    main()
