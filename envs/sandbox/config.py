"""How code is kept from everything else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.processes.docker.connection import DEFAULT_URL
from rlfactory.processes.docker.spec import CellSpec, ContainerLimits, Scope

SANDBOX_IMAGE: Final = "rlfactory-sandbox"


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxConfig:
    """Containers without a network of the world, with a read-only file system, without privileges; one a session."""

    image: str = SANDBOX_IMAGE
    engine_url: str = DEFAULT_URL
    runtime: str = ""
    """Of the containers; "" is the engine's default."""
    limits: ContainerLimits = field(
        default_factory=lambda: ContainerLimits(memory_mb=512, pids=64, cpus=1.0, tmp_mb=64)
    )
    spares: int = 1
    """Containers started ahead, so that a session does not wait for its own."""
    max_open: int = 64
    """Sessions that may have one at the same time; others wait."""
    max_open_of_tenant: int | None = None
    """Of these, for sessions of one tenant; None: all."""
    starts_at_once: int = field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 2))
    """Others wait for their turn: a start takes a processor for a while, which sessions that run need, too."""
    allow: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """HOST:PORT (or *.HOST:PORT) that code may reach, by suite; nothing where a suite is not named."""
    unsafe_local: bool = False
    """Run code as processes of this machine instead, with all rights of this user. For machines that may be harmed."""

    def __post_init__(self) -> None:
        if self.spares < 0 or self.max_open < 1 or self.starts_at_once < 1:
            raise ValueError("spares must not be below 0, and max_open and starts_at_once must be at least 1")

    def spec(self, suite: str = "") -> CellSpec:
        """What the Docker engine is asked for."""
        allow = self.allow.get(suite, ())
        return CellSpec(
            image=self.image,
            kind="sandbox",
            scope=Scope.SERVICE,
            init=False,
            limits=self.limits,
            network=bool(allow),
            allow=allow,
        )


def allow_lists(entries: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read SUITE=HOST:PORT, any number of each. Raises: TaskError."""
    lists: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        suite, _, place = entry.partition("=")
        host, _, port = place.rpartition(":")
        if not (suite and host and port.isdecimal()):
            raise TaskError(f"{entry!r} is not SUITE=HOST:PORT, as in math_code=example.com:443")
        lists[suite] = (*lists.get(suite, ()), place)
    return lists
