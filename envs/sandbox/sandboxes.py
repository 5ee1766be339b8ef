"""The sandboxes of a service: an interpreter for each session that runs code, some started ahead."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from asyncio.subprocess import DEVNULL
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.service.services import SESSION, TENANT
from rlfactory.envs.tools.runtime.fair_places import FairPlaces
from rlfactory.processes.child import Child
from rlfactory.processes.docker.container import Container
from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.processes.errors import EngineError, ProcessError, ProgramEnded
from rlfactory.processes.program import Program

GRACE_S: Final = 2.0
"""The supervisor in the sandbox ends late code itself; when it has not after this much longer, all is ended."""
WARM_UP_S: Final = 20.0
"""For the interpreter of a new sandbox to come up."""

LOCAL: Final = (sys.executable, "-I", "-B", str(Path(__file__).with_name("interpreter.py")))
"""Runs an interpreter as a process of this machine, with all rights of this user."""


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

    def __init__(self, program: Program) -> None:
        self._program = program
        self.lost = False
        """It has ended: another has to be opened."""

    @property
    def ended_idle(self) -> bool:
        """It has ended between two runs, when code is stopped and cannot end its supervisor: code had no part in it."""
        return not self.lost and self._program.ended

    async def run(self, code: str, *, timeout_s: float) -> Ran:
        """Run code; whatever it does, this returns within `timeout_s` and a grace. Cancelling it ends the sandbox."""
        nonce = secrets.token_hex(8)
        request = json.dumps({"code": code, "timeout_s": timeout_s, "nonce": nonce}).encode("ascii") + b"\n"
        try:
            async with asyncio.timeout(timeout_s + GRACE_S):
                await self._program.send(request)
                return _read(await self._program.receive(), nonce)
        except TimeoutError:
            await self.close()
            words = f"[stopped after {timeout_s:g} seconds with its whole sandbox; its variables are gone]"
            return Ran(status=RunStatus.TIMEOUT, output=words, kept=False)
        except ProgramEnded as error:
            await self.close()
            words = f"[the sandbox ended: {error}; its variables are gone]"
            return Ran(status=RunStatus.ENDED, output=words, kept=False)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End it. Idempotent."""
        self.lost = True
        await self._program.stop()


class Sandboxes:
    """Opens interpreters. Nothing is started before the first is asked for."""

    def __init__(self, config: SandboxConfig | None = None) -> None:
        self.config = config or SandboxConfig()
        self._engine: DockerEngine | None = None
        self._opening = asyncio.Lock()
        self._open: dict[Interpreter, tuple[float, str, str]] = {}
        """With what its place is given back by."""
        self._places = FairPlaces(self.config.max_open, most_of_one=self.config.max_open_of_tenant)
        self._starts = FairPlaces(self.config.starts_at_once)
        self._spares: list[asyncio.Task[Program]] = []
        self._closed = False

    async def require(self) -> None:
        """Raises: TaskError: code can be run nowhere; it says what is missing."""
        if not self.config.unsafe_local:
            await self._connected()

    async def open(self, suite: str = "") -> Interpreter:
        """Return a new interpreter for a session of the suite, once there are fewer than `max_open`; `release` it.

        Raises: TaskError: see `require`. InfrastructureError: the engine failed.
        """
        await self.require()
        tenant, session = TENANT.get(), SESSION.get()
        begun_s = await self._places.take(tenant, session)
        try:
            interpreter = Interpreter(await (self._start(suite) if suite in self.config.allow else self._spare()))
        except BaseException:
            self._places.free(begun_s, tenant, session)
            raise
        self._open[interpreter] = begun_s, tenant, session
        return interpreter

    async def release(self, interpreter: Interpreter) -> None:
        """End an interpreter. Idempotent."""
        held = self._open.pop(interpreter, None)
        try:
            await interpreter.close()
        finally:
            if held is not None:
                self._places.free(*held)

    async def close(self) -> None:
        """End all interpreters, and the spare ones. Idempotent."""
        self._closed = True
        spares, self._spares = self._spares, []
        spares_started = await asyncio.gather(*spares, return_exceptions=True)
        await asyncio.gather(
            *(interpreter.close() for interpreter in self._open),
            *(program.stop() for program in spares_started if not isinstance(program, BaseException)),
        )
        self._open.clear()
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    async def _spare(self) -> Program:
        """Return a program that was started ahead, if there is one, and start another."""
        while True:
            starting = self._spares.pop(0) if self._spares else asyncio.create_task(self._start())
            self._refill()
            try:
                program = await asyncio.shield(starting)
            except asyncio.CancelledError:
                self._spares.append(starting)
                raise
            if not program.ended:
                return program
            await program.stop()  # something happened to it meanwhile

    def _refill(self) -> None:
        while not self._closed and len(self._spares) < self.config.spares:
            self._spares.append(asyncio.create_task(self._start()))

    async def _start(self, suite: str = "") -> Program:
        """Return a program that runs code at once, when it is this session's turn to have one started."""
        async with self._starts.place(TENANT.get(), SESSION.get()):
            if self._closed:
                raise InfrastructureError("the sandboxes are closed")
            try:
                program = await self._begun(suite)
            except ProcessError as error:
                raise InfrastructureError(f"no sandbox could be started: {error}") from None
            ran = await Interpreter(program).run("", timeout_s=WARM_UP_S)
            if ran.status is not RunStatus.OK:
                await program.stop()
                raise InfrastructureError(f"a new sandbox runs no code: {ran.output}")
            return program

    async def _begun(self, suite: str) -> Program:
        """Raises: ProcessError."""
        if self.config.unsafe_local:
            environment = {"PATH": os.defpath, "LANG": "C.UTF-8"}
            return await Child.start(*LOCAL, name="sandbox", stderr=DEVNULL, environment=environment)
        return await Container.start(await self._connected(), self.config.spec(suite), quiet=True)

    async def _connected(self) -> DockerEngine:
        async with self._opening:
            if self._engine is None:
                self._engine = await asyncio.to_thread(_connect, self.config)
            return self._engine


def _connect(config: SandboxConfig) -> DockerEngine:
    """Raises: TaskError."""
    try:
        engine = DockerEngine(config.engine_url, runtime=config.runtime)
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


def _read(line: bytes, nonce: str) -> Ran:
    """Return what a sandbox answered. Raises: ProgramEnded: it is not what was agreed, or somebody else said it."""
    try:
        answer = json.loads(line)
        if answer["nonce"] != nonce:
            raise ValueError("of another call")
        return Ran(status=RunStatus(answer["status"]), output=str(answer["output"]), kept=answer["kept"] is True)
    except (ValueError, KeyError, TypeError):
        raise ProgramEnded("it answered something else than was agreed") from None
