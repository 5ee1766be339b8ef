"""HTTP/2 by hand, for what no honest client sends."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA: Final = 0x0
HEADERS: Final = 0x1
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9
END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
INITIAL_WINDOW_SIZE: Final = 0x4


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def settings(values: Sequence[tuple[int, int]] = ()) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *each) for each in values))


def headers_block(pairs: Sequence[tuple[str, str]]) -> bytes:
    """Return the headers in HPACK: literals without indexing, without Huffman."""
    block = b""
    for name, value in pairs:
        block += b"\x00" + _text(name.encode()) + _text(value.encode())
    return block


def _text(data: bytes) -> bytes:
    if len(data) < 127:
        return bytes([len(data)]) + data
    rest, out = len(data) - 127, b"\x7f"
    while rest >= 128:
        out += bytes([rest % 128 | 128])
        rest //= 128
    return out + bytes([rest]) + data


def call_headers(method: str, token: str = "", more: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return the block of a call's headers; `method` as in "EnvService/Status" or with its package."""
    path = f"/envs.v1.{method}" if "." not in method.partition("/")[0] else f"/{method}"
    pairs = [
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
        ("content-type", "application/grpc"), ("te", "trailers"),
    ]  # fmt: skip
    if token:
        pairs.append(("authorization", f"Bearer {token}"))
    return headers_block([*pairs, *more])


def message(data: bytes, *, compressed: bool = False) -> bytes:
    """Return a gRPC message with its prefix."""
    return struct.pack(">BI", compressed, len(data)) + data


class Wire:
    """A connection that speaks frames; what the other side sends is read and dropped unless it is asked for."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.frames: list[tuple[int, int, int, bytes]] = []
        """Kind, flags, stream, payload: what has come."""
        self._reading = asyncio.create_task(self._read())

    @property
    def closed(self) -> bool:
        """The other side has closed it."""
        return self._reading.done()

    async def send(self, data: bytes) -> None:
        """Raises: OSError: the other side has gone."""
        self.writer.write(data)
        await self.writer.drain()

    async def wait_for(self, kind: int, *, timeout_s: float = 5.0) -> bool:
        """Tell whether a frame of this kind came in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not any(each[0] == kind for each in self.frames):
                    if self.closed:
                        return False
                    await asyncio.sleep(0.02)
                return True
        return False

    async def _read(self) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await self.reader.readexactly(9)
                length = int.from_bytes(head[:3], "big")
                kind, flags, stream = struct.unpack(">BBI", head[3:])
                payload = await self.reader.readexactly(length)
                if len(self.frames) < 10_000:
                    self.frames.append((kind, flags, stream, payload))
                if kind == SETTINGS and not flags & ACK:
                    self.writer.write(frame(SETTINGS, ACK, 0))

    async def aclose(self) -> None:
        self._reading.cancel()
        self.writer.transport.abort()
        await asyncio.gather(self._reading, return_exceptions=True)


@asynccontextmanager
async def wire(address: str, values: Sequence[tuple[int, int]] = (), *, greet: bool = True) -> AsyncIterator[Wire]:
    """Connect, and greet as HTTP/2 does."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    connection = Wire(reader, writer)
    try:
        if greet:
            await connection.send(PREFACE + settings(values))
        yield connection
    finally:
        await connection.aclose()


async def sent(connection: Wire, data: bytes) -> bool:
    """Send, and tell whether it could be: a service may hang up on who misbehaves."""
    try:
        await connection.send(data)
    except OSError:
        return False
    return not connection.closed
