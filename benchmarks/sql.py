"""What hostile SQL achieves, and how fast queries are verified: `python -m benchmarks.sql [--json]`.

What is measured stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import duckdb

from benchmarks import hostile_sql
from benchmarks.postgres_server import postgres, programs
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.tools.sql.compare import Comparison
from rlfactory.envs.tools.sql.database import Database, DuckDbFile, PostgresServer, SqliteBytes, SqliteFile
from rlfactory.envs.tools.sql.rows import QueryFailed
from rlfactory.envs.tools.sql.workers import GRACE_S, SqlWorkers, SqlWorkersConfig

SECRET: Final = "the secret of the watched folder"
QUERY_TIMEOUT_S: Final = 1.0
SLACK_S: Final = 0.75
"""What a loaded machine may add to a deadline and its grace: a worker killed, the next one started."""
ITEMS: Final = [(number, f"item {number}", number * 1.5) for number in range(1, 201)]
CHECKSUM: Final = "SELECT count(*), sum(id), sum(price), min(name), max(name) FROM item"
IN_FLIGHT: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlFigures:
    """What `python -m benchmarks.sql` prints."""

    hostile: int
    """Statements, each on every engine it is meant for."""
    effects: int
    """Statements that changed a database or the host, read a secret, reached a port, or broke the next query."""
    late: int
    """Statements that did not end by their deadline."""
    slowest_s: float
    engines: tuple[str, ...]
    verifications_per_s: float
    """Small databases, four for each query, all of which are compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """What came of one statement."""

    sql: str
    wall_s: float
    late: bool
    effect: str
    """"" for none."""


