"""The emulator console of a simulated phone: what `adb emu` and telnet speak to Android's emulator."""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Callable
from typing import Final

from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.wire.listener import Listener
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread

log = logging.getLogger(__name__)

MAX_LINE: Final = 16 * 1024
_GREETING = "Android Console: type 'help' for a list of commands\r\nOK\r\n"
_HELP = """Android console commands:

    help|h|?         print a list of commands
    ping             check if the emulator is alive
    quit|exit        quit control session
    auth             user authentication for the emulator console
    avd              control virtual device execution
    sms              SMS related commands
    gsm              GSM related commands
    kill             terminate the emulator
"""


_ANSWERS: Final = {
    **dict.fromkeys(("help", "h", "?"), _HELP),
    "ping": "I am alive!\n",
    "auth": "Android Console: type 'help' for a list of commands\n",
    "avd status": "virtual device is running\n",
}
"""To commands by how they begin, whatever follows."""


class ConsoleError(Exception):
    """The command failed; the message follows `KO: `."""


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
            text = await self._run(line)
        except ConsoleError as error:
            return f"KO: {error}\r\n".encode()
        return text.replace("\n", "\r\n").encode() + b"OK\r\n"

    async def _run(self, line: str) -> str:
        words = line.split()
        fixed = {**_ANSWERS, "avd name": f"{self._name}\n"}
        for start in (" ".join(words[:2]), words[0]):
            if start in fixed:
                return fixed[start]
        match words:
            case ["sms", "send", *_]:
                return await self._sms_send(*line.split(maxsplit=3)[2:])
            case ["avd", "snapshot", *rest]:
                return await self._avd_snapshot(rest)
            case ["gsm", *rest]:
                return await self._gsm(rest)
            case _:
                raise ConsoleError("unknown command, try 'help'")

    # --- commands

    async def _avd_snapshot(self, words: list[str]) -> str:
        match words:
            case ["list"]:
                names = self._snapshots.names()
                return "".join(f"{name}\n" for name in names) or "There is no snapshot available.\n"
            case ["save", name]:
                await self._thread.call(lambda phone: self._save(name))
            case ["load", name]:
                await self._thread.call(lambda phone: self._load(name))
            case ["del" | "delete" | "remove", name]:
                if not self._snapshots.delete(name):
                    raise ConsoleError(f"no snapshot {name!r}")
            case _:
                raise ConsoleError("usage: avd snapshot list|save NAME|load NAME|del NAME")
        return ""

    def _save(self, name: str) -> None:
        try:
            self._snapshots.save(self._thread.phone, name)
        except OverflowError as error:
            raise ConsoleError(str(error)) from error

    def _load(self, name: str) -> None:
        try:
            self._snapshots.load(self._thread.phone, name)
        except KeyError:
            raise ConsoleError(f"no snapshot {name!r}") from None

    async def _sms_send(self, number: str = "", body: str = "") -> str:
        """An SMS comes in: it lands in the provider's inbox, which the messages app shows."""
        if not body:
            raise ConsoleError("missing argument, try 'sms send <phonenumber> <text message>'")
        command = (
            f"content insert --uri content://sms/inbox --bind address:s:{shlex.quote(number)} "
            f"--bind body:s:{shlex.quote(body)}"
        )
        output = await self._thread.call(lambda phone: phone.shell(command))
        if output.exit_code:
            raise ConsoleError("this phone has no messages provider")
        return ""

    async def _gsm(self, words: list[str]) -> str:
        states = {"call": 1, "accept": 2, "cancel": 0}
        if len(words) != 2 or words[0] not in states:
            raise ConsoleError("usage: gsm call|accept|cancel NUMBER")

        def ring() -> None:
            self._thread.phone.state.call_state = states[words[0]]
            self._thread.phone.invalidate()

        await self._thread.call(lambda phone: ring())
        return ""
