"""Queries in processes: what they give, how they end, and what becomes of the process."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from rlfactory.envs.api.errors import EnvironmentFault, InfrastructureError
from rlfactory.envs.rewards.sql import EXECUTES, RIGHT, SEEN_RIGHT, SqlCheck
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.table import filled
from rlfactory.envs.tools.sql.compare import Comparison
from rlfactory.envs.tools.sql.database import SqliteBytes, SqliteFile, sqlite_database
from rlfactory.envs.tools.sql.limits import SqlLimits
from rlfactory.envs.tools.sql.rows import FailureKind, QueryFailed
from rlfactory.envs.tools.sql.tool import SqlTool, sql_tool
from rlfactory.envs.tools.sql.workers import SqlWorkers, SqlWorkersConfig
from rlfactory.envs.tools.tool import CallContext, Rejected, ToolContext, ToolError
from tests.family import family, lives

WORKER = "rlfactory.envs.tools.sql.worker"

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
UNSTOPPABLE = (
    "SELECT instr(hex(zeroblob(499000)), replace(hex(zeroblob(120000)), '00', '0') || '1') FROM item, item, item"
)


def shop(*items: tuple[int, object, float]) -> SqliteBytes:
    return filled(
        "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL)", (("item", each) for each in items)
    )


SHOP = shop(*((n, f"item {n}", n * 1.5) for n in range(1, 101)))


@pytest.fixture
async def workers() -> AsyncIterator[SqlWorkers]:
    async with SqlWorkers(SqlWorkersConfig(workers=1)) as made:
        yield made


async def failure(workers: SqlWorkers, sql: str, *, timeout_s: float = 5.0) -> QueryFailed:
    with pytest.raises(QueryFailed) as caught:
        await workers.run(SHOP, sql, timeout_s=timeout_s)
    return caught.value


async def test_rows_come_with_names_and_every_type(workers):
    rows = await workers.run(
        SHOP, "SELECT 1 AS one, 1.5 AS half, 'é' AS text, NULL AS none, x'00' AS bytes", timeout_s=5
    )
    assert rows.columns == ("one", "half", "text", "none", "bytes")
    assert rows.rows == ((1, 1.5, "é", None, "\udcffx'00'"),)
    schema = await workers.run(SHOP, "SELECT name FROM pragma_table_info('item')", timeout_s=5)
    assert schema.rows == (("id",), ("name",), ("price",))
    assert (await workers.run(SHOP, "PRAGMA table_info(item)", timeout_s=5)).rows[1][1] == "name"


async def test_text_that_is_not_utf8_is_shown_all_the_same(workers):
    assert (await workers.run(SHOP, "SELECT CAST(x'ff41' AS TEXT)", timeout_s=5)).rows == (("\ufffdA",),)


async def test_rows_are_cut_at_the_limit_and_say_so(workers):
    rows = await workers.run(SHOP, "SELECT id FROM item", timeout_s=5, max_rows=3)
    assert (rows.rows, rows.truncated) == (((1,), (2,), (3,)), True)
    all_rows = await workers.run(SHOP, "SELECT id FROM item LIMIT 3", timeout_s=5, max_rows=3)
    assert not all_rows.truncated
    wide = await workers.run(SHOP, "SELECT hex(zeroblob(400000)) FROM item", timeout_s=5)
    assert wide.truncated and len(wide.rows) == 5


async def test_mistakes_have_words_for_their_author(workers):
    assert (await failure(workers, "SELECT colour FROM item")).message == "no such column: colour"
    refused = await failure(workers, "DELETE FROM item")
    assert (refused.kind, refused.message) == (FailureKind.REFUSED, "DELETE is not allowed: queries may only read")
    assert (await failure(workers, "SELECT 1; SELECT 2")).message == "there is more than one statement; give one query"
    assert (await failure(workers, "-- nothing")).message == "it is no query: it has no columns"
    assert "at most 20000 are allowed" in (await failure(workers, "SELECT 1" + " " * 20_000)).message
    assert (await failure(workers, "SELECT zeroblob(2000000000)")).kind is FailureKind.TOO_LARGE


async def test_a_late_query_is_stopped_and_its_process_goes_on(workers):
    assert (await failure(workers, ENDLESS, timeout_s=0.1)).kind is FailureKind.TIMEOUT
    assert (await workers.run(SHOP, "SELECT 1", timeout_s=5)).rows == ((1,),)
    assert workers.started == 1


async def test_a_query_that_cannot_be_stopped_is_killed_and_the_next_one_works(workers):
    await workers.run(SHOP, "SELECT 1", timeout_s=5)
    late = await failure(workers, UNSTOPPABLE.replace("item, item, item", "item a, item b, item c"), timeout_s=0.1)
    assert late.kind is FailureKind.TIMEOUT and late.message.endswith("was killed")
    assert (await workers.run(SHOP, "SELECT count(*) FROM item", timeout_s=5)).rows == ((100,),)
    assert workers.started == 2


async def test_cancelling_a_query_ends_its_process(workers, eventually):
    await workers.run(SHOP, "SELECT 1", timeout_s=5)
    (process,) = family(WORKER)
    used_s = process.cpu_times().user
    query = asyncio.create_task(workers.run(SHOP, ENDLESS, timeout_s=60))
    await eventually(lambda: process.cpu_times().user > used_s)
    query.cancel()
    with pytest.raises(asyncio.CancelledError):
        await query
    await eventually(lambda: not lives(process))
    assert (await workers.run(SHOP, "SELECT 1", timeout_s=5)).rows == ((1,),)


async def test_a_worker_that_dies_by_itself_costs_nobody_a_query(workers):
    await workers.run(SHOP, "SELECT 1", timeout_s=5)
    (process,) = family(WORKER)
    process.kill()
    process.wait()
    assert (await workers.run(SHOP, "SELECT 1", timeout_s=5)).rows == ((1,),)


async def test_workers_end_with_their_pool():
    async with SqlWorkers() as workers:
        await asyncio.gather(*(workers.run(SHOP, "SELECT 1", timeout_s=5) for _ in range(8)))
        assert len(family(WORKER)) == 2
    assert family(WORKER) == []
    with pytest.raises(InfrastructureError, match="closed"):
        await workers.run(SHOP, "SELECT 1", timeout_s=5)


async def test_a_worker_can_open_nothing(workers):
    await workers.run(SHOP, "SELECT 1", timeout_s=5)
    (process,) = family(WORKER)
    limits, status, open_numbers = _facts(process)
    assert "Max open files            3 " in limits
    assert "Max file size             0                    0 " in limits
    assert "NoNewPrivs:\t1" in status
    assert set(process.environ()) <= {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LC_ALL", "LC_CTYPE"}
    assert open_numbers == ["0", "1", "2"]


async def test_slow_queries_give_way_to_quick_ones(workers):
    await failure(workers, ENDLESS, timeout_s=0.3)  # begun as a quick one
    assert sorted(process.nice() for process in family(WORKER)) == [psutil.Process().nice() + n for n in (0, 5)]


async def test_databases_are_kept_open_up_to_the_limit():
    databases = [shop((1, f"shop {number}", 1.0)) for number in range(5)]
    async with SqlWorkers(SqlWorkersConfig(workers=1, max_databases=2)) as workers:
        for _ in range(2):
            for number, database in enumerate(databases):
                rows = await workers.run(database, "SELECT name FROM item", timeout_s=5)
                assert rows.rows == ((f"shop {number}",),)


async def test_a_file_is_read_without_being_touched(workers, tmp_path):
    path = tmp_path / "shop ?#%.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE item (id INTEGER)")
        connection.execute("INSERT INTO item VALUES (7)")
    connection.close()
    before = path.stat()
    assert isinstance(sqlite_database(path), SqliteBytes)
    for database in (sqlite_database(path), SqliteFile(path)):
        assert (await workers.run(database, "SELECT id FROM item", timeout_s=5)).rows == ((7,),)
    assert (path.stat().st_mtime_ns, [each.name for each in tmp_path.iterdir()]) == (before.st_mtime_ns, [path.name])


async def test_what_is_no_database_is_the_tasks_fault(workers, tmp_path):
    with pytest.raises(ValueError, match="no SQLite database"):
        SqliteBytes(b"hello")
    with pytest.raises(EnvironmentFault, match="does not open"):
        await workers.run(SqliteBytes(b"SQLite format 3\x00" + bytes(5000)), "SELECT 1", timeout_s=5)
    path = tmp_path / "text.db"
    path.write_text("hello, this is no database at all" * 100)
    with pytest.raises(EnvironmentFault, match="does not open"):
        await workers.run(SqliteFile(path), "SELECT 1", timeout_s=5)
    assert (await workers.run(SHOP, "SELECT 1", timeout_s=5)).rows == ((1,),)


def _facts(process: psutil.Process) -> tuple[str, str, list[str]]:
    """Return a process's limits, its status, and the numbers of what it has open."""
    place = Path(f"/proc/{process.pid}")
    numbers = sorted(each.name for each in (place / "fd").iterdir())
    return (place / "limits").read_text(), (place / "status").read_text(), numbers


