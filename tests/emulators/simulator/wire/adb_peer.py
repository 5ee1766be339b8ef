"""An adb server's end of a transport, packet by packet, and a small phone to connect it to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.wire.adb_packets import (
    CLSE,
    CNXN,
    MAX_PAYLOAD,
    OKAY,
    OPEN,
    VERSION,
    WRTE,
    Packet,
    encode,
    read_packet,
)
from rlfactory.emulators.simulator.wire.phone_server import PhoneServer

T = 30.0
"""Seconds within which anything ends, however busy the machine is."""

HELLO = encode(Packet(CNXN, VERSION, MAX_PAYLOAD, b"host::features=shell_v2"))


class Peer:
    """An adb server's end of a transport."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, *packet: int | bytes) -> None:
        self.writer.write(encode(Packet(*packet)))  # type: ignore[arg-type]
        await self.writer.drain()

    async def hear(self) -> Packet:
        async with asyncio.timeout(T):
            return await read_packet(self.reader)

    async def open(self, number: int, service: bytes) -> Packet:
        """Ask for a service and return the answer: its `first` is the phone's number of the stream."""
        await self.say(OPEN, number, 0, service + b"\0")
        return await self.hear()

    async def run(self, number: int, service: bytes) -> bytes:
        """Open a service and return all it writes."""
        await self.say(OPEN, number, 0, service + b"\0")
        data = b""
        while (packet := await self.hear()).command != CLSE or packet.second != number:
            if packet.command == WRTE and packet.second == number:
                data += packet.payload
                await self.say(OKAY, number, packet.first)
        return data

    async def is_cut_off(self) -> bool:
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(T):
                while await self.reader.read(4096):
                    pass
        return True


@asynccontextmanager
async def served() -> AsyncIterator[PhoneServer]:
    server = PhoneServer(Phone(PhoneConfig(width_px=270, height_px=600)), SnapshotStore())
    server.phone.system.files.write("/big", b"x" * 3_000_000)
    await server.start()
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def connected(server: PhoneServer, *, hello: bytes = HELLO) -> AsyncIterator[Peer]:
    assert server.ports is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", server.ports.adb)
    writer.write(hello)
    try:
        yield Peer(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def greeted() -> AsyncIterator[tuple[PhoneServer, Peer]]:
    """A phone, and a peer that has had its banner."""
    async with served() as server, connected(server) as peer:
        assert (await peer.hear()).command == CNXN
        yield server, peer
