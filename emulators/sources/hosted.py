"""Simulated phones on hosts: processes or containers that each serve many, behind one adb server of our own.

A host speaks the JSON lines of `rlfactory.emulators.simulator.wire.host`; this module asks, places phones and connects
to them.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import logging
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.console import EmulatorConsole
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.adb.server import AdbServer
from rlfactory.emulators.device.deadline import within
from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import DeviceError, DeviceLost, DeviceUnsupported
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.processes.child import Child
from rlfactory.processes.errors import ImageMissing, ProcessError, ProgramEnded
from rlfactory.processes.program import Program

log = logging.getLogger(__name__)

START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 5.0
"""A host that does not end a phone in this time gets no new ones."""
_CONNECT_S: Final = 5.0
"""For the adb server to reach a phone; a host that is cut off would keep it for as long as TCP tries."""
_ADB_POLL_S: Final = 0.1
LOOPBACK: Final = "127.0.0.1"


@contextmanager
def as_device_errors() -> Iterator[None]:
    """Raise what goes wrong with processes and containers of phones as the phones' failure."""
    try:
        yield
    except ProcessError as error:
        failure = (DeviceUnsupported if isinstance(error, ImageMissing) else DeviceError)(str(error))
        failure.reason = error.reason
        raise failure from error


class HostClient:
    """Asks a host: one JSON object a line, replies matched to requests by `id`."""

    def __init__(self, program: Program, address: str) -> None:
        """Args: address: where the ports of its phones are; loopback for phones that adb takes for local emulators."""
        self.address = address
        self._program = program
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def ready(cls, program: Program, address: str) -> HostClient:
        """Return a client once the host says that it is ready; else the host is ended. Raises: DeviceError."""
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                while b"ready" not in await program.receive():
                    pass
        except BaseException as error:
            await program.stop()
            if isinstance(error, TimeoutError):
                raise DeviceError(f"{program.name} was not ready within {START_TIMEOUT_S:g} s") from error
            if isinstance(error, ProgramEnded):
                words = program.last_words or "what it said is on standard error"
                raise DeviceError(f"{program.name} ended as it started: {words}") from error
            raise
        return cls(program, address)

    @property
    def name(self) -> str:
        return self._program.name

    @property
    def alive(self) -> bool:
        return not self._reader.done()

    async def request(self, **request: object) -> dict[str, Any]:
        """Return the reply to a request. Raises: DeviceError: it is an error; DeviceLost: the host is gone."""
        if not self.alive:
            raise DeviceLost(f"{self.name} has ended")
        number = next(self._numbers)
        future = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            with contextlib.suppress(ProgramEnded):
                await self._program.send(json.dumps({"id": number, **request}).encode() + b"\n")
            reply = await future
        finally:
            del self._replies[number]
        if "error" in reply:
            raise DeviceError(f"{self.name}: {reply['error']}")
        return dict(reply)

    async def memory_bytes(self) -> int:
        """Return what the host takes of this machine's memory; 0 when it is gone. Raises: DeviceError."""
        with as_device_errors():
            return await self._program.memory_bytes()

    async def close(self) -> None:
        """End the host with its phones."""
        await self._program.stop()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        try:
            while True:
                reply = json.loads(await self._program.receive())
                future = self._replies.get(reply["id"])
                if future is not None and not future.done():
                    future.set_result(reply)
        except ProgramEnded:
            pass
        finally:
            for future in self._replies.values():
                if not future.done():
                    future.set_exception(DeviceLost(f"{self.name} has ended"))


@dataclasses.dataclass(eq=False)
class _Host:
    """A host, or one that is being started, and how it does."""

    starting: asyncio.Task[HostClient]
    phones: int = 0
    """Running or about to start."""
    condemned: bool = False
    """Something failed on it: it gets no new phones and ends with its last one."""

    @property
    def client(self) -> HostClient:
        """Only for those whom `_take_host` gave it."""
        return self.starting.result()

    @property
    def dead(self) -> bool:
        if not self.starting.done():
            return False
        return self.starting.cancelled() or self.starting.exception() is not None or not self.client.alive

    async def close(self) -> None:
        """End the host, if it came to be one."""
        self.starting.cancel()
        for client in await asyncio.gather(self.starting, return_exceptions=True):
            if not isinstance(client, BaseException):
                await client.close()


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _HostedPhone:
    host: _Host
    name: str
    """What the host calls it."""
    console_port: int
    adb_port: int

    @property
    def serial(self) -> str:
        """What the adb server calls it once it is connected."""
        address = self.host.client.address
        return f"emulator-{self.console_port}" if address == LOOPBACK else f"{address}:{self.adb_port}"

    async def connect(self, adb: AdbClient) -> None:
        """Raises: DeviceError: the adb server cannot reach the phone."""
        async with within(_CONNECT_S, f"connecting to {self.serial}"):
            if self.host.client.address == LOOPBACK:
                await adb.connect_emulator(self.console_port, self.adb_port)
            else:
                await adb.connect(self.serial)


