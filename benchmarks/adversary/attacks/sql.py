"""What a model can ask of databases."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from benchmarks.adversary.arena import HONEST, TEXT, Arena, call, text_of
from benchmarks.adversary.attack import Broke, Skipped, attack, require
from benchmarks.hostile_sql import SQLITE
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import EpisodeState, SessionOptions

TASK = "text2sql.select"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n WHERE x < {}"
OF_THE_QUERY = ("rejected", "error", "timeout")


async def _blames_query(arena: Arena, task: str, queries: Sequence[str], option: SessionOptions = TEXT) -> str:
    """Raises: Broke: a query came back as anything but its own mistake."""
    async with arena.client() as client:
        for query in queries:
            async with client.session(task, seed=1, options=option) as session:
                said = await text_of(session, "sql", query=query)
                require(said.startswith(("ok", *OF_THE_QUERY)), f"{query[:50]}: {said[:100]}")
                said = await text_of(session, "sql", query="SELECT 1 + 1")
                require(said.startswith("ok"), f"after {query[:50]}: {said[:100]}")
    return f"{len(queries)} queries: their own mistake each"


@attack("a quick query of another session within a second", limit_s=60)
async def slow_neighbours(arena: Arena) -> str:
    """Keep four sessions busy with eight endless queries a turn."""
    async with arena.client() as hostile, arena.client(HONEST) as honest:
        stop = asyncio.Event()

        async def bully(seed: int) -> None:
            async with hostile.session(TASK, seed=seed, options=TEXT) as session:
                while not (stop.is_set() or session.over):
                    await session.step([call("sql", n, query=ENDLESS.format(-seed * 99 - n)) for n in range(8)])

        async with honest.session(TASK, seed=99, options=TEXT) as session:
            await text_of(session, "sql", query="SELECT 0")
            bullies = [asyncio.create_task(bully(seed)) for seed in range(4)]
            await asyncio.sleep(1.0)
            took = []
            try:
                for n in range(3):
                    begun_s = time.monotonic()
                    said = await text_of(session, "sql", query=f"SELECT {n} + 1")
                    took.append(time.monotonic() - begun_s)
                    require(said.startswith("ok"), f"SELECT 1 gave {said[:100]}")
                    arena.require_soon(took[-1], 1.0, "SELECT 1")
            finally:
                for each in bullies:
                    each.cancel()
                await asyncio.gather(*bullies, return_exceptions=True)
    return f"the slowest of 3 took {max(took):.2f} s"


@attack("the query's mistake, not the environment's")
async def deep_json(arena: Arena) -> str:
    """Have SQLite read JSON nested 100 to 10,000 deep."""
    depths = (100, 999, 1001, 2500, 9000)
    queries = [f"SELECT json('{'[' * depth}') FROM no_such" if depth == 100 else f"SELECT json('{'[' * depth}')"
               for depth in depths]  # fmt: skip
    return await _blames_query(arena, TASK, queries)


@attack("the query's mistake, not the environment's")
async def odd_values(arena: Arena) -> str:
    """Have SQLite give what has no place in JSON or in Python: invalid UTF-8, infinities, strange names of columns."""
    async with arena.client() as client:
        for query in (
            "SELECT CAST(x'eda080' AS TEXT)", "SELECT 9e999, -9e999", "SELECT x'ff' AS \"\U0010ffff\"",
            "SELECT 1 AS \"a\nb|c\"", "SELECT CAST(x'c328a0a1' AS TEXT) AS \"x\"", "SELECT char(55296), char(0)",
        ):  # fmt: skip
            async with client.session(TASK, seed=1, options=TEXT) as session:
                said = await text_of(session, "sql", query=query)
                require(said.startswith(("ok", *OF_THE_QUERY)), f"{query}: {said[:100]}")
    return "shown or refused, each"


@attack("the query's mistake, not the infrastructure's")
async def memory_bombs(arena: Arena) -> str:
    """Ask SQLite for values and results that are larger than its memory."""
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 90000000)"
    queries = (
        "SELECT zeroblob(2000000000)", "SELECT replace(hex(zeroblob(400000)), '0', hex(zeroblob(400000)))",
        f"{numbers} SELECT group_concat(printf('%0900d', x)) FROM n", f"{numbers} SELECT json_group_array(x) FROM n",
    )  # fmt: skip
    return await _blames_query(arena, TASK, queries)


@attack("every statement refused, the database as it was", limit_s=60)
async def hostile_statements(arena: Arena) -> str:
    """Send every statement of `benchmarks.hostile_sql` that wants to change something."""
    writes = (
        "INSERT",
        "UPDATE",
        "DELETE",
        "REPLACE",
        "DROP",
        "ALTER",
        "CREATE",
        "ATTACH",
        "VACUUM",
        "REINDEX",
        "DETACH",
    )
    statements = [each for each in SQLITE if each.startswith(writes)]
    async with arena.client() as client:
        refused = 0
        for begin in range(0, len(statements), 30):
            async with client.session(TASK, seed=1, options=TEXT) as session:
                some = statements[begin : begin + 30]
                result = await session.step([call("sql", n, query=each) for n, each in enumerate(some)])
                for statement, each in zip(some, result.results, strict=True):
                    require(each.status == "rejected", f"{statement[:60]}: {each.status} {each.text[:60]}")
                    refused += 1
                said = await text_of(session, "sql", query="SELECT count(*) > 0 FROM sqlite_schema")
                require(said.startswith("ok"), f"afterwards: {said[:80]}")
    return f"{refused} statements refused"


@attack("finished with a reward of 0; never void", limit_s=60)
async def endless_answer(arena: Arena) -> str:
    """Finish with an endless query as the answer, with a step's time of 4 and of 30 s."""
    for timeout_s in (4.0, 30.0):
        option = SessionOptions(with_image=False, step_timeout_s=timeout_s)
        async with arena.session(TASK, options=option) as session:
            try:
                result = await session.step([call("finish", answer=ENDLESS.format(-timeout_s))])
            except RLFactoryError as error:
                raise Broke(f"step of {timeout_s:g} s: {error.blame}: {error}") from None
            require(result.state is EpisodeState.FINISHED, f"the episode is {result.state}")
            require(result.reward.total == 0, f"reward {result.reward.total}")
    return "finished, reward 0"


