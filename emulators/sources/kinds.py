"""Where phones come from, in one enum. Free of anything that takes time to import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final


class SourceKind(StrEnum):
    """Where phones come from."""

    DIRECT = "direct"
    """Simulated, in the program's own process: the fast way."""
    ADB = "adb"
    """Simulated, in processes of this machine, through a real adb server: the way to any Android phone."""
    DOCKER = "docker"
    """Simulated, in containers, through a real adb server: where code of others runs."""
    EMULATOR = "emulator"
    """Android's emulator under KVM, a container each."""
    REDROID = "redroid"
    """Android itself in a container, on the host's kernel."""
    ATTACHED = "attached"
    """Phones that run already, simulated or not, by their adb serials."""

    @property
    def backend(self) -> str:
        """What `emulators up --backend` calls it."""
        return _BACKENDS.get(self, str(self))

    @classmethod
    def _missing_(cls, value: object) -> SourceKind | None:
        return next((kind for kind, backend in _BACKENDS.items() if backend == value), None)


_BACKENDS: Final = {SourceKind.ADB: "process", SourceKind.DOCKER: "simulator"}

SERVED: Final = (SourceKind.DIRECT, SourceKind.ADB, SourceKind.DOCKER, SourceKind.ATTACHED)
"""What sessions of a service run on."""
STANDING: Final = (SourceKind.DOCKER, SourceKind.EMULATOR, SourceKind.REDROID, SourceKind.ATTACHED, SourceKind.ADB)
"""What `emulators up` starts or shows."""


def read_kind(allowed: Sequence[SourceKind], names: Sequence[str] = ()) -> Callable[[str], SourceKind]:
    """Return a reader, for an option, of one of these kinds, known by these names. It raises: BadParameter."""
    import typer

    def read(name: str) -> SourceKind:
        if name in allowed or name in names:
            return SourceKind(name)
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(names or allowed)}.")

    return read
