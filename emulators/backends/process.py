"""Simulated phones in worker processes, reached as any phone is: through an adb server of our own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import logging
import sys
from typing import Any, Final

from emulators.adb import AdbDevice
from emulators.adb_client import AdbClient
from emulators.adb_server import start_adb_server, stop_process
from emulators.device import Device
from emulators.errors import DeviceError, DeviceLost
from emulators.simulator.phone import PhoneConfig

log = logging.getLogger(__name__)

_START_TIMEOUT_S: Final = 60.0


class WorkerProcess:
    """One `emulators.simulator.host` process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())
        self.phones = 0
        """Running or about to start."""

    @classmethod
    async def spawn(cls) -> WorkerProcess:
        """Start a process and return it once it is ready. Raises: DeviceError."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "emulators.simulator.host"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                ready = await process.stdout.readline()
        except BaseException as error:
            await stop_process(process)
            if isinstance(error, TimeoutError):
                raise DeviceError(f"a phone host did not start within {_START_TIMEOUT_S:g} s") from error
            raise
        if b"ready" not in ready:
            await stop_process(process)
            raise DeviceError("a phone host ended as it started; its messages are on standard error")
        return cls(process)

    @property
    def name(self) -> str:
        return f"host-{self._process.pid}"

    @property
    def alive(self) -> bool:
        return self._process.returncode is None and not self._reader.done()

    async def request(self, **request: object) -> dict[str, Any]:
        """Return the reply to a request. Raises: DeviceError: it is an error; DeviceLost: the process is gone."""
        if not self.alive:
            raise DeviceLost(f"{self.name} has ended")
        assert self._process.stdin is not None
        number = next(self._numbers)
        future = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            self._process.stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
            with contextlib.suppress(ConnectionError):
                await self._process.stdin.drain()
            reply = await future
        finally:
            del self._replies[number]
        if "error" in reply:
            raise DeviceError(f"{self.name}: {reply['error']}")
        return dict(reply)

    async def close(self) -> None:
        """End the process and its phones."""
        await stop_process(self._process)
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                reply = json.loads(line)
                future = self._replies.get(reply["id"])
                if future is not None and not future.done():
                    future.set_result(reply)
        finally:
            for future in self._replies.values():
                if not future.done():
                    future.set_exception(DeviceLost(f"{self.name} has ended"))


class ProcessSource:
    """Starts simulated phones in worker processes and connects to them over adb.

    The worker processes and the adb server start with the first phone and end with `close`.
    """

    def __init__(self, config: PhoneConfig, *, phones_per_process: int = 16) -> None:
        if phones_per_process < 1:
            raise ValueError(f"phones_per_process must be at least 1, got {phones_per_process}")
        self._config = config
        self._phones_per_process = phones_per_process
        self._workers: list[WorkerProcess] = []
        self._worker_of: dict[str, WorkerProcess] = {}
        self._adb: AdbClient | None = None
        self._adb_process: asyncio.subprocess.Process | None = None
        self._growing = asyncio.Lock()

    async def start(self) -> Device:
        adb = await self._adb_client()
        worker = await self._place()
        serial = ""
        try:
            ports = await worker.request(start=dataclasses.asdict(self._config))
            serial = str(ports["serial"])
            self._worker_of[serial] = worker
            await adb.connect_emulator(ports["console_port"], ports["adb_port"])
            return await AdbDevice.connect(adb, serial, timeout_s=_START_TIMEOUT_S, simulated=True)
        except BaseException:
            await self._stop(serial, worker)
            raise

    async def stop(self, device: Device) -> None:
        await device.close()
        serial = device.info.serial
        await self._stop(serial, self._worker_of.get(serial))

    def host(self, device: Device) -> str:
        worker = self._worker_of.get(device.info.serial)
        return worker.name if worker else ""

    async def _stop(self, serial: str, worker: WorkerProcess | None) -> None:
        self._worker_of.pop(serial, None)
        if worker is not None:
            worker.phones -= 1
        if self._adb is not None and serial:
            await self._adb.disconnect(serial)
        if worker is not None and serial:
            with contextlib.suppress(DeviceError):
                await worker.request(stop=serial)

    async def _adb_client(self) -> AdbClient:
        """Return a client of our adb server, which is started, or replaced when it has died."""
        async with self._growing:
            if self._adb is None or self._adb_process is None or self._adb_process.returncode is not None:
                self._adb_process, self._adb = await start_adb_server(timeout_s=_START_TIMEOUT_S)
            return self._adb

    async def _place(self) -> WorkerProcess:
        """Return the process for one more phone, counted in already: the fullest that has room, else a new one.

        Phones side by side in one process share their snapshots, so forks find their like there.
        """
        async with self._growing:
            for worker in [worker for worker in self._workers if not worker.alive]:
                self._workers.remove(worker)
                await worker.close()
            open_workers = [worker for worker in self._workers if worker.phones < self._phones_per_process]
            if not open_workers:
                open_workers = [await WorkerProcess.spawn()]
                self._workers += open_workers
            worker = max(open_workers, key=lambda worker: worker.phones)
            worker.phones += 1
            return worker

    async def close(self) -> None:
        for worker in self._workers:
            await worker.close()
        self._workers.clear()
        if self._adb_process is not None:
            await stop_process(self._adb_process)
            self._adb_process = self._adb = None