class Watched:
    """A folder with a secret and databases, of which every change is noticed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "secret.txt").write_text(SECRET)
        (folder / "secret.csv").write_text(SECRET)
        self.sqlite = folder / "shop.db"
        self.duckdb = folder / "shop.duckdb"
        for path in (self.sqlite, folder / "other.db"):
            with sqlite3.connect(path) as connection:
                fill(connection)
            connection.close()
        with duckdb.connect(str(self.duckdb)) as other:
            fill(other)
        self.before = self.now()

    def now(self) -> dict[str, str]:
        """Return all files by name, and the names at the root, where workers are at home."""
        files = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.folder.iterdir() if path.is_file()
        }
        return files | {str(path): "" for path in Path("/").iterdir()}


def fill(connection: sqlite3.Connection | duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL)")
    connection.executemany("INSERT INTO item VALUES (?, ?, ?)", ITEMS)


async def attack(
    workers: SqlWorkers,
    database: Database,
    corpus: Sequence[str],
    watched: Watched,
    *,
    timeout_s: float = QUERY_TIMEOUT_S,
) -> list[Attack]:
    """Run the statements one after the other, and look around after each."""
    knocks = 0

    def knocked(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal knocks
        knocks += 1
        writer.close()

    server = await asyncio.start_server(knocked, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sound = await workers.run(database, CHECKSUM, timeout_s=10.0)
    attacks = []
    async with server:
        for template in corpus:
            sql = template
            for name, value in (("folder", watched.folder), ("port", port), ("database", watched.sqlite)):
                sql = sql.replace(f"{{{name}}}", str(value))
            started_s = time.perf_counter()
            answer, effect = "", ""
            try:
                answer = str(await workers.run(database, sql, timeout_s=timeout_s))
            except QueryFailed as failure:
                answer = failure.message
            except RLFactoryError as error:
                effect = f"the service was blamed: {error}"
            wall_s = time.perf_counter() - started_s
            if SECRET in answer:
                effect = "the secret was read"
            elif knocks:
                effect, knocks = "a port was reached", 0
            elif watched.now() != watched.before:
                effect, watched.before = "files changed", watched.now()
            elif await workers.run(database, CHECKSUM, timeout_s=10.0) != sound:
                effect = "the database changed"
            late = wall_s > timeout_s + GRACE_S + SLACK_S
            attacks.append(Attack(sql=sql, wall_s=wall_s, late=late, effect=effect))
    return attacks


@contextmanager
def targets(watched: Watched) -> Iterator[dict[str, tuple[Database, Sequence[str]]]]:
    """Give what there is to attack on this machine, by name."""
    with ExitStack() as stack:
        found: dict[str, tuple[Database, Sequence[str]]] = {
            "sqlite in memory": (SqliteBytes(watched.sqlite.read_bytes()), hostile_sql.SQLITE),
            "sqlite file": (SqliteFile(watched.sqlite), hostile_sql.SQLITE),
            "duckdb": (DuckDbFile(watched.duckdb), hostile_sql.DUCKDB),
        }
        if programs() is not None:
            server = stack.enter_context(postgres())
            fill_postgres(server.owner)
            found["postgres"] = (PostgresServer(server.reader), hostile_sql.POSTGRES)
        yield found


def fill_postgres(owner_dsn: str) -> None:
    """Make the tables, and the role `reader`."""
    import psycopg

    with psycopg.connect(owner_dsn) as connection:
        connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price FLOAT8)")
        connection.cursor().executemany("INSERT INTO item VALUES (%s, %s, %s)", ITEMS)
        connection.execute("CREATE SEQUENCE item_numbers")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        connection.execute("GRANT ALL ON item_numbers TO reader")


async def verifications_per_s(workers: SqlWorkers, count: int) -> float:
    """Verify so many queries, each on four databases that tell right from lucky, several in flight."""
    databases = [_shop(seed) for seed in range(4)]
    jobs = iter(range(count))

    async def verify() -> None:
        for number in jobs:
            limit = number % 50
            verdict = await workers.verify(
                databases,
                f"SELECT name, price FROM item WHERE price > {limit} AND id % 3 = {number % 3}",
                gold=f"SELECT i.name, i.price FROM item AS i WHERE NOT i.price <= {limit} AND i.id % 3 = {number % 3}",
                comparison=Comparison(),
                timeout_s=QUERY_TIMEOUT_S,
            )
            if not verdict.same:
                raise RuntimeError(f"a right query was found wrong: {verdict.reason}")

    await asyncio.gather(*(verify() for _ in range(IN_FLIGHT)))  # workers started, databases opened
    jobs = iter(range(count))
    started_s = time.perf_counter()
    await asyncio.gather(*(verify() for _ in range(IN_FLIGHT)))
    return count / (time.perf_counter() - started_s)


def _shop(seed: int) -> SqliteBytes:
    rng = random.Random(seed)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL)")
    connection.executemany(
        "INSERT INTO item VALUES (?, ?, ?)", [(n, f"item {n}", rng.randrange(10_000) / 100) for n in range(60)]
    )
    connection.commit()
    data = connection.serialize()
    connection.close()
    return SqliteBytes(data)


async def measure(verifications: int) -> tuple[SqlFigures, list[Attack]]:
    """Attack every engine there is, then verify."""
    attacks: list[Attack] = []
    engines = []
    with tempfile.TemporaryDirectory() as folder:
        watched = Watched(Path(folder))
        with targets(watched) as found:
            async with SqlWorkers(SqlWorkersConfig(workers=1)) as workers:
                for name, (database, corpus) in found.items():
                    engines.append(f"{name}: {len(corpus)}")
                    attacks += await attack(workers, database, corpus, watched)
    async with SqlWorkers() as workers:
        rate = await verifications_per_s(workers, verifications)
    figures = SqlFigures(
        hostile=len(attacks),
        effects=sum(bool(each.effect) for each in attacks),
        late=sum(each.late for each in attacks),
        slowest_s=round(max(each.wall_s for each in attacks), 3),
        engines=tuple(engines),
        verifications_per_s=round(rate, 1),
    )
    return figures, [each for each in attacks if each.effect or each.late]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sql", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--verifications", type=int, default=3_000)
    options = parser.parse_args()
    figures, bad = asyncio.run(measure(options.verifications))
    if options.json:
        print(json.dumps(asdict(figures)))
    else:
        for name, value in asdict(figures).items():
            print(f"{name:20} {', '.join(value) if isinstance(value, tuple) else value}")
    for each in bad:
        print(f"{each.effect or 'late'} ({each.wall_s:.2f} s): {each.sql[:100]!r}", file=sys.stderr)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
