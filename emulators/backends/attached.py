"""Phones that run already, by their adb serials: emulators and devices started by someone else."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from emulators.adb import AdbDevice
from emulators.adb_client import AdbClient
from emulators.device import Device
from emulators.emulator_screen import EmulatorScreen, discovered_screen
from emulators.errors import DeviceError


class AttachedSource:
    """Hands out the phones of an adb server that runs already; they outlive the source."""

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
            adb_port: of the adb server that lists them.
            discovery: folders in which Android's emulators tell where their gRPC endpoints are.
        """
        if not serials:
            raise ValueError("no serials were given")
        if len(set(serials)) != len(serials):
            raise ValueError(f"a serial was given twice: {', '.join(serials)}")
        self._adb = AdbClient(adb_port)
        self._free = deque(serials)
        self._discovery = discovery
        self._timeout_s = start_timeout_s

    async def start(self) -> Device:
        if not self._free:
            raise DeviceError("all attached phones are in use")
        serial = self._free.popleft()
        try:
            return await AdbDevice.connect(
                self._adb, serial, timeout_s=self._timeout_s, screen=self._screen(serial), compare_frames=True
            )
        except BaseException:
            self._free.append(serial)
            raise

    def _screen(self, serial: str) -> EmulatorScreen | None:
        """The gRPC endpoint of an emulator on this machine, if it has one."""
        port = serial.removeprefix("emulator-")
        return discovered_screen(int(port), self._discovery) if port.isdecimal() else None

    async def stop(self, device: Device) -> None:
        """Let go of the phone: it may be tried again."""
        await device.close()
        self._free.append(device.info.serial)

    async def reconnect(self, device: Device) -> None:
        """Wait until the server lists the phone as online."""
        await self._adb.wait_for_device(device.info.serial)

    async def memory_bytes(self, device: Device) -> int:
        """Not known: the phone runs elsewhere."""
        return 0

    def host(self, device: Device) -> str:
        """Each emulator keeps its own snapshots."""
        return device.info.serial

    async def close(self) -> None:
        pass
