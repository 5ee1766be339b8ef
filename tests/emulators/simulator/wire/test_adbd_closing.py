"""The simulated adbd lets go of its connections, whatever they are in the middle of."""

from __future__ import annotations

import asyncio

from rlfactory.emulators.simulator.wire.adb_packets import (
    CNXN,
    MAX_PAYLOAD,
    OKAY,
    OPEN,
    VERSION,
    Packet,
    encode,
    read_packet,
)
from rlfactory.emulators.simulator.wire.adbd import AdbDaemon, Stream

T = 30.0
"""Seconds within which anything ends, however busy the machine is."""


async def test_a_connection_is_closed_even_when_the_phone_is_closed_in_the_middle_of_it() -> None:
    leaving = asyncio.Event()

    async def lingers(_stream: Stream) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            leaving.set()
            await asyncio.sleep(0.2)

    daemon = AdbDaemon("device::", lambda _name: lingers)
    reader, writer = await asyncio.open_connection("127.0.0.1", await daemon.start("127.0.0.1"))
    writer.write(encode(Packet(CNXN, VERSION, MAX_PAYLOAD, b"host::")))
    writer.write(encode(Packet(OPEN, 1, 0, b"shell:\0")))
    async with asyncio.timeout(T):
        assert [(await read_packet(reader)).command for _ in range(2)] == [CNXN, OKAY]
        writer.write_eof()
        await leaving.wait()
        await daemon.close()
        assert await reader.read() == b"", "the connection has ended"
    writer.close()
    await writer.wait_closed()
