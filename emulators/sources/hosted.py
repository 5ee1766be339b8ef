"""Simulated phones on hosts: processes or containers that each serve many, behind one adb server of our own.

A host speaks the JSON lines of `emulators.simulator.wire.host`; this module asks, places phones and connects to them.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.console import EmulatorConsole
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.adb.server import AdbServer
from rlfactory.emulators.device.deadline import within
from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import DeviceError, DeviceLost
from rlfactory.emulators.simulator.phone import PhoneConfig

log = logging.getLogger(__name__)

START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 5.0
"""A host that does not end a phone in this time gets no new ones."""
_CONNECT_S: Final = 5.0
"""For the adb server to reach a phone; a host that is cut off would keep it for as long as TCP tries."""
_ADB_POLL_S: Final = 0.1
LOOPBACK: Final = "127.0.0.1"


class HostChannel:
    """Requests to a host, and its replies: one JSON object a line, matched by `id`."""

    def __init__(self, name: str, readline: Callable[[], Awaitable[bytes]], writer: asyncio.StreamWriter) -> None:
        self._name = name
        self._readline = readline
        self._writer = writer
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())

    @property
    def open(self) -> bool:
        return not self._reader.done()

    async def request(self, **request: object) -> dict[str, Any]:
        """Return the reply to a request. Raises: DeviceError: it is an error; DeviceLost: the host is gone."""
        if not self.open:
            raise DeviceLost(f"{self._name} has ended")
        number = next(self._numbers)
        future = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(json.dumps({"id": number, **request}).encode() + b"\n")
            with contextlib.suppress(ConnectionError):
                await self._writer.drain()
            reply = await future
        finally:
            del self._replies[number]
        if "error" in reply:
            raise DeviceError(f"{self._name}: {reply['error']}")
        return dict(reply)

    async def close(self) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        try:
            while line := await self._readline():
                reply = json.loads(line)
                future = self._replies.get(reply["id"])
                if future is not None and not future.done():
                    future.set_result(reply)
        finally:
            for future in self._replies.values():
                if not future.done():
                    future.set_exception(DeviceLost(f"{self._name} has ended"))


class PhoneHosting(Protocol):
    """A process or container that serves phones."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str:
        """Where the ports of its phones are; loopback for phones that adb takes for local emulators."""
        ...

    @property
    def alive(self) -> bool: ...

    async def request(self, **request: object) -> dict[str, Any]:
        """See `HostChannel.request`."""
        ...

    async def memory_bytes(self) -> int:
        """Return what it takes of this machine's memory; 0 when it is gone."""
        ...

    async def close(self) -> None:
        """End it with its phones."""
        ...


@dataclasses.dataclass(eq=False)
class _Place:
    """A host, or one that is being started, and how it does."""

    spawning: asyncio.Task[PhoneHosting]
    phones: int = 0
    """Running or about to start."""
    condemned: bool = False
    """Something failed on it: it gets no new phones and ends with its last one."""

    @property
    def host(self) -> PhoneHosting:
        """Only for those whom `_take_place` gave it."""
        return self.spawning.result()

    @property
    def dead(self) -> bool:
        if not self.spawning.done():
            return False
        return self.spawning.cancelled() or self.spawning.exception() is not None or not self.host.alive

    async def close(self) -> None:
        """End the host, if it came to be one."""
        self.spawning.cancel()
        for host in await asyncio.gather(self.spawning, return_exceptions=True):
            if not isinstance(host, BaseException):
                await host.close()


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _Tenant:
    """A phone on its host."""

    place: _Place
    name: str
    """What the host calls the phone."""
    console_port: int
    adb_port: int