class HostedSource:
    """Starts phones on hosts and connects to them over adb. See `source.PhoneSource`.

    Hosts and the adb server start with the first phone and end with `close`.
    """

    def __init__(
        self, config: PhoneConfig, start_host: Callable[[], Coroutine[Any, Any, HostClient]], *, phones_per_host: int
    ) -> None:
        """Args: start_host: starts one more host; raises DeviceError or ProcessError."""
        if phones_per_host < 1:
            raise ValueError(f"phones_per_host must be at least 1, got {phones_per_host}")
        self._config = config
        self._start_host = start_host
        self._phones_per_host = phones_per_host
        self._hosts: list[_Host] = []
        self._phones: dict[str, _HostedPhone] = {}
        self._adb_server = AdbServer(on_back=self._connect_again, start_timeout_s=START_TIMEOUT_S)
        self._adb: AdbClient | None = None
        self._growing = asyncio.Lock()

    async def start(self) -> Device:
        adb = await self._adb_client()
        host = await self._take_host()
        serial = ""
        try:
            ports = await host.client.request(start=dataclasses.asdict(self._config))
            phone = _HostedPhone(
                host=host, name=str(ports["serial"]), console_port=ports["console_port"], adb_port=ports["adb_port"]
            )
            serial = phone.serial
            self._phones[serial] = phone
            await phone.connect(adb)
            console = EmulatorConsole(phone.console_port, host.client.address)
            return await AdbDevice.connect(
                adb, serial, timeout_s=START_TIMEOUT_S, simulated=True, console=console, quick_jpegs=True
            )
        except BaseException:
            host.condemned = True
            if serial:
                await self._stop(serial)
            else:
                await self._leave(host)
            raise

    async def stop(self, device: Device) -> None:
        await device.close()
        await self._stop(device.info.serial)

    async def reconnect(self, device: Device) -> None:
        """Make the adb server know the phone again; it may have lost it, or have been replaced."""
        phone = self._phones.get(device.info.serial)
        if phone is None or not phone.host.client.alive:
            raise DeviceLost(f"{device.info.serial}: its host has ended")
        adb = await self._adb_client()
        await _answering(adb)
        await adb.disconnect(device.info.serial)
        await phone.connect(adb)
        await adb.wait_for_device(device.info.serial)

    async def memory_bytes(self, device: Device) -> int:
        """Return the phone's share of its host's memory."""
        phone = self._phones.get(device.info.serial)
        if phone is None:
            return 0
        return await phone.host.client.memory_bytes() // max(1, phone.host.phones)

    def host(self, device: Device) -> str:
        phone = self._phones.get(device.info.serial)
        return phone.host.client.name if phone else ""

    async def close(self) -> None:
        await asyncio.gather(*(host.close() for host in self._hosts))
        self._hosts.clear()
        self._phones.clear()
        await self._adb_server.close()
        self._adb = None

    async def _stop(self, serial: str) -> None:
        phone = self._phones.pop(serial, None)
        if self._adb is not None:
            with contextlib.suppress(DeviceError):
                async with within(_STOP_TIMEOUT_S, f"disconnecting {serial}"):
                    await self._adb.disconnect(serial)
        if phone is None:
            return
        try:
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await phone.host.client.request(stop=phone.name)
        except (DeviceError, TimeoutError):
            phone.host.condemned = True
        await self._leave(phone.host)

    async def _leave(self, host: _Host) -> None:
        """Count a phone out; a host that something failed on ends with its last phone."""
        host.phones -= 1
        if host.condemned and not host.phones and host in self._hosts:
            self._hosts.remove(host)
            await host.close()

    async def _adb_client(self) -> AdbClient:
        """Return a client of our adb server, which is started with the first phone."""
        async with self._growing:
            if self._adb is None:
                self._adb = await self._adb_server.start()
            return self._adb

    async def _connect_again(self, adb: AdbClient) -> None:
        """Tell a new adb server of the phones; one that cannot be reached is its pool's to notice."""
        failures = await asyncio.gather(
            *(phone.connect(adb) for phone in self._phones.values()), return_exceptions=True
        )
        for failure in failures:
            if failure is not None:
                log.warning("a phone stays unknown to the new adb server: %s", failure)

    async def _take_host(self) -> _Host:
        """Return the host for one more phone, counted in already: the fullest that has room, else a new one.

        Phones side by side on one host share their snapshots, so forks find their like there.
        """
        for host in [host for host in self._hosts if host.dead]:
            self._hosts.remove(host)
            await host.close()
        with_room = [host for host in self._hosts if host.phones < self._phones_per_host and not host.condemned]
        if with_room:
            host = max(with_room, key=lambda host: host.phones)
        else:
            host = _Host(asyncio.create_task(self._start_host()))
            self._hosts.append(host)
        host.phones += 1
        try:
            with as_device_errors():
                await asyncio.shield(host.starting)
        except BaseException:
            host.condemned = True
            await self._leave(host)
            raise
        return host


async def start_worker() -> HostClient:
    """Start a host that is a process of this machine; return once it is ready. Raises: DeviceError, ProcessError."""
    command = (sys.executable, "-m", "rlfactory.emulators.simulator.wire.host")
    return await HostClient.ready(await Child.start(*command, name="host"), LOOPBACK)


class ProcessSource(HostedSource):
    """Starts simulated phones in worker processes and connects to them over adb."""

    def __init__(self, config: PhoneConfig, *, phones_per_host: int = 16) -> None:
        super().__init__(config, start_worker, phones_per_host=phones_per_host)


async def _answering(adb: AdbClient) -> None:
    """Return when the adb server answers: one that died is being replaced (no later than the caller's deadline)."""
    while True:
        with contextlib.suppress(DeviceError):
            await adb.command("host:version")
            return
        await asyncio.sleep(_ADB_POLL_S)
