"""A pool of prepared processes that run queries. Whatever a query does, it ends by its deadline: with its process."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import DEVNULL
from collections import OrderedDict
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Self

from rlfactory.envs.api.errors import EnvironmentFault, InfrastructureError
from rlfactory.envs.service.services import SESSION, TENANT
from rlfactory.envs.tools.runtime.fair_places import FairPlaces
from rlfactory.envs.tools.runtime.threads import in_thread
from rlfactory.envs.tools.sql.compare import Comparison
from rlfactory.envs.tools.sql.database import Database, Dialect, DuckDbFile, PostgresServer, SqliteBytes, SqliteFile
from rlfactory.envs.tools.sql.limits import SqlLimits
from rlfactory.envs.tools.sql.rows import FailureKind, QueryFailed, Rows
from rlfactory.envs.tools.sql.statement import explained
from rlfactory.envs.tools.sql.wire import LENGTHS, MAX_HEADER_BYTES, Message, pack
from rlfactory.processes.child import Child
from rlfactory.processes.errors import ProcessError, ProgramEnded

ROOT: Final = Path(__file__).parents[4]
GRACE_S: Final = 0.25
"""A worker stops a late query by itself where it can, and says so; after this much longer it is killed."""
QUICK_S: Final = 0.25
"""Of a query's time: what has not ended by then goes on, from its beginning, beside others that are slow."""
SLOW_NICE: Final = 5
"""Queries that take long give way to the service and to quick ones, once their worker has come up. No more than that:
on a machine that is busy they still have to end in their time."""
CRASHES: Final = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
START_TIMEOUT_S: Final = 30.0
OPEN_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlWorkersConfig:
    """How many processes, and what they hold."""

    workers: int = 2
    """Processes that run queries side by side; as many again for those that take long, if there are such."""
    workers_of_tenant: int | None = None
    """Of these, for one tenant at a time, and of those for what takes long; None: all."""
    max_databases: int = 64
    """Kept open in each; the one not used for longest is closed first."""
    max_database_bytes: int = 128 << 20
    """Of databases held in memory by each."""
    limits: SqlLimits = field(default_factory=SqlLimits)

    def __post_init__(self) -> None:
        if min(self.workers, self.max_databases, self.max_database_bytes) < 1:
            raise ValueError("workers, max_databases and max_database_bytes must be at least 1")


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlVerdict:
    """Whether a query gives what the gold query gives, on every database."""

    same: bool
    database: int
    """The first that told them apart; how many there are if none did."""
    reason: str = ""
    """Why not, in words for a report."""
    failure: FailureKind | None = None
    """Set if the query gave no rows."""


class WorkerDied(Exception):
    """The process ended or was killed in the middle of a request."""

    def __init__(self, message: str, exit_code: int = 0) -> None:
        super().__init__(message)
        self.crashed = -exit_code in CRASHES
        """It ended by a fault of its own, not because somebody killed it."""


