"""Does an idle phone still answer? The cheapest question that a hung, paused or cut off phone cannot answer."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import DeviceError

_QUESTION: Final = "echo here"


async def probe(device: Device, *, timeout_s: float) -> None:
    """Raises: DeviceError: the phone does not answer in time, or answers nonsense."""
    answer = await device.shell(_QUESTION, timeout_s=timeout_s)
    if answer.exit_code or answer.stdout.strip() != "here":
        raise DeviceError(f"{device.info.serial} answered {_QUESTION!r} with {answer.stdout[:100]!r}")
