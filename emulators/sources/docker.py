"""Simulated phones in containers, each container in an internal network of its own.

A container asks for nothing but its standard input: the service tells it which phones to start and stop, and when the
service is gone, however it went, the engine closes that input and the container ends. Nothing is published on the
host; adb and console are reached at the container's address.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final, Self

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.hosted import START_TIMEOUT_S, HostChannel, HostedSource
from rlfactory.processes.docker.connection import DEFAULT_URL
from rlfactory.processes.docker.engine import Cell, Engine
from rlfactory.processes.docker.spec import CellSpec, ContainerLimits, Scope

log = logging.getLogger(__name__)

SIMULATOR_IMAGE: Final = "rlfactory-simulator"
_FRAME_HEAD: Final = 8
_STDOUT: Final = 1
_LAST_WORDS: Final = 5
_STREAM_LIMIT: Final = 1024 * 1024


def memory_for(phones: int) -> int:
    """Return megabytes for a container of so many phones: about 25 MB each in use, with room for snapshots."""
    return 512 + 96 * phones


@dataclass(frozen=True, kw_only=True, slots=True)
class DockerConfig:
    """Containers of simulated phones."""

    image: str = SIMULATOR_IMAGE
    engine_url: str = DEFAULT_URL
    phones_per_container: int = 8
    limits: ContainerLimits | None = None
    """None: by the number of phones."""
    spec: CellSpec = field(init=False)

    def __post_init__(self) -> None:
        if self.phones_per_container < 1:
            raise ValueError(f"phones_per_container must be at least 1, got {self.phones_per_container}")
        limits = self.limits or ContainerLimits(memory_mb=memory_for(self.phones_per_container))
        spec = CellSpec(image=self.image, kind="simulator", scope=Scope.SERVICE, limits=limits)
        object.__setattr__(self, "spec", spec)


class PhoneContainer:
    """One container of simulated phones. Make one with `spawn`."""

    def __init__(
        self, engine: Engine, cell: Cell, channel: HostChannel, writer: asyncio.StreamWriter, words: deque[str]
    ) -> None:
        self._engine = engine
        self._cell = cell
        self._channel = channel
        self._writer = writer
        self._words = words

    @classmethod
    async def spawn(cls, engine: Engine, spec: CellSpec) -> Self:
        """Start a container and return it once it is ready. Raises: DeviceError."""
        cell = await _made(engine, spec)
        words: deque[str] = deque(maxlen=_LAST_WORDS)
        writer: asyncio.StreamWriter | None = None
        try:
            assert cell.stdio is not None
            reader, writer = await _streams(cell.stdio)
            lines = _lines(reader, cell.name, words)
            async with asyncio.timeout(START_TIMEOUT_S):
                ready = await anext(lines, b"")
            if b"ready" not in ready:
                raise DeviceError(f"{cell.name} ended as it started: {' '.join(words) or 'it said nothing'}")
        except BaseException as error:
            if writer is not None:
                writer.close()
            await _unmade(engine, cell)
            if isinstance(error, TimeoutError):
                raise DeviceError(f"{cell.name} was not ready within {START_TIMEOUT_S:g} s") from error
            raise
        channel = HostChannel(cell.name, lambda: anext(lines, b""), writer)
        return cls(engine, cell, channel, writer, words)

    @property
    def name(self) -> str:
        return self._cell.name

    @property
    def address(self) -> str:
        return self._cell.address

    @property
    def alive(self) -> bool:
        return self._channel.open

    async def request(self, **request: object) -> dict[str, Any]:
        """See `HostChannel.request`."""
        return await self._channel.request(**request)

    async def memory_bytes(self) -> int:
        """Return the container's memory; 0 when it is gone."""
        return await asyncio.to_thread(self._engine.memory_bytes, self._cell.id)

    async def close(self) -> None:
        """End the container and its phones, and remove its network."""
        self._writer.close()
        await self._channel.close()
        await _unmade(self._engine, self._cell)


class DockerSource(HostedSource):
    """Starts simulated phones in containers and connects to them over adb.

    What dead services left on the engine is reaped while the first phones start: a service that comes back after a
    crash shall not wait for its own remains.
    """

    def __init__(self, phone: PhoneConfig, config: DockerConfig) -> None:
        super().__init__(phone, self._spawn_container, phones_per_host=config.phones_per_container)
        self._docker = config
        self._engine: Engine | None = None
        self._opening = asyncio.Lock()
        self._reaping: asyncio.Task[None] | None = None

    async def _spawn_container(self) -> PhoneContainer:
        async with self._opening:
            if self._engine is None:
                self._engine = await asyncio.to_thread(Engine, self._docker.engine_url)
                self._reaping = asyncio.create_task(asyncio.to_thread(_reap, self._engine), name="reap")
        return await PhoneContainer.spawn(self._engine, self._docker.spec)

    async def close(self) -> None:
        await super().close()
        if self._reaping is not None:
            await self._reaping
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def _reap(engine: Engine) -> None:
    try:
        for cell in engine.reap():
            log.info("reaped cell %s, whose service is dead", cell)
    except DeviceError as error:
        log.warning("what dead services left stays until the next start: %s", error)


async def _made(engine: Engine, spec: CellSpec) -> Cell:
    """Make a cell in a thread; one that a cancellation made useless is removed before the cancellation goes on."""
    making = asyncio.create_task(asyncio.to_thread(engine.make_cell, spec, attach=True))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        done = (await asyncio.gather(making, return_exceptions=True))[0]
        if isinstance(done, Cell):
            if done.stdio is not None:
                done.stdio.close()
            await _unmade(engine, done)
        raise


async def _unmade(engine: Engine, cell: Cell) -> None:
    try:
        await asyncio.shield(asyncio.to_thread(engine.remove_cell, cell.label))
    except DeviceError as error:
        log.warning("%s stays until the next start reaps it: %s", cell.name, error)


async def _streams(stdio: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    stdio.setblocking(False)
    if stdio.family == socket.AF_UNIX:
        return await asyncio.open_unix_connection(sock=stdio, limit=_STREAM_LIMIT)
    return await asyncio.open_connection(sock=stdio, limit=_STREAM_LIMIT)


async def _lines(reader: asyncio.StreamReader, name: str, words: deque[str]) -> AsyncIterator[bytes]:
    """Yield lines of standard output from an attached stream; those of standard error are logged and kept in `words`.

    Each frame has a head of 8 bytes: the stream's number, three zeros, the length (Docker Engine API, attach).
    """
    buffers = {_STDOUT: b"", 2: b""}
    while True:
        try:
            head = await reader.readexactly(_FRAME_HEAD)
            data = await reader.readexactly(int.from_bytes(head[4:], "big"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        *lines, buffers[head[0]] = (buffers.get(head[0], b"") + data).split(b"\n")
        for line in lines:
            if head[0] == _STDOUT:
                yield line
            else:
                words.append(line.decode("utf-8", "replace"))
                log.warning("%s: %s", name, words[-1])