class SqlWorkers:
    """Runs queries of models. Workers are started when they are first needed; `close` ends them."""

    def __init__(self, config: SqlWorkersConfig | None = None) -> None:
        self.config = config or SqlWorkersConfig()
        self._quick = _Lane(self.config, niceness=0)
        self._slow = _Lane(self.config, niceness=SLOW_NICE)
        self._parsing = False

    @property
    def started(self) -> int:
        """Processes so far: what is above `config.workers` replaced others, or runs what is slow."""
        return self._quick.started + self._slow.started

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, database: Database, sql: str, *, timeout_s: float, max_rows: int | None = None) -> Rows:
        """Return the rows of one query.

        Raises:
            QueryFailed: refused, wrong, late or too large: the query's fault.
            EnvironmentFault: the database does not open.
            InfrastructureError: no worker could be started, or two died of other causes.
        """
        self._require_short(sql)
        limit = min(max_rows or self.config.limits.max_rows, self.config.limits.max_rows)
        message = {"op": "run", "sql": sql, "timeout_s": timeout_s, "max_rows": limit}
        answer = await self._ask((database,), message, timeout_s=timeout_s)
        return Rows(
            columns=tuple(answer["columns"]), rows=tuple(map(tuple, answer["rows"])), truncated=answer["truncated"]
        )

    async def verify(
        self, databases: Sequence[Database], sql: str, *, gold: str, comparison: Comparison, timeout_s: float
    ) -> SqlVerdict:
        """Tell whether a query gives what the gold query gives on all databases; it has `timeout_s` on each.

        Raises: EnvironmentFault: a database does not open, or the gold query fails. InfrastructureError: see `run`.
        """
        if not databases:
            raise EnvironmentFault("there is no database to verify a query on")
        try:
            self._require_short(sql)
            message = {
                "op": "verify",
                "keys": [each.key for each in databases],
                "sql": sql,
                "gold": gold,
                "comparison": asdict(comparison),
                "timeout_s": timeout_s,
            }
            answer = await self._ask(databases, message, timeout_s=2 * timeout_s * len(databases))
        except QueryFailed as failure:
            return SqlVerdict(same=False, database=0, reason=failure.message, failure=failure.kind)
        return SqlVerdict(
            same=answer["same"],
            database=answer["database"],
            reason=answer["reason"],
            failure=FailureKind(answer["kind"]) if answer["kind"] else None,
        )

    async def explained(self, message: str, sql: str, dialect: Dialect) -> str:
        """As `statement.explained`, beside the event loop. While one query is parsed, others get the bare message."""
        if self._parsing:
            return message
        self._parsing = True

        def parse() -> str:
            try:
                return explained(message, sql, dialect)
            finally:
                self._parsing = False

        return await in_thread(parse)

    async def close(self) -> None:
        """End all workers. Idempotent."""
        await asyncio.gather(self._quick.close(), self._slow.close())

    def _require_short(self, sql: str) -> None:
        limit = self.config.limits.max_sql_chars
        if len(sql) > limit:
            raise QueryFailed(FailureKind.REFUSED, f"the query has {len(sql)} characters; at most {limit} are allowed")
        if "\0" in sql or not _is_encodable(sql):
            raise QueryFailed(FailureKind.REFUSED, "the query holds a character that no query can have")

    async def _ask(self, databases: Sequence[Database], message: Message, *, timeout_s: float) -> Message:
        """Put a request to the quick lane; what does not end there soon has the rest of its time in the slow
        one. So nobody's quick query waits for anybody's slow one."""
        query_s = message["timeout_s"]
        answer: Message | None = None
        try:
            quick = {**message, "timeout_s": min(query_s, QUICK_S)}
            answer = await self._quick.ask(databases, quick, timeout_s=min(timeout_s, QUICK_S * timeout_s / query_s))
        except QueryFailed as failure:
            if query_s <= QUICK_S or failure.kind is not FailureKind.TIMEOUT:
                raise
        if answer is None or (query_s > QUICK_S and _is_late(answer)):
            slow = {**message, "timeout_s": query_s - QUICK_S}
            answer = await self._slow.ask(databases, slow, timeout_s=timeout_s)
        match answer["outcome"]:
            case "ok":
                return answer
            case "failed":
                raise QueryFailed(FailureKind(answer["kind"]), answer["message"])
            case _:
                raise EnvironmentFault(f"the database of the task: {answer['message']}")


def _is_late(answer: Message) -> bool:
    """Tell whether a query, or the gold query of a verdict, needs more time."""
    return answer["outcome"] == "broken" or answer.get("kind") == FailureKind.TIMEOUT.value


class _Lane:
    """Worker processes and who waits for them: of sessions that wait, the one that has used them least is next."""

    def __init__(self, config: SqlWorkersConfig, *, niceness: int) -> None:
        self.started = 0
        self._config = config
        self._niceness = niceness
        self._places = FairPlaces(config.workers, most_of_one=config.workers_of_tenant)
        self._idle: list[_Process] = []
        self._starting: list[asyncio.Task[_Process]] = []
        self._work: set[asyncio.Task[None]] = set()
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        idle, self._idle = self._idle, []
        started = await asyncio.gather(*self._starting, return_exceptions=True)
        idle += [process for process in started if isinstance(process, _Process)]
        await asyncio.gather(*self._work, *(process.kill() for process in idle))

    async def ask(self, databases: Sequence[Database], message: Message, *, timeout_s: float) -> Message:
        """Put one request to a worker; once more to a fresh one if that died or lost its server by itself.

        Raises: QueryFailed: late; or it ended two engines in a row. InfrastructureError, EnvironmentFault.
        """
        lost = ""
        while True:
            try:
                async with self._worker(databases[0].key) as process:
                    for database in databases:
                        await process.open(database)
                    request = {**message, "key": databases[0].key}
                    answer = await process.ask(request, timeout_s=timeout_s + GRACE_S)
                    if answer["outcome"] != "lost":
                        return answer
                    await process.forget(databases[0].key)
                    if lost:
                        raise QueryFailed(FailureKind.ERROR, f"it ended its connection twice: {answer['message']}")
                    lost = answer["message"]
            except TimeoutError:
                words = f"the query did not end within {message['timeout_s']:g} seconds, and was killed"
                raise QueryFailed(FailureKind.TIMEOUT, words) from None
            except WorkerDied as error:
                if not lost:
                    lost = str(error)
                elif error.crashed:
                    raise QueryFailed(FailureKind.ERROR, f"it ended the database engine twice: {error}") from None
                else:
                    raise InfrastructureError(f"two SQL workers died in a row: {error}") from None

    @asynccontextmanager
    async def _worker(self, key: str) -> AsyncIterator[_Process]:
        """Hold a worker, one that has the database if there is; one that has not answered is killed, and replaced."""
        async with self._places.place(TENANT.get(), SESSION.get()):
            if self._closed:
                raise InfrastructureError("the SQL workers are closed")
            process = self._pick(key) or await self._begun()
            try:
                yield process
            finally:
                if process.answered and not self._closed:
                    self._idle.append(process)
                else:
                    self._keep(process.kill())  # not waited for: giving back its memory may take the kernel a while
                    if not self._closed:
                        self._starting.append(asyncio.create_task(self._start()))

    def _pick(self, key: str) -> _Process | None:
        if not self._idle:
            return None
        index = next((i for i, process in enumerate(self._idle) if process.has(key)), len(self._idle) - 1)
        return self._idle.pop(index)

    async def _begun(self) -> _Process:
        """Return a process that is being started as another's replacement, or else start one."""
        starting = self._starting.pop() if self._starting else asyncio.create_task(self._start())
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._starting.append(starting)
            raise

    async def _start(self) -> _Process:
        self.started += 1
        return await _Process.start(self._config, niceness=self._niceness)

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        """Run to its end, which `close` waits for."""
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)


