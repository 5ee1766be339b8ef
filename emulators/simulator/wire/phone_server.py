"""One simulated phone on the network: its adb port and its console port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.wire.adbd import AdbDaemon
from rlfactory.emulators.simulator.wire.console import ConsoleServer
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread
from rlfactory.emulators.simulator.wire.services import PhoneServices, banner
from rlfactory.emulators.simulator.wire.uia2 import Uia2Server

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone


@dataclass(frozen=True, kw_only=True, slots=True)
class PhonePorts:
    adb: int
    console: int

    @property
    def serial(self) -> str:
        """What an adb server calls the phone after `connect emu:CONSOLE,ADB`."""
        return f"emulator-{self.console}"


class PhoneServer:
    """Serves a phone from `start` to `close`."""

    def __init__(
        self, phone: Phone, snapshots: SnapshotStore, *, on_kill: Callable[[PhoneServer], None] | None = None
    ) -> None:
        """Args: on_kill: called when a client kills the phone through its console, after it has closed."""
        self.phone = phone
        self.thread = PhoneThread(phone)
        self.services = PhoneServices(self.thread, Uia2Server(self.thread))
        self._adbd = AdbDaemon(banner(phone), self.services.open)
        self._console = ConsoleServer(self.thread, snapshots, name=phone.config.serial, kill=self._killed)
        self._on_kill = on_kill
        self._killing: asyncio.Task[None] | None = None
        self.ports: PhonePorts | None = None

    async def start(self, host: str = "127.0.0.1", *, adb_port: int = 0, console_port: int = 0) -> PhonePorts:
        """Listen, and return the ports (the kernel's choice for 0). Raises: OSError: a port is in use."""
        self.ports = PhonePorts(
            adb=await self._adbd.start(host, adb_port), console=await self._console.start(host, console_port)
        )
        return self.ports

    async def close(self) -> None:
        await self._console.close()
        await self._adbd.close()
        self.thread.close()

    def _killed(self) -> None:
        self._killing = asyncio.create_task(self._die())

    async def _die(self) -> None:
        await self.close()
        if self._on_kill is not None:
            self._on_kill(self)


def uiautomator_jar() -> bytes:
    """Return uiautomator2's jar: a process that hosts phones reads it once, for `preload`."""
    return resources.files("uiautomator2").joinpath("assets/u2.jar").read_bytes()


def preload(phone: Phone, jar: bytes) -> None:
    """Put the jar where uiautomator2's client looks for it: phones then share one copy and are sent none."""
    phone.system.files.make_dirs("/data/local/tmp")
    phone.system.files.write("/data/local/tmp/u2.jar", jar, mode=0o644, modified_ns=0)