@attack("the query's mistake, not the infrastructure's")
async def postgres_parameters(arena: Arena) -> str:
    """Ask PostgreSQL for $1, and for what ends its session's statements."""
    _needs_postgres(arena)
    return await _blames_query(arena, "arena.postgres", ("SELECT $1", "SELECT $1::int + $2", "FETCH ALL FROM rows", ""))


@attack("the query's mistake, not the infrastructure's")
async def postgres_cursors(arena: Arena) -> str:
    """Have PostgreSQL's XML functions walk cursors and queries of their own."""
    _needs_postgres(arena)
    queries = (
        "SELECT cursor_to_xml('rows', 10, false, false, '')", "SELECT cursor_to_xml('rows', 0, true, true, 'x')",
        "SELECT query_to_xml('DELETE FROM pg_class', false, false, '')",
    )  # fmt: skip
    return await _blames_query(arena, "arena.postgres", queries)


@attack("the query's mistake, not the infrastructure's")
async def postgres_nesting(arena: Arena) -> str:
    """Have PostgreSQL read JSON, expressions and patterns nested thousands deep."""
    _needs_postgres(arena)
    queries = (
        f"SELECT '{'[' * 19_000}'::json", f"SELECT {'(' * 9_000}1{')' * 9_000}", f"SELECT {'-' * 1}{'- ' * 9_000}1",
        f"SELECT 'a' ~ '{'(' * 9_000}a{')' * 9_000}'",
    )  # fmt: skip
    return await _blames_query(arena, "arena.postgres", queries)


@attack("the query's mistake, and the next query is answered")
async def postgres_suicide(arena: Arena) -> str:
    """Have PostgreSQL end the session that asks, change its settings, and sleep for an hour."""
    _needs_postgres(arena)
    queries = ("SELECT pg_terminate_backend(pg_backend_pid())", "SELECT pg_sleep(3600)",
               "SELECT pg_cancel_backend(pg_backend_pid())")  # fmt: skip
    return await _blames_query(arena, "arena.postgres", queries)


def _needs_postgres(arena: Arena) -> None:
    if not arena.postgres:
        raise Skipped("PostgreSQL is not installed")