class _Process:
    """One worker process and what is open in it."""

    def __init__(self, child: Child, config: SqlWorkersConfig) -> None:
        self.answered = True
        """No request is under way."""
        self._child = child
        self._config = config
        self._open: OrderedDict[str, int] = OrderedDict()
        """Bytes in memory of each open database, the last used one last."""

    @classmethod
    async def start(cls, config: SqlWorkersConfig, *, niceness: int) -> _Process:
        """Raises: InfrastructureError: it does not start."""
        try:
            child = await Child.start(
                *(sys.executable, "-m", "rlfactory.envs.tools.sql.worker", json.dumps(config.limits.as_dict())),
                name="sql",
                stderr=DEVNULL,
                environment={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"},
                folder=Path("/"),
            )
        except ProcessError as error:
            raise InfrastructureError(f"a SQL worker does not start: {error}") from None
        self = cls(child, config)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await self._receive()
            if niceness:
                child.give_way(niceness)
        except (WorkerDied, TimeoutError) as error:
            await self.kill()
            raise InfrastructureError(f"a SQL worker does not start: {error or 'no answer'}") from None
        except BaseException:
            await self.kill()
            raise
        return self

    def has(self, key: str) -> bool:
        return key in self._open

    async def open(self, database: Database) -> None:
        """Raises: EnvironmentFault: it does not open. WorkerDied."""
        if database.key in self._open:
            self._open.move_to_end(database.key)
            return
        kind, place, payload = _source(database)
        message = {"op": "open", "key": database.key, "kind": kind, "place": place}
        try:
            answer = await self.ask(message, payload, timeout_s=OPEN_TIMEOUT_S)
        except TimeoutError:
            raise EnvironmentFault(f"a database did not open within {OPEN_TIMEOUT_S:g} seconds") from None
        if answer["outcome"] == "lost":
            raise InfrastructureError(f"a database server: {answer['message']}")
        if answer["outcome"] != "ok":
            raise EnvironmentFault(f"a database does not open: {answer['message']}")
        self._open[database.key] = len(payload)
        await self._shed()

    async def _shed(self) -> None:
        """Close what has not been used for longest, but never the one just opened."""
        limits = self._config
        while len(self._open) > 1 and (
            len(self._open) > limits.max_databases or sum(self._open.values()) > limits.max_database_bytes
        ):
            await self.forget(next(iter(self._open)))

    async def forget(self, key: str) -> None:
        """Close one database. Raises: TimeoutError, WorkerDied."""
        del self._open[key]
        await self.ask({"op": "close", "key": key}, timeout_s=OPEN_TIMEOUT_S)

    async def ask(self, message: Message, payload: bytes = b"", *, timeout_s: float) -> Message:
        """Return the answer to one request. Raises: TimeoutError, WorkerDied: the process has to be killed."""
        self.answered = False
        try:
            async with asyncio.timeout(timeout_s):
                await self._child.send(pack(message, payload))
                answer = await self._receive()
        except ProgramEnded as error:
            raise WorkerDied(str(error)) from None
        self.answered = True
        return answer

    async def _receive(self) -> Message:
        try:
            header_bytes, _ = LENGTHS.unpack(await self._child.stdout.readexactly(LENGTHS.size))
            if header_bytes > MAX_HEADER_BYTES:
                raise WorkerDied(f"it answered {header_bytes} bytes")
            answer: Message = json.loads(await self._child.stdout.readexactly(header_bytes))
        except asyncio.IncompleteReadError:
            code = await self._child.process.wait()
            raise WorkerDied(f"exit status {code}", code) from None
        return answer

    async def kill(self) -> None:
        """End the process now, and wait until it has. Idempotent."""
        await self._child.stop(patience_s=0)


def _source(database: Database) -> tuple[str, str, bytes]:
    """Return kind, place and bytes as a worker is told them."""
    match database:
        case SqliteBytes(data=data):
            return "bytes", "", data
        case SqliteFile(path=path):
            return "sqlite", str(path.resolve()), b""
        case DuckDbFile(path=path):
            return "duckdb", str(path.resolve()), b""
        case PostgresServer(dsn=dsn):
            return "postgres", dsn, b""


def _is_encodable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
