"""The adb server's protocol, spoken with asyncio (AOSP, packages/modules/adb/SERVICES.TXT and SYNC.TXT).

adbutils speaks it too, but blocks, asks for the server's version before each command, sleeps at each close and joins
what it reads in chunks of 4 KB: a raw frame of 10 MB takes it seconds. Here a stream is opened with one round trip, a
deadline or a cancelled task closes it at once, and nothing is sent twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import stat
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from rlfactory.emulators.adb.bulk import receive_all, refusal
from rlfactory.emulators.device.errors import CommandFailed, DeviceError, DeviceLost

_SYNC = struct.Struct("<4sI")
_SHELL = struct.Struct("<BI")
_SYNC_CHUNK: Final = 64 * 1024
_STDOUT, _STDERR, _EXIT = 1, 2, 3


@dataclass(frozen=True, kw_only=True, slots=True)
class RawShellResult:
    stdout: bytes
    stderr: bytes
    exit_code: int


@dataclass(frozen=True, slots=True)
class AdbStream:
    """A stream to a service of a phone."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class AdbClient:
    """Talks to one adb server. Deadlines are the caller's (`rlfactory.emulators.device.deadline.within`)."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.host = host
        self.port = port

    async def command(self, request: str) -> str:
        """Return the server's answer to a `host:` request. Raises: DeviceError: it refused."""
        async with self._connected("the adb server") as stream:
            await _ask(stream, request)
            return (await _read_block(stream)).decode("utf-8", "replace")

    async def connect_emulator(self, console_port: int, adb_port: int) -> str:
        """Make the server connect to an emulator by its two ports, and return the serial."""
        await self.command(f"host:connect:emu:{console_port},{adb_port}")
        return f"emulator-{console_port}"

    async def connect(self, address: str) -> str:
        """Make the server connect to a phone at host:port, and return the serial.

        Raises: DeviceLost: it could not; the server says so in words of success.
        """
        answer = await self.command(f"host:connect:{address}")
        if not answer.startswith(("connected to", "already connected to")):
            raise DeviceLost(f"{address}: {answer.strip()}")
        return address

    async def disconnect(self, serial: str) -> None:
        """Make the server let go of a phone; fine when it has already."""
        with contextlib.suppress(DeviceError):
            await self.command(f"host:disconnect:{serial}")

    async def wait_for_device(self, serial: str) -> None:
        """Return when the phone is online (no longer than the caller's deadline)."""
        async with self._connected(serial) as stream:
            await _ask(stream, f"host-serial:{serial}:wait-for-any-device")
            await _read_status(stream, serial)

    @asynccontextmanager
    async def open(self, serial: str, service: str) -> AsyncIterator[AdbStream]:
        """Open a service of a phone for the block.

        Raises: DeviceLost: the phone is not there, or went away; DeviceError: it refuses the service.
        """
        async with self._connected(serial) as stream:
            await _ask(stream, f"host:tport:serial:{serial}", serial)
            await stream.reader.readexactly(8)
            await _ask(stream, service, serial)
            yield stream

    async def shell(self, serial: str, command: str) -> RawShellResult:
        """Run a command line, with its outputs apart and its exit code (shell protocol 2).

        Raises: DeviceLost: the stream ended without an exit code.
        """
        outputs: dict[int, list[bytes]] = {_STDOUT: [], _STDERR: []}
        async with self.open(serial, f"shell,v2,raw:{command}") as stream:
            while True:
                kind, length = _SHELL.unpack(await stream.reader.readexactly(_SHELL.size))
                data = await stream.reader.readexactly(length)
                if kind in outputs:
                    outputs[kind].append(data)
                elif kind == _EXIT:
                    break
        return RawShellResult(
            stdout=b"".join(outputs[_STDOUT]), stderr=b"".join(outputs[_STDERR]), exit_code=data[0] if data else 255
        )

    async def execute(self, serial: str, command: str, *, expected_bytes: int = 0) -> bytearray:
        """Run a command line and return what it prints, byte for byte; see `emulators.adb.bulk.receive_all`."""
        return await receive_all(self.host, self.port, serial, f"exec:{command}", expected_bytes=expected_bytes)

    async def push(self, serial: str, path: str, data: bytes, *, mode: int, modified_s: int) -> None:
        """Write a file. Raises: CommandFailed: the phone could not."""
        async with self.open(serial, "sync:") as stream:
            request = f"{path},{stat.S_IFREG | mode}".encode()
            stream.writer.write(_SYNC.pack(b"SEND", len(request)) + request)
            view = memoryview(data)
            for start in range(0, len(view), _SYNC_CHUNK):
                chunk = view[start : start + _SYNC_CHUNK]
                stream.writer.write(_SYNC.pack(b"DATA", len(chunk)) + bytes(chunk))
                await stream.writer.drain()
            stream.writer.write(_SYNC.pack(b"DONE", modified_s))
            name, length = _SYNC.unpack(await stream.reader.readexactly(_SYNC.size))
            if name != b"OKAY":
                message = (await stream.reader.readexactly(length)).decode("utf-8", "replace")
                raise CommandFailed(f"push {path}", 1, message)

    async def pull(self, serial: str, path: str) -> bytes:
        """Read a file. Raises: CommandFailed: there is none."""
        parts: list[bytes] = []
        async with self.open(serial, "sync:") as stream:
            request = path.encode()
            stream.writer.write(_SYNC.pack(b"RECV", len(request)) + request)
            while True:
                name, length = _SYNC.unpack(await stream.reader.readexactly(_SYNC.size))
                if name == b"DONE":
                    return b"".join(parts)
                data = await stream.reader.readexactly(length)
                if name != b"DATA":
                    raise CommandFailed(f"pull {path}", 1, data.decode("utf-8", "replace"))
                parts.append(data)

    @asynccontextmanager
    async def _connected(self, whom: str) -> AsyncIterator[AdbStream]:
        """Connect to the server for the block; a connection that breaks means the phone is lost."""
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port, limit=4 * 1024 * 1024)
        except OSError as error:
            raise DeviceLost(f"no adb server on {self.host}:{self.port} ({error})") from error
        try:
            yield AdbStream(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise DeviceLost(f"{whom}: the connection ended ({error!r})") from error
        finally:
            await _closed(writer)


async def _ask(stream: AdbStream, request: str, serial: str = "the adb server") -> None:
    data = request.encode()
    if len(data) > 0xFFFF:
        raise ValueError(f"a request of {len(data)} bytes; adb's limit is {0xFFFF}")
    stream.writer.write(f"{len(data):04x}".encode() + data)
    await _read_status(stream, serial)


async def _read_status(stream: AdbStream, serial: str) -> None:
    """Raises: DeviceLost, DeviceError: the server answered FAIL."""
    status = await stream.reader.readexactly(4)
    if status == b"OKAY":
        return
    message = (await _read_block(stream)).decode("utf-8", "replace") if status == b"FAIL" else repr(status)
    raise refusal(serial, message)


async def _read_block(stream: AdbStream) -> bytes:
    return await stream.reader.readexactly(int(await stream.reader.readexactly(4), 16))


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close at once: what was not sent is dropped, so that a peer that does not read cannot hold us up."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
