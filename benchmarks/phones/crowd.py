"""A thousand phones on one machine: what they take together, each in use and answering. For `benchmarks.phones`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import asdict

from rich.progress import track

from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.simulator.wire.adb_packets import (
    CNXN,
    MAX_PAYLOAD,
    OPEN,
    VERSION,
    WRTE,
    Packet,
    encode,
    read_packet,
)
from rlfactory.emulators.sources.hosted import start_worker

TIMEOUT_S = 60.0
HELLO = encode(Packet(CNXN, VERSION, MAX_PAYLOAD, b"host::"))
USE = b"am start -n com.android.settings/.Settings >/dev/null && uiautomator dump /sdcard/w.xml >/dev/null && echo well"


async def answers(port: int, command: bytes = b"echo well") -> bool:
    """Ask a phone by its adb port to do something that ends with the word "well"."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(HELLO + encode(Packet(OPEN, 1, 0, b"shell:" + command + b"\0")))
        async with asyncio.timeout(TIMEOUT_S):
            while (packet := await read_packet(reader)).command != WRTE:
                pass
    except (TimeoutError, asyncio.IncompleteReadError):
        return False
    finally:
        writer.close()
    return packet.payload == b"well\n"


async def crowd(phones: int, processes: int) -> tuple[int, int]:
    """Start phones of full size in several processes, use each; return how many answer then, and megabytes in all."""
    async with AsyncExitStack() as stack:
        hosts, ports = [], []
        for _ in range(processes):
            hosts.append(await start_worker())
            stack.push_async_callback(hosts[-1].close)
        start = asdict(PhoneConfig())
        for number in track(range(phones), f"{phones} phones", disable=not sys.stderr.isatty()):
            reply = await hosts[number % processes].request(start={**start, "serial": f"phone-{number}"})
            ports.append(int(reply["adb_port"]))
            await answers(ports[-1], USE)
        answered = [await answers(port) for port in ports]
        taken = await asyncio.gather(*(host.memory_bytes() for host in hosts))
    return sum(answered), round(sum(taken) / 1e6)
