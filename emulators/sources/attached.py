"""Phones that run already: emulators, containers and devices started by someone else, who also ends them.

What a phone can do is found out by asking: an emulator's console (snapshots) and gRPC endpoint (frames) are looked
for beside its adb port, where the emulator and our containers put them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.console import EmulatorConsole
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.adb.emulator_screen import EmulatorScreen, discovered_screen
from rlfactory.emulators.adb.server import AdbServer
from rlfactory.emulators.device.device import Device, Snapshot
from rlfactory.emulators.device.errors import DeviceError, DeviceUnsupported

log = logging.getLogger(__name__)

GRPC_PORT: Final = 8554
"""Of the emulator in a container of ours."""
_ASK_S: Final = 3.0
_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoints:
    """Where the parts of a phone are to be looked for, by its serial."""

    console: tuple[str, int] | None
    """Host and port."""
    grpc: tuple[str, int] | None

    @classmethod
    def of(cls, serial: str) -> Endpoints:
        """Read a serial: emulator-CONSOLE on this machine, HOST:ADB elsewhere, anything else a physical phone."""
        name, _, number = serial.rpartition("-")
        if name == "emulator" and number.isdecimal():
            return cls(console=(_LOOPBACK, int(number)), grpc=None)
        host, _, port = serial.rpartition(":")
        if host and port.isdecimal():
            return cls(console=(host, int(port) - 1), grpc=(host, GRPC_PORT))
        return cls(console=None, grpc=None)


class AttachedSource:
    """Hands out phones that run already; they outlive the source."""

    def __init__(
        self,
        serials: Sequence[str],
        *,
        adb_port: int = 5037,
        discovery: tuple[Path, ...] = (),
        start_timeout_s: float = 60.0,
    ) -> None:
        """Take phones that are there.

        Args:
            serials: as adb lists them, or HOST:PORT of phones that are then connected to.
            adb_port: of the adb server that knows them; 0 for one of our own, which knows HOST:PORT only.
            discovery: folders in which emulators of this machine tell where their gRPC endpoints are.
        """
        if not serials:
            raise ValueError("no serials were given")
        if len(set(serials)) != len(serials):
            raise ValueError(f"a serial was given twice: {', '.join(serials)}")
        self._serials = tuple(serials)
        self._free = deque(serials)
        self._adb = AdbClient(adb_port)
        self._server = AdbServer(on_back=self._connect_again) if adb_port == 0 else None
        self._starting = asyncio.Lock()
        self._discovery = discovery
        self._timeout_s = start_timeout_s
        self._found: dict[str, tuple[EmulatorConsole, Snapshot]] = {}
        """The state that each phone was found in, by serial."""

    async def start(self) -> Device:
        if not self._free:
            raise DeviceError("all attached phones are in use")
        serial = self._free.popleft()
        try:
            return await self._start(serial)
        except BaseException:
            self._free.append(serial)
            raise

    async def _start(self, serial: str) -> AdbDevice:
        """Connect to a phone and bring it into the state that it was found in."""
        adb = await self._adb_client()
        await _connect(adb, serial)
        console, screen = await self._parts(Endpoints.of(serial))
        device = await AdbDevice.connect(
            adb, serial, timeout_s=self._timeout_s, console=console, screen=screen, compare_frames=True
        )
        try:
            if serial in self._found:  # whoever had it may have left anything
                await device.load_snapshot(self._found[serial][1], timeout_s=self._timeout_s)
            elif console is not None:
                with contextlib.suppress(DeviceUnsupported):
                    self._found[serial] = (console, await device.save_snapshot(timeout_s=self._timeout_s))
        except BaseException:
            await device.close()
            raise
        return device

    async def _parts(self, endpoints: Endpoints) -> tuple[EmulatorConsole | None, EmulatorScreen | None]:
        """Return the console and the gRPC endpoint of a phone, as far as they answer."""
        console = screen = None
        if endpoints.console is not None:
            host, port = endpoints.console
            console = EmulatorConsole(port, host)
            if not await _answers(console.command("ping")):
                console = None
            elif host == _LOOPBACK:
                screen = discovered_screen(port, self._discovery)
        if endpoints.grpc is not None:
            screen = EmulatorScreen("{}:{}".format(*endpoints.grpc))
        if screen is not None and not await _answers(screen.version()):
            await screen.close()
            screen = None
        return console, screen

    async def stop(self, device: Device) -> None:
        """Let go of the phone: it may be tried again."""
        await device.close()
        self._free.append(device.info.serial)

    async def reconnect(self, device: Device) -> None:
        """Wait until the server lists the phone as online."""
        await _connect(self._adb, device.info.serial)
        await self._adb.wait_for_device(device.info.serial)

    async def memory_bytes(self, device: Device) -> int:
        """Not known: the phone runs elsewhere."""
        return 0

    def host(self, device: Device) -> str:
        """Each emulator keeps its own snapshots."""
        return device.info.serial

    async def close(self) -> None:
        """Leave the phones in the state that they were found in."""
        for serial, (console, snapshot) in self._found.items():
            try:
                async with asyncio.timeout(self._timeout_s):
                    await console.load_snapshot(snapshot.name)
                    await console.delete_snapshot(snapshot.name)
            except (DeviceError, TimeoutError) as error:
                log.warning("%s is not in the state that it was found in: %s", serial, error)
        self._found.clear()
        if self._server is not None:
            await self._server.close()

    async def _adb_client(self) -> AdbClient:
        async with self._starting:
            if self._server is not None and self._adb.port == 0:
                self._adb = await self._server.start()
            return self._adb

    async def _connect_again(self, adb: AdbClient) -> None:
        for serial in self._serials:
            with contextlib.suppress(DeviceError):  # its pool will notice
                await _connect(adb, serial)


async def _connect(adb: AdbClient, serial: str) -> None:
    """Make the server know a phone at HOST:PORT; others it knows. Raises: DeviceLost."""
    if Endpoints.of(serial).grpc is not None:
        await adb.connect(serial)


async def _answers(question: Awaitable[str]) -> bool:
    """Tell whether a question is answered soon."""
    try:
        async with asyncio.timeout(_ASK_S):
            await question
    except (DeviceError, TimeoutError):
        return False
    return True
