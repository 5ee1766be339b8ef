"""How many phones a pool keeps, how patiently, and when one has served its time."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolConfig:
    """Bounds of one pool; all but `spares` are above 0."""

    phones: int
    """Leased at once, at most."""
    spares: int = 0
    """Kept running beside them, so that a client need not wait while a phone is reset or replaced."""
    max_waiting: int = 1024
    """Clients that may wait for a phone; one more is refused at once."""
    lease_ttl_s: float = 3600.0
    """A lease that is not renewed for this long is reclaimed, its phone replaced."""

    start_timeout_s: float = 120.0
    reset_timeout_s: float = 30.0
    max_starting: int = 8
    """Phones that may start at a time."""
    backoff_s: float = 0.2
    """Pause after a phone failed or could not start; doubles with every further failure in a row."""
    backoff_max_s: float = 30.0

    probe_interval_s: float = 10.0
    """How long a phone may idle before it is asked whether it is still there."""
    probe_timeout_s: float = 5.0
    max_failures: int = 3
    """A phone that failed is kept if it comes back and reaches its golden state, until it has failed this often."""
    mend_timeout_s: float = 3.0
    """For a phone that failed: to answer again."""
    max_age_s: float = 24 * 3600.0
    """An older phone is replaced when nobody uses it; each phone's own limit is up to a tenth below this."""
    max_growth_bytes: int = 64 * 1024 * 1024
    max_growth_share: float = 0.5
    """A phone that has grown by these bytes, and by this share of what it took after its start, is replaced when nobody
    uses it. Simulated phones count with their share of what their host takes."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 0 or (value == 0 and field.name != "spares"):
                raise ValueError(f"{field.name} must be above 0, got {value}")

    def pause_s(self, failures_in_row: int) -> float:
        """Return how long to wait after a failure that others came before: twice as long each time, up to a bound."""
        return min(self.backoff_s * float(1 << min(failures_in_row, 16)), self.backoff_max_s)
