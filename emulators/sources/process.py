"""Simulated phones in worker processes, reached as any phone is: through an adb server of our own."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from rlfactory.emulators.adb.server import stop_process
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.hosted import LOOPBACK, START_TIMEOUT_S, HostChannel, HostedSource


class WorkerProcess:
    """One `rlfactory.emulators.simulator.wire.host` process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        self._process = process
        self._channel = HostChannel(self.name, process.stdout.readline, process.stdin)

    @classmethod
    async def spawn(cls) -> WorkerProcess:
        """Start a process and return it once it is ready. Raises: DeviceError."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "rlfactory.emulators.simulator.wire.host"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                ready = await process.stdout.readline()
        except BaseException as error:
            await stop_process(process)
            if isinstance(error, TimeoutError):
                raise DeviceError(f"a phone host did not start within {START_TIMEOUT_S:g} s") from error
            raise
        if b"ready" not in ready:
            await stop_process(process)
            raise DeviceError("a phone host ended as it started; its messages are on standard error")
        return cls(process)

    @property
    def name(self) -> str:
        return f"host-{self._process.pid}"

    @property
    def address(self) -> str:
        return LOOPBACK

    @property
    def alive(self) -> bool:
        return self._process.returncode is None and self._channel.open

    async def request(self, **request: object) -> dict[str, Any]:
        """See `HostChannel.request`."""
        return await self._channel.request(**request)

    async def memory_bytes(self) -> int:
        """Return its resident memory; 0 when it is gone."""
        return _resident_bytes(self._process.pid)

    async def close(self) -> None:
        """End the process and its phones."""
        await stop_process(self._process)
        await self._channel.close()


class ProcessSource(HostedSource):
    """Starts simulated phones in worker processes and connects to them over adb."""

    def __init__(self, config: PhoneConfig, *, phones_per_process: int = 16) -> None:
        if phones_per_process < 1:
            raise ValueError(f"phones_per_process must be at least 1, got {phones_per_process}")
        super().__init__(config, WorkerProcess.spawn, phones_per_host=phones_per_process)


def _resident_bytes(pid: int) -> int:
    """Return the resident memory of a process (proc_pid_statm(5)); 0 when it is gone."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
