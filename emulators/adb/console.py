"""A client of the emulator console: snapshots and calls of Android's emulator, and of whoever speaks like it."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rlfactory.emulators.device.errors import DeviceError, DeviceLost

_TOKEN_FILE = re.compile(r"auth_token> in\s+'([^']+)'")


class ConsoleRefused(DeviceError):
    """The console answered KO."""

    reason = "CONSOLE_REFUSED"


class EmulatorConsole:
    """One emulator's console; each command is a connection of its own. Deadlines are the caller's."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._host = host
        self._port = port

    async def command(self, command: str) -> str:
        """Return what a command prints.

        Raises:
            ConsoleRefused: the console answered KO.
            DeviceLost: there is no console, or it went away.
        """
        if "\n" in command or "\r" in command:
            raise ValueError(f"a console command is one line, got {command!r}")
        async with self._connected() as (reader, writer):
            await self._authenticate(await _read_answer(reader), reader, writer)
            writer.write(f"{command}\n".encode())
            return await _read_answer(reader)

    async def save_snapshot(self, name: str) -> None:
        await self.command(f"avd snapshot save {name}")

    async def load_snapshot(self, name: str) -> None:
        await self.command(f"avd snapshot load {name}")

    async def delete_snapshot(self, name: str) -> None:
        await self.command(f"avd snapshot del {name}")

    async def kill(self) -> None:
        """End the emulator."""
        with contextlib.suppress(DeviceLost):
            await self.command("kill")

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        where = f"the console on {self._host}:{self._port}"
        try:
            reader, writer = await asyncio.open_connection(self._host, self._port)
        except OSError as error:
            raise DeviceLost(f"{where} does not answer ({error})") from error
        try:
            yield reader, writer
        except OSError as error:
            raise DeviceLost(f"{where} went away ({error!r})") from error
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _authenticate(self, greeting: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send the token when the console asks for it: its greeting names the file that holds it."""
        token_file = _TOKEN_FILE.search(greeting)
        if token_file is None:
            return
        try:
            token = await asyncio.to_thread(Path(token_file[1]).read_text)
        except OSError as error:
            raise DeviceError(f"the console wants a token, and {token_file[1]} cannot be read: {error}") from error
        writer.write(f"auth {token.strip()}\n".encode())
        await _read_answer(reader)


async def _read_answer(reader: asyncio.StreamReader) -> str:
    """Return the lines before OK. Raises: ConsoleRefused: KO came; DeviceLost: the end came."""
    lines: list[str] = []
    while line := await reader.readline():
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text == "OK" or text.startswith("OK:"):
            return "\n".join(lines)
        if text.startswith("KO"):
            raise ConsoleRefused(text.removeprefix("KO").removeprefix(":").strip())
        lines.append(text)
    raise DeviceLost("the console closed the connection")
