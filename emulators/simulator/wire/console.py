"""The emulator console of a simulated phone: what `adb emu` and telnet speak to Android's emulator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.emulators.simulator.wire.console_commands import ConsoleError, run_console
from rlfactory.emulators.simulator.wire.listener import Listener
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread

log = logging.getLogger(__name__)

MAX_LINE: Final = 16 * 1024
_GREETING = "Android Console: type 'help' for a list of commands\r\nOK\r\n"


class ConsoleServer(Listener):
    """Serves one phone's console port."""

    limit_bytes = MAX_LINE

    def __init__(self, thread: PhoneThread, snapshots: SnapshotStore, *, name: str, kill: Callable[[], None]) -> None:
        """Args: kill: ends the phone."""
        super().__init__()
        self._thread = thread
        self._snapshots = snapshots
        self._name = name
        self._kill = kill

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(_GREETING.encode())
        try:
            await self._converse(reader, writer)
        except ValueError as error:
            log.info("closing a console connection: %s", error)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            text = line.decode("utf-8", "replace").strip()
            match text.split():
                case []:
                    continue
                case ["quit" | "exit", *_]:
                    return
                case ["kill", *_]:
                    writer.write(b"OK: killing emulator, bye bye\r\n")
                    await writer.drain()
                    self._kill()
                    return
                case _:
                    writer.write(await self._answer(text))
                    await writer.drain()

    async def _answer(self, line: str) -> bytes:
        """Return what a command prints, with the OK or KO that ends it."""
        try:
            text = await self._thread.call(lambda phone: self._run(phone, line))
        except ConsoleError as error:
            return f"KO: {error}\r\n".encode()
        return text.replace("\n", "\r\n").encode() + b"OK\r\n"

    def _run(self, phone: Phone, line: str) -> str:
        if line.split()[:2] == ["avd", "name"]:
            return f"{self._name}\n"
        return run_console(phone, self._snapshots, line)
