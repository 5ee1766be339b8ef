"""What the extra `tools` adds: DuckDB, PostgreSQL, words from sqlglot; and hostile statements on every engine."""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("psycopg")
pytest.importorskip("sqlglot")

from benchmarks import hostile_sql
from benchmarks.postgres_server import postgres, programs
from benchmarks.sql import Watched, attack, fill_postgres, verifications_per_s
from rlfactory.envs.api.errors import EnvironmentFault, InfrastructureError
from rlfactory.envs.tools.sql.compare import Comparison
from rlfactory.envs.tools.sql.database import Database, DuckDbFile, PostgresServer, SqliteBytes, SqliteFile
from rlfactory.envs.tools.sql.rows import FailureKind, QueryFailed
from rlfactory.envs.tools.sql.statement import bare, explained, is_ordered
from rlfactory.envs.tools.sql.workers import SqlWorkers, SqlWorkersConfig

TIMEOUT_S = 0.2


@pytest.fixture
async def workers() -> AsyncIterator[SqlWorkers]:
    async with SqlWorkers(SqlWorkersConfig(workers=1)) as made:
        yield made


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.mark.postgres
@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
async def test_a_server_ends_with_who_started_it_however_that_ends(eventually):
    program = "import time\nfrom benchmarks.postgres_server import postgres\nwith postgres() as server:\n"
    program += "    print(server.owner.split()[1].removeprefix('port='), flush=True)\n    time.sleep(600)"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE)
    assert child.stdout is not None
    port = int(await child.stdout.readline())
    with socket.create_connection(("127.0.0.1", port)):
        child.kill()
        await child.wait()

    def is_gone() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    await eventually(is_gone)


@pytest.mark.parametrize("kind", ["memory", "duckdb"])
async def test_hostile_statements_have_no_effect_and_end_in_time(workers, watched, kind):
    database: Database = SqliteBytes(watched.sqlite.read_bytes())
    corpus = hostile_sql.SQLITE
    if kind == "duckdb":
        database, corpus = DuckDbFile(watched.duckdb), hostile_sql.DUCKDB
    attacks = await attack(workers, database, corpus, watched, timeout_s=TIMEOUT_S)
    assert len(set(corpus)) == len(corpus) >= (60 if kind == "memory" else 30)
    assert [(each.effect, each.sql) for each in attacks if each.effect] == []
    assert [(each.wall_s, each.sql) for each in attacks if each.wall_s > TIMEOUT_S + 5] == []


async def test_statements_that_want_other_files_get_none_from_a_file(workers, watched):
    corpus = [sql for sql in hostile_sql.SQLITE if "{" in sql]
    attacks = await attack(workers, SqliteFile(watched.sqlite), corpus, watched, timeout_s=TIMEOUT_S)
    assert [(each.effect, each.sql) for each in attacks if each.effect] == []


async def test_duckdb_gives_its_types_as_plain_values(workers, watched):
    database = DuckDbFile(watched.duckdb)
    sql = "SELECT 1.50::DECIMAL(4, 2), DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03', [1, 2], true, 'x'::BLOB"
    rows = await workers.run(database, sql, timeout_s=5)
    assert rows.rows == ((1.5, "2024-02-29", "2024-02-29 01:02:03", "[1, 2]", True, "\udcffx'78'"),)
    verdict = await workers.verify(
        [database], "FROM item SELECT count(*)", gold="SELECT 200", comparison=Comparison(), timeout_s=5
    )
    assert verdict.same
    with pytest.raises(QueryFailed, match="DELETE is not allowed") as caught:
        await workers.run(database, "DELETE FROM item", timeout_s=5)
    assert caught.value.kind is FailureKind.REFUSED


async def test_small_databases_are_verified_fast(workers):
    assert await verifications_per_s(workers, 100) > 50


@pytest.mark.postgres
@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
async def test_postgres_reads_and_nothing_else(workers, watched):
    with postgres() as server:
        fill_postgres(server.owner)
        database = PostgresServer(server.reader)
        rows = await workers.run(database, "SELECT id, price::numeric FROM item ORDER BY id LIMIT 2", timeout_s=5)
        assert rows.rows == ((1, 1.5), (2, 3.0))
        lasting = [sql for sql in hostile_sql.POSTGRES if "pg_sleep" not in sql]
        attacks = await attack(workers, database, lasting, watched, timeout_s=TIMEOUT_S)
        assert [(each.effect, each.sql) for each in attacks if each.effect] == []
        with pytest.raises(EnvironmentFault, match="superuser"):
            await workers.run(PostgresServer(server.owner), "SELECT 1", timeout_s=5)
    with pytest.raises(InfrastructureError, match="a database server"):
        await workers.run(database, "SELECT 1", timeout_s=5)


def test_what_sqlglot_knows_of_a_query():
    assert is_ordered("SELECT a FROM t ORDER BY a", "sqlite")
    assert is_ordered("(SELECT a FROM t ORDER BY a)", "sqlite")
    assert is_ordered("WITH x AS (SELECT 1) SELECT * FROM x UNION SELECT 2 ORDER BY 1", "postgres")
    assert not is_ordered("SELECT a FROM (SELECT a FROM t ORDER BY a)", "duckdb")
    with pytest.raises(ValueError, match="no query of sqlite"):
        is_ordered("SELECT (", "sqlite")
    assert "line 1, column" in explained("syntax error", "SELECT a FROM t WHERE (a = 1", "sqlite")
    assert explained("no such column: b", "SELECT b", "sqlite") == "no such column: b"
    assert explained("syntax error", "SELECT 1", "sqlite") == "syntax error"


@pytest.mark.parametrize("text", ["SELECT 1", " SELECT 1 ; ", "```sql\nSELECT 1;\n```", "```\nSELECT 1\n```"])
def test_the_query_of_an_answer(text):
    assert bare(text) == "SELECT 1"
