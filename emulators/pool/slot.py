"""One place of the pool, the phone that fills it now, and what others may know of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

from rlfactory.emulators.device.device import Device, Snapshot


class PhoneState(StrEnum):
    STARTING = "starting"
    FREE = "free"
    PROBED = "probed"
    """Idle, and being asked whether it is still there."""
    LEASED = "leased"
    RESETTING = "resetting"
    QUARANTINED = "quarantined"
    """Failed, or past its time; about to be replaced."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoneStatus:
    serial: str
    """"" while it starts."""
    host: str
    """Phones of one host can load each other's snapshots."""
    state: PhoneState
    age_s: float
    """Since it booted; 0 while it starts."""
    resets: int
    failures: int
    """Phones of this slot that had to be replaced."""
    recycled: int
    """Phones of this slot that were replaced because they had served their time."""
    memory_bytes: int
    """When it was last measured; 0 when it is not known."""
    last_error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolStatus:
    """Figures of a pool as a whole."""

    waiting: int
    """Clients that wait for a phone."""
    free: int
    """Phones that could be lent at once."""
    leases: int
    starts_paused_s: float
    """Until phones may be started again; above 0 when the host could not start the last ones."""


@dataclass(eq=False)
class Slot:
    """What a keeper knows of its phone."""

    state: PhoneState = PhoneState.STARTING
    device: Device | None = None
    host: str = ""
    golden: Snapshot | None = None
    golden_digest: str = ""
    booted_at_s: float = 0.0
    """By `time.monotonic`, as all times here."""
    max_age_s: float = 0.0
    first_memory_bytes: int = 0
    memory_bytes: int = 0
    measured_at_s: float = 0.0
    phone_failures: int = 0
    """Of the phone that is there now."""

    resets: int = 0
    failures: int = 0
    failures_in_row: int = 0
    recycled: int = 0
    last_error: str = ""

    def status(self) -> PhoneStatus:
        return PhoneStatus(
            serial=self.device.info.serial if self.device else "",
            host=self.host if self.device else "",
            state=self.state,
            age_s=time.monotonic() - self.booted_at_s if self.device else 0.0,
            resets=self.resets,
            failures=self.failures,
            recycled=self.recycled,
            memory_bytes=self.memory_bytes if self.device else 0,
            last_error=self.last_error,
        )
