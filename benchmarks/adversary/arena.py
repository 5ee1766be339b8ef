"""Where attacks happen: a service and honest sessions, each a process of its own, and what they are measured by."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import grpc
import psutil

from benchmarks.adversary.attack import Broke
from benchmarks.adversary.scene import PROBE_S, SAMPLE
from rlfactory.envs.api.types import JSON, SessionOptions, StepResult, ToolCall
from rlfactory.envs.client import ClientConfig, EnvClient, Session
from rlfactory.envs.wire.stub import EnvServiceStub
from rlfactory.envs.wire.trust import AUTHORIZATION, ClientTrust
from rlfactory.envs.wire.trust_options import TOKEN_VARIABLE

HONEST: Final = "honest-token-of-the-arena-0001"
HOSTILE: Final = "hostile-token-of-the-arena-0002"
PHONES: Final = 8
SESSIONS: Final = 16
PACE_S: Final = 0.1
READY_S: Final = 60.0
STOP_S: Final = 20.0
QUIET_TURN_S: Final = 0.02
"""More than an honest turn takes at the median, on two cores that nobody else uses."""
LOOKS_BACK_S: Final = 1.0
SUMS: Final = "arena.sums"
TEXT: Final = SessionOptions(with_image=False, lease_s=60.0)


@dataclass(slots=True)
class Seen:
    """What the honest sessions met with: (end, latency) of turns, (end, why) of losses; monotonic seconds."""

    turns: list[tuple[float, float]] = field(default_factory=list)
    lost: list[tuple[float, str]] = field(default_factory=list)

    def latencies_s(self, begin_s: float, end_s: float) -> list[float]:
        """Return what turns took in a span; one that took long counts for those that it kept from being begun."""
        return corrected([(at, took) for at, took in self.turns if begin_s <= at <= end_s], PACE_S)

    def losses(self, begin_s: float, end_s: float) -> list[str]:
        return [why for at, why in self.lost if begin_s <= at <= end_s]


def corrected(samples: Sequence[tuple[float, float]], period_s: float) -> list[float]:
    """Return the samples' durations, and those of the samples that long ones kept from being taken."""
    found = []
    for _, took_s in samples:
        left_s = took_s
        while True:
            found.append(left_s)
            left_s -= period_s
            if left_s <= 0:
                break
    return found