# --- verifying -------------------------------------------------------------------------------------------------------


async def test_a_lucky_query_fails_on_another_database(workers):
    seen, other = shop((1, "pen", 2.0), (2, "ink", 3.0)), shop((1, "pen", 4.0), (2, "ink", 3.0))
    gold = "SELECT name FROM item ORDER BY price DESC LIMIT 1"

    async def verdict(sql: str):
        return await workers.verify([seen, other], sql, gold=gold, comparison=Comparison(), timeout_s=5)

    assert (await verdict("SELECT name FROM item WHERE price = (SELECT max(price) FROM item)")).same
    lucky = await verdict("SELECT 'ink'")
    assert (lucky.same, lucky.database, lucky.reason, lucky.failure) == (False, 1, "the values differ", None)
    broken = await verdict("SELECT nme FROM item")
    assert (broken.same, broken.failure, broken.reason) == (False, FailureKind.ERROR, "no such column: nme")
    assert (await verdict("x" * 30_000)).failure is FailureKind.REFUSED


async def test_the_scores_say_how_far_a_query_came():
    seen, other = shop((1, "pen", 2.0)), shop((1, "ink", 4.0))
    check = SqlCheck(gold="SELECT name FROM item", databases=(seen, other))
    async with Services(SqlWorkers(SqlWorkersConfig(workers=1))) as services:
        assert await check.scores("```sql\nSELECT name FROM item;\n```", services) == {
            EXECUTES: 1.0,
            SEEN_RIGHT: 1.0,
            RIGHT: 1.0,
        }
        assert await check.scores("SELECT 'pen'", services) == {EXECUTES: 1.0, SEEN_RIGHT: 1.0, RIGHT: 0.0}
        assert await check.scores("SELECT 'ink'", services) == {EXECUTES: 1.0, SEEN_RIGHT: 0.0, RIGHT: 0.0}
        assert await check.scores("DROP TABLE item", services) == {EXECUTES: 0.0, SEEN_RIGHT: 0.0, RIGHT: 0.0}


