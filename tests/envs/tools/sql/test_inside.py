"""What goes on inside a worker, without its process: engines and requests."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("psycopg")

from benchmarks.postgres_server import postgres, programs
from benchmarks.sql import Watched, fill_postgres
from rlfactory.envs.tools.sql import wire
from rlfactory.envs.tools.sql.duckdb_engine import DuckDbEngine
from rlfactory.envs.tools.sql.limits import SqlLimits
from rlfactory.envs.tools.sql.postgres_engine import PostgresEngine, StrongRole
from rlfactory.envs.tools.sql.rows import DatabaseLost, FailureKind, QueryFailed
from rlfactory.envs.tools.sql.sqlite_engine import SqliteEngine
from rlfactory.envs.tools.sql.worker import SqlEngine, Worker

LIMITS = SqlLimits(max_memory_bytes=1 << 30)
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def failure(engine: SqlEngine, sql: str, *, timeout_s: float = 5.0) -> tuple[FailureKind, str]:
    with pytest.raises(QueryFailed) as caught:
        engine.run(sql, timeout_s=timeout_s, max_rows=10)
    return caught.value.kind, caught.value.message


def test_sqlite_reads_and_names_what_it_refuses(watched):
    for engine in (
        SqliteEngine.of_bytes(watched.sqlite.read_bytes(), LIMITS),
        SqliteEngine.of_file(str(watched.sqlite), LIMITS),
    ):
        assert engine.run("SELECT id FROM item LIMIT 1", timeout_s=5, max_rows=10).rows == ((1,),)
        assert failure(engine, "SELECT id FORM item") == (FailureKind.ERROR, 'near "item": syntax error')
        assert failure(engine, ENDLESS, timeout_s=0.05)[0] is FailureKind.TIMEOUT
        assert failure(engine, "SELECT zeroblob(2000000000)")[0] is FailureKind.TOO_LARGE
        refusals = {
            "DELETE FROM item": "DELETE",
            "CREATE TABLE x (a)": "changing the schema",
            "DROP TABLE item": "changing the schema",
            "ATTACH 'x' AS y": "ATTACH",
            "PRAGMA user_version": "PRAGMA user_version",
            "SELECT load_extension('x')": "the function load_extension",
            "VACUUM": "ATTACH",
            "BEGIN": "a transaction",
        }
        for sql, what in refusals.items():
            kind, words = failure(engine, sql)
            assert kind in (FailureKind.REFUSED, FailureKind.ERROR)
            assert what in words or sql == "VACUUM", (sql, words)
        engine.close()


def test_duckdb_reads_and_names_what_it_refuses(watched):
    engine = DuckDbEngine(str(watched.duckdb), LIMITS)
    assert engine.run("SELECT count(*) FROM item", timeout_s=5, max_rows=10).rows == ((200,),)
    assert engine.run("SELECT id FROM item", timeout_s=5, max_rows=10).truncated
    assert failure(engine, "SELECT colour FROM item")[0] is FailureKind.ERROR
    assert failure(engine, "SELECT 1; SELECT 2") == (FailureKind.REFUSED, "there are 2 statements; give one query")
    assert failure(engine, "DELETE FROM item") == (FailureKind.REFUSED, "DELETE is not allowed: queries may only read")
    assert failure(engine, f"SELECT * FROM read_text('{watched.folder}/secret.txt')")[0] is FailureKind.REFUSED
    engine.close()


@pytest.mark.postgres
@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
def test_postgres_reads_and_names_what_it_refuses():
    with postgres() as server:
        fill_postgres(server.owner)
        with pytest.raises(StrongRole):
            PostgresEngine(server.owner, LIMITS)
        engine = PostgresEngine(server.reader, LIMITS)
        assert engine.run("SELECT id FROM item ORDER BY 1 LIMIT 1", timeout_s=5, max_rows=10).rows == ((1,),)
        assert engine.run("SELECT id FROM item", timeout_s=5, max_rows=10).truncated
        assert failure(engine, "SELECT colour FROM item")[0] is FailureKind.ERROR
        assert failure(engine, "SELECT nextval('item_numbers')")[0] is FailureKind.REFUSED
        assert failure(engine, "SELECT pg_sleep(5)", timeout_s=0.1)[0] is FailureKind.TIMEOUT
        assert failure(engine, "SELECT 1; DELETE FROM item")[0] is FailureKind.ERROR
        assert failure(engine, "SELECT repeat('x', 2000000000)")[0] is FailureKind.TOO_LARGE
        with pytest.raises(DatabaseLost):
            engine.run("SELECT pg_terminate_backend(pg_backend_pid())", timeout_s=5, max_rows=10)
        engine.close()
    with pytest.raises(DatabaseLost):
        PostgresEngine(server.reader, LIMITS)


def test_a_worker_answers_requests_and_never_raises(watched):
    worker = Worker(LIMITS)

    def opened(key: str, data: bytes) -> wire.Message:
        worker._engines[key] = SqliteEngine.of_bytes(data, LIMITS)
        return {"outcome": "ok"}

    def verify(sql: str, gold: str, **comparison: object) -> wire.Message:
        message = {"op": "verify", "keys": ["a"], "sql": sql, "gold": gold, "timeout_s": 5.0, "comparison": comparison}
        return worker.answer(message, b"")

    opened("a", watched.sqlite.read_bytes())
    run = {"op": "run", "key": "a", "sql": "SELECT 1 AS one", "timeout_s": 5.0, "max_rows": 5}
    assert worker.answer(run, b"") == {"outcome": "ok", "columns": ("one",), "rows": ((1,),), "truncated": False}
    assert worker.answer({**run, "sql": "DELETE FROM item"}, b"")["kind"] == "refused"
    assert worker.answer({**run, "key": "b"}, b"")["outcome"] == "broken"
    assert worker.answer({"op": "sing"}, b"")["message"] == "ValueError: no such request: 'sing'"
    assert verify("SELECT 200", "SELECT count(*) FROM item")["same"]
    assert verify("SELECT 200.0", "SELECT count(*) FROM item")["same"]
    assert verify("SELECT 2", "SELECT count(*) FROM item")["reason"] == "the values differ"
    assert verify("SELECT x", "SELECT 1")["kind"] == "error"
    assert verify("SELECT 1", "SELECT x")["message"].startswith("Broken: the gold query fails")
    assert verify("SELECT 1", "SELECT a.id FROM item a, item b")["message"].startswith("Broken: the gold query has too")
    assert worker.answer({"op": "close", "key": "a"}, b"") == {"outcome": "ok"}
    assert worker.answer(run, b"")["outcome"] == "broken"


def test_kinds_of_databases_a_worker_opens(watched):
    worker = Worker(LIMITS)
    data = watched.sqlite.read_bytes()
    assert isinstance(worker._open("bytes", "", data), SqliteEngine)
    assert isinstance(worker._open("sqlite", str(watched.sqlite), b""), SqliteEngine)
    assert isinstance(worker._open("duckdb", str(watched.duckdb), b""), DuckDbEngine)
    with pytest.raises(DatabaseLost):
        worker._open("postgres", "host=127.0.0.1 port=1 user=nobody", b"")
    with pytest.raises(ValueError, match="no such kind"):
        worker._open("oracle", "", b"")
    with pytest.raises(sqlite3.Error):
        worker._open("bytes", "", b"SQLite format 3\x00" + bytes(5000))


def test_frames_carry_a_message_and_bytes():
    stream = io.BytesIO(wire.pack({"op": "x", "text": "é\udcff"}, b"abc"))
    assert wire.read(stream) == ({"op": "x", "text": "é\udcff"}, b"abc")
    with pytest.raises(EOFError):
        wire.read(stream)