class Service:
    """`rlfactory serve` as a process of its own, with the arena's tasks. An async context manager."""

    def __init__(self, *options: str, postgres: str = "", tokens: Sequence[str] = (HONEST, HOSTILE)) -> None:
        self.address = ""
        self._options = options
        self._postgres = postgres
        self._tokens = tokens
        self._folder = Path()
        self._process: Process | None = None

    @property
    def lag_file(self) -> Path:
        return self._folder / "lag"

    @property
    def log_file(self) -> Path:
        return self._folder / "log"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def _prepared(self) -> Path:
        """Return a file of the tokens; what the service writes to is there, too."""
        self._folder = Path(tempfile.mkdtemp(prefix="adversary-"))
        tokens = self._folder / "tokens"
        tokens.write_text("\n".join(f"tenant{number} {token}" for number, token in enumerate(self._tokens)))
        self.lag_file.touch()
        return tokens

    async def __aenter__(self) -> Self:
        tokens = self._prepared()
        with self.log_file.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "rlfactory", "serve", "--json", "--port", "0", "--unsafe-local"),
                *("--stop-on-eof", "--tasks", str(Path(__file__).with_name("scene.py"))),
                *(("--token-file", str(tokens)) if self._tokens else ()),
                *self._options,
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                env={**os.environ, "ADVERSARY_LAG_FILE": str(self.lag_file), "ADVERSARY_POSTGRES": self._postgres},
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(READY_S):
            line = await self._process.stdout.readline()
        if not line:
            raise SystemExit(f"error: the service did not start: {self.log_file.read_text()[-500:]}")
        self.address = json.loads(line)["address"]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        if self.alive:
            self._process.terminate()
        try:
            async with asyncio.timeout(STOP_S):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def terminate(self) -> None:
        assert self._process is not None
        self._process.terminate()

    def kill(self) -> None:
        """End it as a crash would."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self, *, timeout_s: float) -> bool:
        """Tell whether it has ended in time."""
        assert self._process is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._process.wait()
                return True
        return False

    def memory_mb(self) -> float:
        """Return what the service itself holds; its workers are bounded by the kernel."""
        return psutil.Process(self.pid).memory_info().rss / 2**20

    def lags_s(self, begin_s: float, end_s: float, *, wall: bool = False) -> list[float]:
        """Return how late the event loop came in a span: by its own doing, or (`wall`) for want of a processor, too."""
        data = self.lag_file.read_bytes()
        whole = len(data) // SAMPLE.size * SAMPLE.size
        samples = [
            (at, lag_s if wall else max(0.0, lag_s - waited_s))
            for at, lag_s, waited_s in SAMPLE.iter_unpack(data[:whole])
            if begin_s <= at <= end_s
        ]
        return corrected(samples, PROBE_S)


class Arena:
    """A service under attack, beside honest sessions. An async context manager."""

    def __init__(self, *, postgres: str = "", sessions: int = SESSIONS) -> None:
        """Args: postgres: the DSN of a reader; "" where there is no server."""
        self.postgres = postgres
        self.slowness = 1.0
        """How many times as long as on a quiet machine things take just now, for honest sessions, too."""
        self.seen = Seen()
        self.service = Service()
        self._sessions = sessions
        self._honest: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._stack = AsyncExitStack()

    @property
    def address(self) -> str:
        return self.service.address

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def restart(self) -> None:
        """Begin again with a fresh service and fresh honest sessions; what was seen is kept."""
        await self._end()
        await self._begin()

    async def _begin(self) -> None:
        options = ("--phones", str(PHONES), "--spares", "0", "--width", "320", "--height", "480", "--drain-s", "2")
        self.service = await self._stack.enter_async_context(Service(*options, postgres=self.postgres))
        self._honest = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.adversary.honest", self.address, "--sessions", str(self._sessions)),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, TOKEN_VARIABLE: HONEST},
        )
        self._reading = asyncio.create_task(self._read(self._honest))
        turns = len(self.seen.turns)
        async with asyncio.timeout(READY_S):
            while len(self.seen.turns) < turns + 2 * self._sessions:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def _end(self) -> None:
        honest, self._honest = self._honest, None
        if honest is not None:
            with contextlib.suppress(ProcessLookupError):
                honest.kill()
            await honest.wait()
        if self._reading is not None:
            await self._reading
        await self._stack.aclose()
        self._stack = AsyncExitStack()

    async def _read(self, honest: Process) -> None:
        assert honest.stdout is not None
        async for line in honest.stdout:
            kind, at, rest = line.decode().rstrip("\n").split(" ", 2)
            if kind == "ok":
                self.seen.turns.append((float(at), float(rest)))
            else:
                self.seen.lost.append((float(at), rest))

    def look_at_the_machine(self) -> None:
        """Learn from the honest turns of the last moments how slow the machine is, whoever else uses it."""
        now_s = time.monotonic()
        took = sorted(self.seen.latencies_s(now_s - LOOKS_BACK_S, now_s)) or [0.0]
        self.slowness = max(1.0, took[len(took) // 2] / QUIET_TURN_S)

    def require_soon(self, took_s: float, limit_s: float, what: str) -> None:
        """Raises: Broke: it took longer than it may, on a machine as slow as this one is."""
        if took_s > limit_s * self.slowness:
            times = f", where all takes {self.slowness:.1f} times as long" if self.slowness > 1 else ""
            raise Broke(f"{what} took {took_s:.1f} s{times}")

    # --- what attackers use ------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def client(
        self, token: str = HOSTILE, *, address: str = "", config: ClientConfig | None = None
    ) -> AsyncIterator[EnvClient]:
        """Give a client like any other."""
        trust = ClientTrust(token=token)
        async with EnvClient(address or self.address, config=config, trust=trust) as client:
            yield client

    @asynccontextmanager
    async def session(
        self, task: str = SUMS, *, options: SessionOptions = TEXT, seed: int = 1
    ) -> AsyncIterator[Session]:
        async with self.client() as client, client.session(task, seed=seed, options=options) as session:
            yield session

    @asynccontextmanager
    async def stub(self, *, address: str = "", options: Sequence[tuple[str, int]] = ()) -> AsyncIterator[Any]:
        """Give the bare stub on a connection of its own, without a token."""
        own = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0), *options)
        async with grpc.aio.insecure_channel(address or self.address, options=own) as channel:
            yield EnvServiceStub(channel)

    def log(self) -> str:
        """Return what the service has logged."""
        return self.service.log_file.read_text(errors="replace")


def metadata(token: str = HOSTILE) -> tuple[tuple[str, str], ...]:
    return ((AUTHORIZATION, f"Bearer {token}"),)


def call(tool: str, index: int = 0, /, **arguments: JSON) -> ToolCall:
    return ToolCall(id=str(index), name=tool, arguments=arguments)


async def text_of(session: Session, name: str, **arguments: JSON) -> str:
    """Play a turn of one call; return "status: text"."""
    return told(await session.step([call(name, **arguments)]))


def told(result: StepResult) -> str:
    return f"{result.results[0].status}: {result.results[0].text}"


async def goes_on(session: Session) -> None:
    """Raises: Broke: the session does not calculate any more."""
    said = await text_of(session, "calculator", expression="6*7")
    if said != "ok: 42":
        raise Broke(f"afterwards 6*7 gave {said[:120]}")


async def until(holds: Any, *, timeout_s: float, otherwise: str) -> None:
    """Wait until an async or plain condition holds. Raises: Broke."""
    end_s = time.monotonic() + timeout_s
    while True:
        value = holds()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return
        if time.monotonic() > end_s:
            raise Broke(otherwise)
        await asyncio.sleep(0.1)