async def test_a_broken_gold_query_is_the_tasks_fault(workers):
    for gold in ("SELECT colour FROM item", "SELECT a.id FROM item a, item b, item c"):
        with pytest.raises(EnvironmentFault, match="the gold query"):
            await workers.verify([SHOP], "SELECT 1", gold=gold, comparison=Comparison(), timeout_s=5)
    with pytest.raises(EnvironmentFault, match="no database"):
        await workers.verify([], "SELECT 1", gold="SELECT 1", comparison=Comparison(), timeout_s=5)


# --- the tool --------------------------------------------------------------------------------------------------------


async def test_the_tool_shows_rows_and_explains_failures():
    async with Services(SqlWorkers(SqlWorkersConfig(workers=1))) as services:
        tool = sql_tool(SHOP, timeout_s=0.2)(ToolContext(services=services))
        assert isinstance(tool, SqlTool)

        async def ask(query: str) -> str:
            return await tool.call({"query": query}, CallContext(timeout_s=5))

        assert await ask("SELECT id, name FROM item LIMIT 2;") == "id | name\n1 | item 1\n2 | item 2\n(2 rows)"
        assert (await ask("SELECT NULL AS a, x'01', 1.50, 'a\nb'")).splitlines()[1] == "NULL | x'01' | 1.5 | a\\nb"
        assert (await ask("SELECT id FROM item")).endswith("(the first 50 rows; there are more)")
        with pytest.raises(Rejected, match="DELETE is not allowed"):
            await ask("DELETE FROM item")
        with pytest.raises(Rejected, match='near "item": syntax error'):
            await ask("SELECT id FORM item WHERE")
        with pytest.raises(TimeoutError, match=r"within 0\.2 seconds"):
            await ask(ENDLESS)
        with pytest.raises(ToolError, match="more memory"):
            await ask("SELECT zeroblob(2000000000)")
        with pytest.raises(Rejected, match="unknown argument"):
            await tool.call({"sql": "x"}, CallContext(timeout_s=5))
        assert await tool.fork(ToolContext(services=services)).call(
            {"query": "SELECT 1"}, CallContext(timeout_s=5)
        ) == ("1\n1\n(1 row)")


def test_limits_make_sense():
    with pytest.raises(ValueError, match="max_rows must be above 0"):
        SqlLimits(max_rows=0)
    with pytest.raises(ValueError, match="at least 1"):
        SqlWorkersConfig(workers=0)
