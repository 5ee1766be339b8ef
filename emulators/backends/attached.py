"""Phones that run already, by their adb serials: emulators and devices started by someone else."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from emulators.adb import AdbDevice
from emulators.adb_client import AdbClient
from emulators.device import Device
from emulators.errors import DeviceError


class AttachedSource:
    """Hands out the phones of an adb server that runs already; they outlive the source."""

    def __init__(self, serials: Sequence[str], *, adb_port: int = 5037, start_timeout_s: float = 60.0) -> None:
        """Args: adb_port: of the adb server that lists the phones."""
        if not serials:
            raise ValueError("no serials were given")
        if len(set(serials)) != len(serials):
            raise ValueError(f"a serial was given twice: {', '.join(serials)}")
        self._adb = AdbClient(adb_port)
        self._free = deque(serials)
        self._timeout_s = start_timeout_s

    async def start(self) -> Device:
        if not self._free:
            raise DeviceError("all attached phones are in use")
        serial = self._free.popleft()
        try:
            return await AdbDevice.connect(self._adb, serial, timeout_s=self._timeout_s)
        except BaseException:
            self._free.append(serial)
            raise

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
