"""Phones that stand until `emulators down`: started together, found by label, each reached by adb at host:port."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.adb.server import adb_server
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.sources.docker import SIMULATOR_IMAGE, memory_for
from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.processes.docker.engine import Cell, DockerEngine
from rlfactory.processes.docker.spec import PREFIX, CellInfo, CellSpec, ContainerLimits, Scope

FIRST_ADB_PORT: Final = 5555
KVM: Final = Path("/dev/kvm")
_STARTING_AT_ONCE: Final = 8
_RETRY_S: Final = 0.25


_MEMORY_MB: Final = {SourceKind.EMULATOR: 6144, SourceKind.REDROID: 3072}
"""Of one phone's container."""
_DISK_MB: Final = {SourceKind.EMULATOR: 8000, SourceKind.REDROID: 2000}
_BOOT_S: Final = {SourceKind.DOCKER: 120.0, SourceKind.EMULATOR: 600.0, SourceKind.REDROID: 180.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingConfig:
    """Phones to start, all alike."""

    kind: SourceKind = SourceKind.DOCKER
    phones: int = 1
    phones_per_container: int = 8
    """Of simulated ones; others have a container each."""
    width_px: int = 1080
    height_px: int = 2400
    realtime: bool = False
    image: str = ""
    """"": the backend's own."""
    cpus: float = 0.0
    """That a container may use. 0: all."""
    allow: tuple[str, ...] = ()
    """HOST:PORT that the phones may reach; see `CellSpec`."""

    def __post_init__(self) -> None:
        for name in ("phones", "phones_per_container"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @property
    def per_container(self) -> int:
        return min(self.phones, self.phones_per_container) if self.kind is SourceKind.DOCKER else 1

    @property
    def containers(self) -> int:
        return math.ceil(self.phones / self.per_container)

    @property
    def boot_timeout_s(self) -> float:
        return _BOOT_S[self.kind]

    @property
    def expected_memory_mb(self) -> int:
        """What they take all together, once in use."""
        if self.kind is SourceKind.DOCKER:
            return 100 * self.containers + 25 * self.phones
        return _MEMORY_MB[self.kind] * self.phones

    @property
    def expected_disk_mb(self) -> int:
        return 500 if self.kind is SourceKind.DOCKER else _DISK_MB[self.kind] * self.phones

    def specs(self) -> list[CellSpec]:
        """Return what to start; the last container holds what is left over."""
        rest = self.phones - self.per_container * (self.containers - 1)
        return [self.spec()] * (self.containers - 1) + [self.spec(rest)]

    def spec(self, phones: int = 0) -> CellSpec:
        """Return a container of so many phones (0: a full one)."""
        phones = phones or self.per_container
        kind = self.kind.backend
        image = self.image or (SIMULATOR_IMAGE if self.kind is SourceKind.DOCKER else f"rlfactory-{kind}")
        if self.kind is SourceKind.DOCKER:
            command = ("--phones", str(phones), "--width", str(self.width_px), "--height", str(self.height_px))
            return CellSpec(
                image=image,
                kind=kind,
                scope=Scope.STANDING,
                command=(*command, "--realtime") if self.realtime else command,
                limits=ContainerLimits(memory_mb=memory_for(phones), cpus=self.cpus),
                phones=phones,
                allow=self.allow,
            )
        spec = CellSpec(
            image=image,
            kind=kind,
            scope=Scope.STANDING,
            limits=ContainerLimits(memory_mb=_MEMORY_MB[self.kind], pids=4096, cpus=self.cpus, tmp_mb=512),
            phones=1,
            allow=self.allow,
            read_only=False,
        )
        if self.kind is SourceKind.REDROID:
            screen = (f"androidboot.redroid_width={self.width_px}", f"androidboot.redroid_height={self.height_px}")
            return replace(spec, privileged=True, command=(*screen, "androidboot.use_memfd=1"))
        return replace(
            spec,
            devices=(str(KVM),),
            environment={"PHONE_WIDTH": str(self.width_px), "PHONE_HEIGHT": str(self.height_px)},
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingPhone:
    """One phone of a container, as a table shows it."""

    serial: str
    """What `adb connect` takes and adb calls it; "" when its container does not run or serves a service."""
    container: str
    backend: str
    scope: str
    state: str
    age_s: float
    memory_mb: float
    """Its share of the container's."""
    image: str


def serials_of(cell: CellInfo) -> list[str]:
    """Return the addresses of a standing container's phones."""
    return [f"{cell.address}:{FIRST_ADB_PORT + 2 * phone}" for phone in range(cell.phones)] if cell.address else []


def list_phones(engine: DockerEngine, *, now_s: float) -> list[StandingPhone]:
    """Return the phones of all our containers; one row for a container whose phones are a service's affair."""
    backends = {kind.backend for kind in SourceKind}
    cells = [cell for cell in engine.cells() if cell.kind in backends]  # and no sandbox
    with ThreadPoolExecutor(max_workers=_STARTING_AT_ONCE) as pool:
        memory = list(pool.map(lambda cell: engine.memory_bytes(cell.id) if cell.address else 0, cells))
    found: list[StandingPhone] = []
    for cell, used_bytes in zip(cells, memory, strict=True):
        serials = serials_of(cell) or [""]
        found += [
            StandingPhone(
                serial=serial,
                container=cell.name,
                backend=cell.kind,
                scope=cell.scope,
                state=cell.state,
                age_s=round(now_s - cell.created_s, 1),
                memory_mb=round(used_bytes / 1e6 / len(serials), 1),
                image=cell.image,
            )
            for serial in serials
        ]
    return found


def find_cell(engine: DockerEngine, name: str) -> CellInfo:
    """Return the container of a phone by its serial, or by its own name or the beginning of it.

    Raises: DeviceError: there is none, or more than one.
    """
    cells = engine.cells()
    found = [cell for cell in cells if name in serials_of(cell)] or [
        cell for cell in cells if _bare(cell.name) == _bare(name)
    ]
    found = found or [cell for cell in cells if _bare(cell.name).startswith(_bare(name))]
    if len(found) == 1:
        return found[0]
    known = ", ".join(cell.name for cell in (found or cells)) or "none"
    raise DeviceError(f"{'no' if not found else 'more than one'} phone or container {name!r}; there are: {known}")


def _bare(container: str) -> str:
    """Return a container's name as tables show it."""
    return container.removeprefix(f"{PREFIX}-")


async def start_phones(engine: DockerEngine, config: StandingConfig, *, ready: Callable[[int], None]) -> list[str]:
    """Start phones in parallel and return their serials once all have booted. All or none.

    Args: ready: told of so many more phones that have booted.
    Raises: DeviceError: one did not boot; nothing is left.
    """
    makings: list[asyncio.Task[Cell]] = []
    turns = asyncio.Semaphore(_STARTING_AT_ONCE)

    async def start(spec: CellSpec, adb: AdbClient) -> Cell:
        async with turns:
            makings.append(asyncio.create_task(asyncio.to_thread(engine.make_cell, spec)))
            cell = await asyncio.shield(makings[-1])
            try:
                for phone in range(spec.phones):
                    await _booted(adb, f"{cell.address}:{FIRST_ADB_PORT + 2 * phone}", config.boot_timeout_s)
            except DeviceError as error:
                words = " ".join((await asyncio.to_thread(engine.logs, cell.id, tail=5)).split())
                raise DeviceError(f"{error}; {cell.name} said: {words or 'nothing'}") from error
            ready(spec.phones)
            return cell

    try:
        async with adb_server() as adb, asyncio.TaskGroup() as group:
            tasks = [group.create_task(start(spec, adb)) for spec in config.specs()]
    except BaseException as error:
        for made in await asyncio.gather(*makings, return_exceptions=True):
            if isinstance(made, Cell):
                await asyncio.to_thread(engine.remove_cell, made.label)
        if isinstance(error, BaseExceptionGroup):
            raise error.exceptions[0] from None
        raise
    cells = {cell.id: cell for cell in (task.result() for task in tasks)}
    infos = [info for info in await asyncio.to_thread(engine.cells) if info.id in cells]
    for info in infos:
        await asyncio.to_thread(engine.settle_name, info)
    return [serial for info in infos for serial in serials_of(info)]


async def _booted(adb: AdbClient, serial: str, timeout_s: float) -> None:
    """Return when the phone has booted and answers. Raises: DeviceError."""
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    await adb.connect(serial)
                    break
                except DeviceError:
                    await asyncio.sleep(_RETRY_S)
            device = await AdbDevice.connect(adb, serial, timeout_s=timeout_s)
            await device.close()
    except TimeoutError:
        raise DeviceError(f"{serial} did not boot within {timeout_s:g} s") from None
