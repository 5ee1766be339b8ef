"""Large outputs of a phone, received straight into one buffer.

A raw frame is 10 MB. asyncio's streams copy it four times on its way, which costs more than all the rest of a look.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from rlfactory.emulators.device.errors import DeviceError, DeviceLost

_FIRST_BYTES: Final = 1 << 20
LOST: Final = ("not found", "offline", "closed", "no devices", "disconnected", "unauthorized", "still authorizing")
"""Words in the adb server's refusals which say that the phone is not there."""


async def receive_all(host: str, port: int, serial: str, service: str, *, expected_bytes: int = 0) -> bytearray:
    """Open a service of a phone through the adb server and return all that it says until it ends.

    Args: expected_bytes: how much that was the last time; a buffer that fits need not grow.
    Raises: DeviceLost: the phone is not there, or went away; DeviceError: it refuses the service.
    """
    async with _connected(host, port, serial) as wire:
        await _ask(wire, f"host:tport:serial:{serial}", serial)
        await _exactly(wire, 8)
        await _ask(wire, service, serial)
        return await _rest(wire, max(_FIRST_BYTES, expected_bytes + 1))


@asynccontextmanager
async def _connected(host: str, port: int, serial: str) -> AsyncIterator[socket.socket]:
    wire = socket.socket()
    try:
        wire.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(wire, (host, port))
        except OSError as error:
            raise DeviceLost(f"no adb server on {host}:{port} ({error})") from error
        try:
            yield wire
        except (EOFError, OSError) as error:
            raise DeviceLost(f"{serial}: the connection ended ({error!r})") from error
    finally:
        wire.close()


async def _rest(wire: socket.socket, size: int) -> bytearray:
    loop = asyncio.get_running_loop()
    buffer, length = bytearray(size), 0
    while True:
        if length == len(buffer):
            buffer.extend(bytes(len(buffer)))
        with memoryview(buffer) as view, view[length:] as free:  # released, whoever may still know of it
            received = await loop.sock_recv_into(wire, free)
        if not received:
            del buffer[length:]
            return buffer
        length += received


async def _exactly(wire: socket.socket, size: int) -> bytes:
    """Raises: EOFError."""
    loop = asyncio.get_running_loop()
    data = b""
    while len(data) < size:
        more = await loop.sock_recv(wire, size - len(data))
        if not more:
            raise EOFError(f"{len(data)} bytes of {size}")
        data += more
    return data


async def _ask(wire: socket.socket, request: str, serial: str) -> None:
    data = request.encode()
    await asyncio.get_running_loop().sock_sendall(wire, f"{len(data):04x}".encode() + data)
    status = await _exactly(wire, 4)
    if status == b"OKAY":
        return
    message = repr(status)
    with contextlib.suppress(ValueError):
        if status == b"FAIL":
            message = (await _exactly(wire, int(await _exactly(wire, 4), 16))).decode("utf-8", "replace")
    raise refusal(serial, message)


def refusal(serial: str, message: str) -> DeviceError:
    """Return what it means that the adb server refused a request about a phone."""
    return (DeviceLost if any(word in message for word in LOST) else DeviceError)(f"{serial}: {message}")