class HostedSource:
    """Starts phones on hosts and connects to them over adb. See `rlfactory.emulators.sources.source.PhoneSource`.

    Hosts and the adb server start with the first phone and end with `close`.
    """

    def __init__(
        self, config: PhoneConfig, spawn: Callable[[], Awaitable[PhoneHosting]], *, phones_per_host: int
    ) -> None:
        """Args: spawn: starts one more host. Raises: DeviceError."""
        self._config = config
        self._spawn = spawn
        self._phones_per_host = phones_per_host
        self._places: list[_Place] = []
        self._tenants: dict[str, _Tenant] = {}
        self._adb_server = AdbServer(on_back=self._connect_again, start_timeout_s=START_TIMEOUT_S)
        self._adb: AdbClient | None = None
        self._growing = asyncio.Lock()

    async def start(self) -> Device:
        adb = await self._adb_client()
        place = await self._take_place()
        serial = ""
        try:
            ports = await place.host.request(start=dataclasses.asdict(self._config))
            tenant = _Tenant(
                place=place,
                name=str(ports["serial"]),
                console_port=ports["console_port"],
                adb_port=ports["adb_port"],
            )
            serial = _serial(tenant)
            self._tenants[serial] = tenant
            await _connect(adb, tenant)
            console = EmulatorConsole(tenant.console_port, place.host.address)
            return await AdbDevice.connect(
                adb, serial, timeout_s=START_TIMEOUT_S, simulated=True, console=console, quick_jpegs=True
            )
        except BaseException:
            place.condemned = True
            if serial:
                await self._stop(serial)
            else:
                await self._leave(place)
            raise

    async def stop(self, device: Device) -> None:
        await device.close()
        await self._stop(device.info.serial)

    async def reconnect(self, device: Device) -> None:
        """Make the adb server know the phone again; it may have lost it, or have been replaced."""
        tenant = self._tenants.get(device.info.serial)
        if tenant is None or not tenant.place.host.alive:
            raise DeviceLost(f"{device.info.serial}: its host has ended")
        adb = await self._adb_client()
        await _answering(adb)
        await adb.disconnect(device.info.serial)
        await _connect(adb, tenant)
        await adb.wait_for_device(device.info.serial)

    async def memory_bytes(self, device: Device) -> int:
        """Return the phone's share of its host's memory."""
        tenant = self._tenants.get(device.info.serial)
        if tenant is None:
            return 0
        return await tenant.place.host.memory_bytes() // max(1, tenant.place.phones)

    def host(self, device: Device) -> str:
        tenant = self._tenants.get(device.info.serial)
        return tenant.place.host.name if tenant else ""

    async def close(self) -> None:
        await asyncio.gather(*(place.close() for place in self._places))
        self._places.clear()
        self._tenants.clear()
        await self._adb_server.close()
        self._adb = None

    async def _stop(self, serial: str) -> None:
        tenant = self._tenants.pop(serial, None)
        if self._adb is not None:
            with contextlib.suppress(DeviceError):
                async with within(_STOP_TIMEOUT_S, f"disconnecting {serial}"):
                    await self._adb.disconnect(serial)
        if tenant is None:
            return
        try:
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await tenant.place.host.request(stop=tenant.name)
        except (DeviceError, TimeoutError):
            tenant.place.condemned = True
        await self._leave(tenant.place)

    async def _leave(self, place: _Place) -> None:
        """Count a phone out; a host that something failed on ends with its last phone."""
        place.phones -= 1
        if place.condemned and not place.phones and place in self._places:
            self._places.remove(place)
            await place.close()

    async def _adb_client(self) -> AdbClient:
        """Return a client of our adb server, which is started with the first phone."""
        async with self._growing:
            if self._adb is None:
                self._adb = await self._adb_server.start()
            return self._adb

    async def _connect_again(self, adb: AdbClient) -> None:
        """Tell a new adb server of the phones; one that cannot be reached is its pool's to notice."""
        failures = await asyncio.gather(
            *(_connect(adb, tenant) for tenant in self._tenants.values()), return_exceptions=True
        )
        for failure in failures:
            if failure is not None:
                log.warning("a phone stays unknown to the new adb server: %s", failure)

    async def _take_place(self) -> _Place:
        """Return the host for one more phone, counted in already: the fullest that has room, else a new one.

        Phones side by side on one host share their snapshots, so forks find their like there.
        """
        for place in [place for place in self._places if place.dead]:
            self._places.remove(place)
            await place.close()
        with_room = [place for place in self._places if place.phones < self._phones_per_host and not place.condemned]
        if with_room:
            place = max(with_room, key=lambda place: place.phones)
        else:
            place = _Place(asyncio.create_task(_awaited(self._spawn())))
            self._places.append(place)
        place.phones += 1
        try:
            await asyncio.shield(place.spawning)
        except BaseException:
            place.condemned = True
            await self._leave(place)
            raise
        return place


async def _awaited(spawning: Awaitable[PhoneHosting]) -> PhoneHosting:
    return await spawning


async def _answering(adb: AdbClient) -> None:
    """Return when the adb server answers: one that died is being replaced (no later than the caller's deadline)."""
    while True:
        with contextlib.suppress(DeviceError):
            await adb.command("host:version")
            return
        await asyncio.sleep(_ADB_POLL_S)


def _serial(tenant: _Tenant) -> str:
    """What the adb server calls the phone once it is connected."""
    address = tenant.place.host.address
    return f"emulator-{tenant.console_port}" if address == LOOPBACK else f"{address}:{tenant.adb_port}"


async def _connect(adb: AdbClient, tenant: _Tenant) -> None:
    """Raises: DeviceError: the adb server cannot reach the phone."""
    address = tenant.place.host.address
    async with within(_CONNECT_S, f"connecting to {_serial(tenant)}"):
        if address == LOOPBACK:
            await adb.connect_emulator(tenant.console_port, tenant.adb_port)
        else:
            await adb.connect(f"{address}:{tenant.adb_port}")
