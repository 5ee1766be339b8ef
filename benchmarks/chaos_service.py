"""A service that is started again whenever it dies, on the same port, as a host's supervisor would do it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass, field
from typing import Final, Literal, Self

import psutil

STOP_TIMEOUT_S: Final = 30.0

Transport = Literal["adb", "docker"]


@dataclass(kw_only=True)
class ServiceUnderFire:
    """`rlfactory serve`, kept running; an async context manager."""

    transport: Transport
    phones: int
    spares: int
    phones_per_host: int
    size: tuple[int, int]
    port: int = field(init=False, default=0)
    pids: list[int] = field(init=False, default_factory=list)
    """Of the service, oldest first."""
    children: dict[int, float] = field(init=False, default_factory=dict)
    """Processes that a service of ours started: id and time of creation."""
    _process: Process | None = field(init=False, default=None)
    _keeper: asyncio.Task[None] | None = field(init=False, default=None)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self.pids[-1]

    async def __aenter__(self) -> Self:
        self.port = _free_port()
        await self._start()
        self._keeper = asyncio.create_task(self._keep(), name="supervisor")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End the service as its operator would. Idempotent."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)
        self.remember_children()
        process = self._process
        assert process is not None
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def kill(self) -> None:
        """End the service as a crash would."""
        self.remember_children()
        os.kill(self.pid, signal.SIGKILL)

    def remember_children(self) -> None:
        """Note which processes the service has started, so that none can outlive it unseen."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    self.children[child.pid] = child.create_time()

    def adb_server(self) -> psutil.Process | None:
        """Return the process of the service's adb server itself; None while there is none."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if child.name() == "adb":
                        return child
        return None

    def workers(self) -> list[psutil.Process]:
        """Return the processes that host phones."""
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if "rlfactory.emulators.simulator.wire.host" in child.cmdline():
                        found.append(child)
        return found

    async def _keep(self) -> None:
        while True:
            assert self._process is not None
            await self._process.wait()
            await self._start()

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "rlfactory", "serve", "--json", "--port", str(self.port)),
            *("--stop-on-eof", "--transport", self.transport),
            *("--phones", str(self.phones), "--spares", str(self.spares)),
            *("--phones-per-host", str(self.phones_per_host), "--max-sessions", str(4 * self.phones)),
            *("--width", str(self.size[0]), "--height", str(self.size[1])),
            stdin=PIPE,
            stdout=PIPE,
            stderr=sys.stderr if os.environ.get("CHAOS_VERBOSE") else DEVNULL,
        )
        self.pids.append(self._process.pid)
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if line:
            assert json.loads(line)["address"] == self.address


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
