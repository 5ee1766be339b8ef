"""Simulated phones in worker processes, reached as any phone is: through an adb server of our own."""

from __future__ import annotations

import sys

from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.hosted import LOOPBACK, HostClient, HostedSource
from rlfactory.processes.child import Child


async def start_worker() -> HostClient:
    """Start a `rlfactory.emulators.simulator.wire.host` process; return once it is ready.

    Raises: DeviceError, ProcessError.
    """
    command = (sys.executable, "-m", "rlfactory.emulators.simulator.wire.host")
    return await HostClient.ready(await Child.start(*command, name="host"), LOOPBACK)


class ProcessSource(HostedSource):
    """Starts simulated phones in worker processes and connects to them over adb."""

    def __init__(self, config: PhoneConfig, *, phones_per_host: int = 16) -> None:
        super().__init__(config, start_worker, phones_per_host=phones_per_host)
