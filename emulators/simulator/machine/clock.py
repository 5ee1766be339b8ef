"""The phone's time: virtual (moved only by actions and waits) or the host's."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

ClockKind = Literal["virtual", "realtime"]

NS_PER_MS: Final = 1_000_000
MAX_WAIT_MS: Final = 7 * 24 * 3600 * 1000
BOOT_UPTIME_MS: Final = 60_000
"""A phone that we get to see has been up for a minute."""


@dataclass(kw_only=True, slots=True)
class Clock:
    """Wall clock and uptime. Plain data: part of the phone's state and its snapshots."""

    kind: ClockKind
    wall_offset_ns: int
    """Virtual: the wall clock at uptime zero. Realtime: what is added to the host's wall clock."""
    elapsed_ms: int = BOOT_UPTIME_MS
    """Virtual time that has passed since boot; in realtime, what `advance` skipped."""
    zone: str = "UTC"
    host_start_ns: int = 0
    """Realtime: the host's monotonic clock at boot."""
    readings: int = field(default=0, compare=False)
    """How often it was asked for more than the minute: tells whether a screen shows what changes within one."""

    @classmethod
    def starting_at(cls, start: datetime, kind: ClockKind) -> Clock:
        """Return a clock that shows `start` (aware) now."""
        wall_ns = round(start.timestamp() * 1000) * NS_PER_MS
        if kind == "virtual":
            return cls(kind=kind, wall_offset_ns=wall_ns - BOOT_UPTIME_MS * NS_PER_MS)
        clock = cls(kind=kind, wall_offset_ns=0, elapsed_ms=BOOT_UPTIME_MS, host_start_ns=time.monotonic_ns())
        clock.set_wall(wall_ns)
        return clock

    def uptime_ms(self) -> int:
        self.readings += 1
        if self.kind == "virtual":
            return self.elapsed_ms
        return self.elapsed_ms + (time.monotonic_ns() - self.host_start_ns) // NS_PER_MS

    def wall_ns(self) -> int:
        """Return the wall clock in nanoseconds since 1970, whole milliseconds."""
        return self.wall_offset_ns + self.uptime_ms() * NS_PER_MS

    def set_wall(self, wall_ns: int) -> None:
        """Set the wall clock; uptime is not touched."""
        self.wall_offset_ns = wall_ns - self.uptime_ms() * NS_PER_MS

    def advance(self, milliseconds: int) -> None:
        """Let time pass at once. Raises: ValueError: backwards."""
        if milliseconds < 0:
            raise ValueError(f"time cannot go back by {-milliseconds} ms")
        self.elapsed_ms += milliseconds

    def now(self) -> datetime:
        """Return the wall clock as an aware datetime in the phone's zone."""
        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.wall_ns() // 1000)
        return utc.astimezone(zone_info(self.zone))

    def minute(self) -> datetime:
        """Return `now` without seconds: who tells none asks for this, and its screen stays good for a minute."""
        readings = self.readings
        now = self.now().replace(second=0, microsecond=0)
        self.readings = readings
        return now

    def booted(self) -> datetime:
        """Return when the phone was started, by its wall clock as it goes now."""
        return self.now() - timedelta(milliseconds=self.uptime_ms())


def zone_info(name: str) -> tzinfo:
    """Return a time zone by its IANA name. Raises: ValueError: unknown."""
    if name in {"UTC", "GMT", "Etc/UTC"}:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"unknown time zone {name!r}") from error
