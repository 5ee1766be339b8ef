"""What a container of ours is asked to be, and what the engine says it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

PREFIX: Final = "rlfactory"
LABEL_CELL: Final = f"{PREFIX}.cell"
LABEL_SCOPE: Final = f"{PREFIX}.scope"
LABEL_OWNER: Final = f"{PREFIX}.owner"
LABEL_KIND: Final = f"{PREFIX}.kind"
LABEL_PHONES: Final = f"{PREFIX}.phones"
EGRESS_IMAGE: Final = f"{PREFIX}-egress"
EGRESS_KIND: Final = "egress"
"""Kind of the container that is a cell's way out."""
EGRESS_PORT: Final = 3128
STARTING: Final = f"{PREFIX}-starting-"
"""Name of a standing container until all that was asked for together stands."""


class Scope(StrEnum):
    """How long a container is meant to live."""

    SERVICE = "service"
    """As long as the process that made it."""
    STANDING = "standing"
    """Until `emulators down`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerLimits:
    """What a container may take of its host."""

    memory_mb: int = 1024
    """Swap included."""
    pids: int = 256
    cpus: float = 0.0
    """0: as many as there are."""
    tmp_mb: int = 64
    """Of /tmp, the only folder it can write to; it is memory, too."""

    def __post_init__(self) -> None:
        if self.memory_mb < 64:
            raise ValueError(f"memory_mb must be at least 64, got {self.memory_mb}")
        if self.pids < 8:
            raise ValueError(f"pids must be at least 8, got {self.pids}")
        if self.cpus < 0:
            raise ValueError(f"cpus must not be below 0, got {self.cpus}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSpec:
    """A container in an internal network of its own, or in none."""

    image: str
    kind: str
    """What it is for: `simulator`, `emulator`, `redroid`, `sandbox`."""
    scope: Scope
    command: tuple[str, ...] = ()
    network: bool = True
    """False: not even loopback to speak of; it is spoken to through its standard input alone."""
    limits: ContainerLimits = field(default_factory=ContainerLimits)
    phones: int = 0
    """How many it serves on fixed ports; 0 when it is asked for them."""
    devices: tuple[str, ...] = ()
    """Of the host, such as /dev/kvm."""
    privileged: bool = False
    """Only for what cannot run otherwise (redroid): then no limit but memory and processes holds."""
    read_only: bool = True
    init: bool = True
    """Docker's own first process buries orphans. Without it the program is the first: nobody inside can kill it."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    allow: tuple[str, ...] = ()
    """HOST:PORT (or *.HOST:PORT) that it may reach, by a proxy that its environment names. Empty: nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellInfo:
    """A container of ours as the engine lists it."""

    id: str
    name: str
    cell: str
    kind: str
    scope: str
    owner: str
    image: str
    state: str
    """running, or what is wrong: starting, unhealthy, created, paused, restarting, exited, dead."""
    created_s: float
    """Unix time."""
    address: str
    """In its own network; "" when it does not run."""
    phones: int
