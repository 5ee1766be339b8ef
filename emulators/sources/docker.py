"""Simulated phones in containers, each container in an internal network of its own.

A container is spoken to through its standard input alone: the service tells it which phones to start and stop. Nothing
is published on the host; adb and console are reached at the container's address.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.hosted import HostClient, HostedSource
from rlfactory.processes.docker.connection import DEFAULT_URL
from rlfactory.processes.docker.container import Container
from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.processes.docker.spec import CellSpec, ContainerLimits, Scope
from rlfactory.processes.errors import EngineError

log = logging.getLogger(__name__)

SIMULATOR_IMAGE: Final = "rlfactory-simulator"


def memory_for(phones: int) -> int:
    """Return megabytes for a container of so many phones: about 25 MB each in use, with room for snapshots."""
    return 512 + 96 * phones


@dataclass(frozen=True, kw_only=True, slots=True)
class DockerConfig:
    """Containers of simulated phones."""

    image: str = SIMULATOR_IMAGE
    engine_url: str = DEFAULT_URL
    runtime: str = ""
    """Of the containers; "" is the engine's default."""
    phones_per_container: int = 8
    limits: ContainerLimits | None = None
    """None: by the number of phones."""
    spec: CellSpec = field(init=False)

    def __post_init__(self) -> None:
        if self.phones_per_container < 1:
            raise ValueError(f"phones_per_container must be at least 1, got {self.phones_per_container}")
        limits = self.limits or ContainerLimits(memory_mb=memory_for(self.phones_per_container))
        spec = CellSpec(image=self.image, kind="simulator", scope=Scope.SERVICE, limits=limits)
        object.__setattr__(self, "spec", spec)


class DockerSource(HostedSource):
    """Starts simulated phones in containers and connects to them over adb.

    What dead services left on the engine is reaped while the first phones start: a service that comes back after a
    crash shall not wait for its own remains.
    """

    def __init__(self, phone: PhoneConfig, config: DockerConfig) -> None:
        super().__init__(phone, self._start_container, phones_per_host=config.phones_per_container)
        self._docker = config
        self._engine: DockerEngine | None = None
        self._opening = asyncio.Lock()
        self._reaping: asyncio.Task[None] | None = None

    async def _start_container(self) -> HostClient:
        async with self._opening:
            if self._engine is None:
                self._engine = await asyncio.to_thread(
                    DockerEngine, self._docker.engine_url, runtime=self._docker.runtime
                )
                self._reaping = asyncio.create_task(asyncio.to_thread(_reap, self._engine), name="reap")
        container = await Container.start(self._engine, self._docker.spec)
        return await HostClient.ready(container, container.address)

    async def close(self) -> None:
        await super().close()
        if self._reaping is not None:
            await self._reaping
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def _reap(engine: DockerEngine) -> None:
    try:
        for cell in engine.reap():
            log.info("reaped cell %s, whose service is dead", cell)
    except EngineError as error:
        log.warning("what dead services left stays until the next start: %s", error)
