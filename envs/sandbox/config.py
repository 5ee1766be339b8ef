"""How code is kept from everything else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from emulators.engine.connection import DEFAULT_URL
from emulators.engine.spec import CellSpec, ContainerLimits, Scope

SANDBOX_IMAGE: Final = "rlfactory-sandbox"
INTERPRETER: Final = ("python3", "-I", "-B", "/opt/rlfactory/interpreter.py", "--alone")


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxConfig:
    """Containers without network, with a read-only file system and without privileges; one for each session."""

    image: str = SANDBOX_IMAGE
    engine_url: str = DEFAULT_URL
    limits: ContainerLimits = field(
        default_factory=lambda: ContainerLimits(memory_mb=512, pids=64, cpus=1.0, tmp_mb=64)
    )
    spares: int = 1
    """Containers started ahead, so that a session does not wait for its own."""
    max_open: int = 64
    """Sessions that may have one at the same time."""
    unsafe_local: bool = False
    """Run code as processes of this machine instead, with all rights of this user. For machines that may be harmed."""

    def __post_init__(self) -> None:
        if self.spares < 0 or self.max_open < 1:
            raise ValueError("spares must not be below 0, and max_open must be at least 1")

    @property
    def spec(self) -> CellSpec:
        """What the Docker engine is asked for."""
        return CellSpec(
            image=self.image,
            kind="sandbox",
            scope=Scope.SERVICE,
            entrypoint=INTERPRETER,
            limits=self.limits,
            network=False,
        )
