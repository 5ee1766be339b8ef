"""What the commands of phones may be asked for, free of anything that takes time to import."""

from __future__ import annotations

from enum import StrEnum


class Backend(StrEnum):
    """What the phones are."""

    SIMULATOR = "simulator"
    """Simulated phones in containers."""
    EMULATOR = "emulator"
    """Android's emulator under KVM, a container each."""
    REDROID = "redroid"
    """Android itself in a container, on the host's kernel."""
    ATTACHED = "attached"
    """Phones that an adb server lists already."""
    PROCESS = "process"
    """Simulated phones in the command's own process, until it ends: no Docker needed."""
