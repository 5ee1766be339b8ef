"""A real adb server and simulated phones behind it, in a thread of their own so that blocking clients can be tested."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import adbutils
import pytest

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.server import adb_server
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.wire.host import PhoneHost
from rlfactory.emulators.simulator.wire.phone_server import PhonePorts

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class LabPhone:
    """A simulated phone that a real adb server has connected to."""

    phone: Phone
    ports: PhonePorts
    serial: str
    adb_port: int

    def adb(self, *arguments: str, stdin: bytes = b"", home: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run the real adb client on this phone; `home` is where it looks for the emulator's token."""
        command = [adbutils.adb_path(), "-P", str(self.adb_port), "-s", self.serial, *arguments]
        environment = {"HOME": str(home or Path.home())}
        return subprocess.run(command, input=stdin, capture_output=True, timeout=30, env=environment, check=False)


class Lab:
    """An event loop in a thread, with an adb server and a host of phones."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ready: Future[AdbClient] = Future()
        self._done = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), name="lab")
        self._thread.start()
        self.adb = self._ready.result(timeout=30)

    async def _serve(self) -> None:
        self.host = PhoneHost()
        try:
            async with adb_server() as client:
                self._ready.set_result(client)
                await self._done.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            raise
        finally:
            await self.host.close()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=30)

    def start_phone(self, config: PhoneConfig) -> LabPhone:
        return self.run(self._start_phone(config))

    def stop_phone(self, phone: LabPhone) -> None:
        self.run(self._stop_phone(phone))

    async def _start_phone(self, config: PhoneConfig) -> LabPhone:
        server = await self.host.start(config)
        assert server.ports is not None
        serial = await self.adb.connect_emulator(server.ports.console, server.ports.adb)
        async with asyncio.timeout(20):
            await self.adb.wait_for_device(serial)
        return LabPhone(phone=server.phone, ports=server.ports, serial=serial, adb_port=self.adb.port)

    async def _stop_phone(self, phone: LabPhone) -> None:
        await self.adb.disconnect(phone.serial)
        await self.host.stop(phone.serial)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(timeout=30)
        self._loop.close()


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture
def lab_phone(lab: Lab) -> Iterator[LabPhone]:
    """A small phone, new for each test."""
    phone = lab.start_phone(PhoneConfig(width_px=360, height_px=800))
    yield phone
    lab.stop_phone(phone)
