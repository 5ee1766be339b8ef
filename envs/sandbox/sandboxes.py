"""The sandboxes of a service: an interpreter for each session that runs code, some started ahead."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rlfactory.envs.api.errors import InfrastructureError, LimitExceeded, TaskError
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.places import ContainerPlace, LocalPlace, Place, PlaceLost
from rlfactory.processes.docker.connection import EngineError
from rlfactory.processes.docker.engine import Engine

GRACE_S: Final = 2.0
"""The supervisor in the sandbox ends late code itself; when it has not after this much longer, all is ended."""


class RunStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    """The code raised an exception."""
    TIMEOUT = "timeout"
    ENDED = "ended"
    """The interpreter, or its whole sandbox, is gone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What came of one piece of code."""

    status: RunStatus
    output: str
    kept: bool
    """Variables live on; else the next run begins anew."""


class Interpreter:
    """One session's interpreter. Runs one piece of code at a time."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.lost = False
        """Its place has ended: another has to be opened."""

    @property
    def ended_idle(self) -> bool:
        """Its place has ended between two runs: what code left running ends with the run, so code had no part in it."""
        return not self.lost and self._place.ended

    async def run(self, code: str, *, timeout_s: float) -> Ran:
        """Run code; whatever it does, this returns within `timeout_s` and a grace. Cancelling it ends the sandbox."""
        request = json.dumps({"code": code, "timeout_s": timeout_s}).encode("ascii") + b"\n"
        try:
            async with asyncio.timeout(timeout_s + GRACE_S):
                await self._place.send(request)
                return _read(await self._place.receive())
        except TimeoutError:
            await self.close()
            words = f"[stopped after {timeout_s:g} seconds with its whole sandbox; its variables are gone]"
            return Ran(status=RunStatus.TIMEOUT, output=words, kept=False)
        except PlaceLost as error:
            await self.close()
            words = f"[the sandbox ended: {error}; its variables are gone]"
            return Ran(status=RunStatus.ENDED, output=words, kept=False)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End it. Idempotent."""
        self.lost = True
        await self._place.end()


class Sandboxes:
    """Opens interpreters. Nothing is started before the first is asked for."""

    def __init__(self, config: SandboxConfig | None = None) -> None:
        self.config = config or SandboxConfig()
        self._engine: Engine | None = None
        self._opening = asyncio.Lock()
        self._open: set[Interpreter] = set()
        self._spares: list[asyncio.Task[Place]] = []
        self._closed = False

    async def require(self) -> None:
        """Raises: TaskError: code can be run nowhere; it says what is missing."""
        if not self.config.unsafe_local:
            await self._connected()

    async def open(self, suite: str = "") -> Interpreter:
        """Return a new interpreter for a session of the suite; `release` it in the end.

        Raises: TaskError: see `require`. LimitExceeded: `max_open`. InfrastructureError: the engine failed.
        """
        await self.require()
        self._open = {each for each in self._open if not each.lost}
        if len(self._open) >= self.config.max_open:
            raise LimitExceeded(f"{len(self._open)} sandboxes are open; max_open is {self.config.max_open}")
        interpreter = Interpreter(await (self._start(suite) if suite in self.config.allow else self._spare()))
        self._open.add(interpreter)
        return interpreter

    async def release(self, interpreter: Interpreter) -> None:
        """End an interpreter. Idempotent."""
        self._open.discard(interpreter)
        await interpreter.close()

    async def close(self) -> None:
        """End all interpreters, and the spare ones. Idempotent."""
        self._closed = True
        spares, self._spares = self._spares, []
        places = await asyncio.gather(*spares, return_exceptions=True)
        await asyncio.gather(
            *(interpreter.close() for interpreter in self._open),
            *(place.end() for place in places if not isinstance(place, BaseException)),
        )
        self._open.clear()
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    async def _spare(self) -> Place:
        """Return a place that was started ahead, if there is one, and start another."""
        while True:
            starting = self._spares.pop(0) if self._spares else asyncio.create_task(self._start())
            self._refill()
            try:
                place = await asyncio.shield(starting)
            except asyncio.CancelledError:
                self._spares.append(starting)
                raise
            if not place.ended:
                return place
            await place.end()  # something happened to it meanwhile

    def _refill(self) -> None:
        while not self._closed and len(self._spares) < self.config.spares:
            self._spares.append(asyncio.create_task(self._start()))

    async def _start(self, suite: str = "") -> Place:
        if self._closed:
            raise InfrastructureError("the sandboxes are closed")
        if self.config.unsafe_local:
            return await LocalPlace.start()
        return await ContainerPlace.start(await self._connected(), self.config.spec(suite))

    async def _connected(self) -> Engine:
        async with self._opening:
            if self._engine is None:
                self._engine = await asyncio.to_thread(_connect, self.config)
            return self._engine


def _connect(config: SandboxConfig) -> Engine:
    """Raises: TaskError."""
    try:
        engine = Engine(config.engine_url)
        try:
            engine.require_image(config.image)
            engine.reap()
        except BaseException:
            engine.close()
            raise
    except EngineError as error:
        raise TaskError(
            f"code written by a model runs in containers only, and there can be none: {error}. "
            "On a machine that may be harmed, --unsafe-local runs it as a plain process."
        ) from None
    return engine


def _read(line: bytes) -> Ran:
    """Return what a sandbox answered. Raises: PlaceLost: it is not what was agreed."""
    try:
        answer = json.loads(line)
        return Ran(status=RunStatus(answer["status"]), output=str(answer["output"]), kept=answer["kept"] is True)
    except (ValueError, KeyError, TypeError):
        raise PlaceLost("it answered something else than was agreed") from None
