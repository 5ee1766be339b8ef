"""Where phones come from: the contract of `rlfactory.emulators.sources`."""

from __future__ import annotations

from typing import Protocol

from rlfactory.emulators.device.device import Device


class PhoneSource(Protocol):
    """Starts phones, and ends them."""

    async def start(self) -> Device:
        """Return a new phone, booted and connected. Raises: DeviceError."""
        ...

    async def stop(self, device: Device) -> None:
        """End a phone that `start` returned, whatever state it is in. Never raises `DeviceError`."""
        ...

    async def reconnect(self, device: Device) -> None:
        """Bring back the connection to a phone that runs still: the adb server may have been replaced meanwhile.

        Raises: DeviceError: it runs no more, or does not answer. The caller's deadline bounds it.
        """
        ...

    async def memory_bytes(self, device: Device) -> int:
        """Return what the phone takes of its host's memory; 0 when that is not known. Raises: DeviceError."""
        ...

    def host(self, device: Device) -> str:
        """Name the host of a phone: phones of one host can load each other's snapshots."""
        ...

    async def close(self) -> None:
        """Let go of everything the source holds; its phones have been stopped."""
        ...
