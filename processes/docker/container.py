"""A container that is spoken to by lines on its standard input and output, and ends when its input does."""

from __future__ import annotations

import asyncio
import logging
import struct
from collections import deque
from typing import Final, Self

from rlfactory.processes.docker.engine import Cell, DockerEngine
from rlfactory.processes.docker.spec import CellSpec
from rlfactory.processes.errors import EngineError, ProgramEnded
from rlfactory.processes.program import MAX_LINE_BYTES

log = logging.getLogger(__name__)

_FRAME: Final = struct.Struct(">BxxxI")
"""Of the engine's stream: which output, and how many bytes of it follow (Docker Engine API, attach)."""
_STDOUT: Final = 1
_LAST_WORDS: Final = 5


class Container:
    """An attached container. Make one with `start`; see `program.Program`."""

    def __init__(
        self,
        engine: DockerEngine,
        cell: Cell,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        quiet: bool = False,
    ) -> None:
        self.name = cell.name
        self.address = cell.address
        self._engine = engine
        self._cell = cell
        self._reader = reader
        self._writer = writer
        self._quiet = quiet
        self._partial = {_STDOUT: b"", 2: b""}
        self._lines: deque[bytes] = deque()
        self._words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._removing: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, engine: DockerEngine, spec: CellSpec, *, quiet: bool = False) -> Self:
        """Start a container; one that a cancellation made useless is removed first.

        Args: quiet: what it writes on standard error is not logged: whoever runs in it may flood us.
        Raises: EngineError.
        """
        making = asyncio.create_task(asyncio.to_thread(engine.make_cell, spec, attach=True))
        try:
            cell = await asyncio.shield(making)
        except asyncio.CancelledError:
            made = (await asyncio.gather(making, return_exceptions=True))[0]
            if isinstance(made, Cell):
                if made.stdio is not None:
                    made.stdio.close()
                await asyncio.to_thread(_remove, engine, made)
            raise
        assert cell.stdio is not None
        cell.stdio.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=cell.stdio, limit=MAX_LINE_BYTES)
        return cls(engine, cell, reader, writer, quiet=quiet)

    @property
    def ended(self) -> bool:
        return self._reader.at_eof()

    @property
    def last_words(self) -> str:
        return " ".join(self._words)

    async def send(self, line: bytes) -> None:
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError as error:
            raise ProgramEnded(f"its container closed its input ({error})") from None

    async def receive(self) -> bytes:
        while not self._lines:
            await self._read_frame()
        return self._lines.popleft()

    async def _read_frame(self) -> None:
        """Take a frame apart into lines of standard output, and lines of standard error."""
        try:
            stream, length = _FRAME.unpack(await self._reader.readexactly(_FRAME.size))
            data = await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError):
            raise ProgramEnded("its container ended") from None
        *lines, self._partial[stream] = (self._partial.get(stream, b"") + data).split(b"\n")
        if len(self._partial[stream]) > MAX_LINE_BYTES:
            raise ProgramEnded("its container wrote too long a line")
        if stream == _STDOUT:
            self._lines += lines
            return
        for line in () if self._quiet else lines:
            self._words.append(line.decode("utf-8", "replace"))
            log.warning("%s: %s", self.name, self._words[-1])

    async def memory_bytes(self) -> int:
        return await asyncio.to_thread(self._engine.memory_bytes, self._cell.id)

    async def stop(self) -> None:
        """End the container, and remove it with its network."""
        if self._removing is None:
            self._writer.close()
            self._removing = asyncio.create_task(asyncio.to_thread(_remove, self._engine, self._cell))
        await asyncio.shield(self._removing)


def _remove(engine: DockerEngine, cell: Cell) -> None:
    try:
        engine.remove_cell(cell.label)
    except EngineError as error:  # it removes itself when it ends; what does not is reaped later
        log.warning("%s stays until the next start reaps it: %s", cell.name, error)
