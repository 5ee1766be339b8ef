"""The phone's end of the ADB transport: connections, and the streams that each of them carries.

One TCP connection is one transport (the adb server opens one per phone). A stream has at most one WRTE in flight each
way: the receiver's OKAY allows the next. Whatever a peer sends, the worst that happens is that its own connection is
closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from rlfactory.emulators.simulator.wire.adb_packets import (
    CLSE,
    CNXN,
    MAX_PAYLOAD,
    OKAY,
    OPEN,
    VERSION,
    WRTE,
    Packet,
    PacketError,
    encode_header,
    read_packet,
)
from rlfactory.emulators.simulator.wire.listener import Listener

log = logging.getLogger(__name__)

MAX_STREAMS: Final = 256
"""Of one connection."""


class StreamClosed(Exception):
    """The peer has closed the stream."""


class ServiceMisused(Exception):
    """The peer breaks the protocol of a service: its stream is closed."""


Service = Callable[["Stream"], Awaitable[None]]
OpenService = Callable[[str], Service | None]
"""Service name, as in OPEN -> what serves it; None refuses."""


class Stream:
    """One stream of a transport, as the service at the phone's end sees it."""

    def __init__(self, transport: Transport, local: int, remote: int) -> None:
        self._transport = transport
        self._local = local
        self._remote = remote
        self._received: asyncio.Queue[bytes] = asyncio.Queue()
        self._left = b""
        self._may_write = asyncio.Event()
        self._may_write.set()
        self.closed = False

    async def read(self) -> bytes:
        """Return the next bytes, as they come; b"" when the peer has closed the stream."""
        if self._left:
            data, self._left = self._left, b""
            return data
        if self.closed and self._received.empty():
            return b""
        data = await self._received.get()
        if data and not self.closed:
            await self._transport.send(Packet(OKAY, self._local, self._remote))
        return data

    async def read_exactly(self, size: int) -> bytes:
        """Return `size` bytes. Raises: StreamClosed: the peer closed the stream before."""
        parts: list[bytes] = []
        missing = size
        while missing:
            data = await self.read()
            if not data:
                raise StreamClosed
            parts.append(data[:missing])
            self._left = data[missing:]
            missing -= len(parts[-1])
        return b"".join(parts)

    async def write(self, data: bytes | memoryview) -> None:
        """Send all of `data`. Raises: StreamClosed: the peer closed the stream."""
        view = memoryview(data)
        for start in range(0, len(view), self._transport.max_payload):
            await self._may_write.wait()
            if self.closed:
                raise StreamClosed
            self._may_write.clear()
            chunk = bytes(view[start : start + self._transport.max_payload])
            await self._transport.send(Packet(WRTE, self._local, self._remote, chunk))

    async def drain(self) -> None:
        """Return when the peer has taken everything written, or has closed the stream."""
        await self._may_write.wait()

    # --- called by the transport

    def feed(self, data: bytes) -> None:
        """Bytes came; b"" is the end. More than one packet ahead of OKAY breaks the protocol."""
        if data and not self._received.empty():
            raise PacketError("WRTE before the OKAY of the last one")
        self._received.put_nowait(data)

    def acknowledge(self) -> None:
        self._may_write.set()

    def end(self) -> None:
        """The peer has gone: reads end, writes fail."""
        self.closed = True
        self._received.put_nowait(b"")
        self._may_write.set()


class Transport:
    """One connection of an adb server."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, banner: str, open_service: OpenService
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._banner = banner
        self._open_service = open_service
        self._streams: dict[int, Stream] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._numbers = itertools.count(1)
        self._connected = False
        self._with_checksum = False
        self.max_payload = 4096

    async def run(self) -> None:
        """Serve the connection until either side closes it."""
        try:
            while True:
                await self._receive(await read_packet(self._reader))
        except PacketError as error:
            log.info("closing a connection: %s", error)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            await self._end_streams()

    async def send(self, packet: Packet) -> None:
        # In two pieces, so that megabytes of a frame are not copied to stand behind 24 bytes.
        self._writer.write(encode_header(packet, with_checksum=self._with_checksum))
        if packet.payload:
            self._writer.write(packet.payload)
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def _receive(self, packet: Packet) -> None:
        if packet.command == CNXN:
            await self._connect(packet)
        elif not self._connected:
            raise PacketError("no CNXN came first")
        elif packet.command == OPEN:
            await self._open(packet)
        elif packet.command in (WRTE, OKAY, CLSE):
            await self._pass_on(packet)

    async def _connect(self, packet: Packet) -> None:
        await self._end_streams()
        self._connected = True
        self._with_checksum = packet.first < VERSION
        self.max_payload = max(1, min(packet.second, MAX_PAYLOAD))
        await self.send(Packet(CNXN, VERSION, MAX_PAYLOAD, self._banner.encode()))

    async def _open(self, packet: Packet) -> None:
        name = packet.payload.rstrip(b"\0").decode("utf-8", "replace")
        service = self._open_service(name) if len(self._streams) < MAX_STREAMS else None
        if service is None or packet.first == 0:
            await self.send(Packet(CLSE, 0, packet.first))
            return
        local = next(self._numbers)
        stream = self._streams[local] = Stream(self, local, packet.first)
        await self.send(Packet(OKAY, local, packet.first))
        self._tasks[local] = asyncio.create_task(self._serve(service, stream, local, packet.first))

    async def _pass_on(self, packet: Packet) -> None:
        stream = self._streams.get(packet.second)
        if stream is None:
            if packet.command == WRTE:
                await self.send(Packet(CLSE, 0, packet.first))
        elif packet.command == WRTE:
            stream.feed(packet.payload)
        elif packet.command == OKAY:
            stream.acknowledge()
        else:
            del self._streams[packet.second]
            stream.end()
            await self.send(Packet(CLSE, packet.second, packet.first))  # some clients wait for it, as adbd answers

    async def _serve(self, service: Service, stream: Stream, local: int, remote: int) -> None:
        try:
            await service(stream)
            await stream.drain()
        except StreamClosed:
            pass
        except ServiceMisused as error:
            log.info("closing a stream: %s", error)
        except Exception:
            log.exception("a service failed")
        finally:
            self._tasks.pop(local, None)
            if self._streams.pop(local, None) is not None:
                await self.send(Packet(CLSE, local, remote))

    async def _end_streams(self) -> None:
        for stream in self._streams.values():
            stream.end()
        self._streams.clear()
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class AdbDaemon(Listener):
    """Serves one phone's adb port."""

    limit_bytes = 2 * MAX_PAYLOAD

    def __init__(self, banner: str, open_service: OpenService) -> None:
        super().__init__()
        self._banner = banner
        self._open_service = open_service

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Transport(reader, writer, self._banner, self._open_service).run()
