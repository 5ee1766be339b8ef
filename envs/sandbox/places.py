"""Where an interpreter runs: a container, or a process of this machine. Both speak lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Final, Protocol

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.processes.docker.engine import Cell, Engine
from rlfactory.processes.docker.spec import CellSpec

MAX_LINE_BYTES: Final = 1 << 20
FRAME: Final = struct.Struct(">BxxxI")
"""Of the engine's stream: which output, and how many bytes of it follow."""
STDOUT: Final = 1
INTERPRETER_FILE: Final = Path(__file__).with_name("interpreter.py")


class PlaceLost(Exception):
    """The interpreter's place has ended or does not answer as agreed."""


class Place(Protocol):
    """One interpreter's input and output."""

    async def send(self, line: bytes) -> None:
        """Raises: PlaceLost."""
        ...

    async def receive(self) -> bytes:
        """Return the next line. Raises: PlaceLost."""
        ...

    @property
    def ended(self) -> bool:
        """It has ended by itself."""
        ...

    async def end(self) -> None:
        """End whatever runs there. Idempotent."""
        ...


class ContainerPlace:
    """A container, which ends when its standard input does: whoever held it may go as they like."""

    def __init__(self, engine: Engine, cell: Cell, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._engine, self._cell = engine, cell
        self._reader, self._writer = reader, writer
        self._buffer = bytearray()
        self._removing: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, engine: Engine, spec: CellSpec) -> ContainerPlace:
        """Raises: InfrastructureError."""
        making = asyncio.create_task(asyncio.to_thread(engine.make_cell, spec, attach=True))
        try:
            cell = await asyncio.shield(making)
        except asyncio.CancelledError:
            done = (await asyncio.gather(making, return_exceptions=True))[0]
            if isinstance(done, Cell):
                await asyncio.to_thread(_remove, engine, done)
            raise
        except DeviceError as error:
            raise InfrastructureError(f"no sandbox could be started: {error}") from None
        assert cell.stdio is not None
        reader, writer = await _streams(cell.stdio)
        return cls(engine, cell, reader, writer)

    async def send(self, line: bytes) -> None:
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError as error:
            raise PlaceLost(str(error)) from None

    async def receive(self) -> bytes:
        while b"\n" not in self._buffer:
            try:
                stream, length = FRAME.unpack(await self._reader.readexactly(FRAME.size))
                data = await self._reader.readexactly(length)
            except (asyncio.IncompleteReadError, OSError):
                raise PlaceLost("its container ended") from None
            if stream == STDOUT:
                self._buffer += data
            if len(self._buffer) > MAX_LINE_BYTES:
                raise PlaceLost("it answered more than was agreed")
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    @property
    def ended(self) -> bool:
        return self._reader.at_eof()

    async def end(self) -> None:
        if self._removing is None:
            self._writer.close()
            self._removing = asyncio.create_task(asyncio.to_thread(_remove, self._engine, self._cell))
        await asyncio.shield(self._removing)


def _remove(engine: Engine, cell: Cell) -> None:
    with contextlib.suppress(DeviceError):  # it removes itself when it ends; what does not is reaped later
        engine.remove_cell(cell.label)


async def _streams(stdio: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    stdio.setblocking(False)
    return await asyncio.open_connection(sock=stdio)


class LocalPlace:
    """A process of this machine, with all rights of this user."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout

    @classmethod
    async def start(cls) -> LocalPlace:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-B", str(INTERPRETER_FILE)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=MAX_LINE_BYTES,
            start_new_session=True,
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        )
        return cls(process)

    async def send(self, line: bytes) -> None:
        try:
            self._stdin.write(line)
            await self._stdin.drain()
        except OSError as error:
            raise PlaceLost(str(error)) from None

    async def receive(self) -> bytes:
        try:
            return (await self._stdout.readuntil(b"\n")).rstrip(b"\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            raise PlaceLost("its process ended") from None

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    async def end(self) -> None:
        self._stdin.close()
        try:
            async with asyncio.timeout(2.0):  # it ends by itself, and takes its child with it
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
