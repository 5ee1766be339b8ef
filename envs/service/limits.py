"""Every bound of the environment service in one place. A refusal names the field that it hit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.types import MAX_CALLS, SessionOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Bounds of one service. All must be above 0."""

    max_sessions: int = 512
    max_fork: int = 64
    """Sessions that one Fork may make."""
    max_calls_per_step: int = MAX_CALLS
    max_turns: int = 200
    max_output_chars: int = 20_000
    """Of one tool result; the middle of a longer one is cut out, and says so."""
    max_image_pixels: int = 8_294_400
    """Of one screenshot; larger ones are scaled down."""
    max_request_bytes: int = 2 << 20
    """Of one step. A message of more than twice as much ends its call, or its whole stream."""
    max_under_way_bytes: int = 64 << 20
    """Of requests that are being carried out; beyond that they are refused, large ones when three quarters are used."""
    max_kept_bytes: int = 256 << 10
    """Of what was said in a session, times `max_sessions`: while all keep less than that, one may keep more."""
    max_unwritten_bytes: int = 32 << 20
    """Of answers that clients have not taken yet; beyond that, answers wait to be made."""
    max_lease_s: float = 3600.0
    max_step_timeout_s: float = 300.0
    phone_wait_s: float = 60.0
    """How long Reset and Fork wait for a free phone."""
    setup_timeout_s: float = 60.0
    """For bringing a phone to a task's first state, and for a snapshot."""
    reset_attempts: int = 3
    """Phones tried before a Reset gives up."""
    orphan_grace_s: float = 0.5
    """How long a step goes on when all its callers have gone, so that a retry after a broken connection finds it."""
    outage_grace_s: float = 15.0
    """As `orphan_grace_s`, when the stream of the step has broken: nobody has said that it is not wanted any more."""
    max_goldens: int = 100_000
    """State hashes remembered for the reset contract; the oldest is forgotten first."""
    max_watchers: int = 64
    watch_queue: int = 256
    """Events kept for a watcher that reads slowly; the oldest is dropped first, and counted."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"{field.name} must be above 0, got {value}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotas:
    """The most that one tenant may have at a time, be it one of several or the only one; None: see each."""

    sessions: int | None = None
    """None: its part of `max_sessions`; so are, of theirs, calls and sandboxes."""
    calls: int | None = None
    """Under way; a stream of steps is one."""
    streams: int | None = None
    """Of steps. None: as many as calls."""
    under_way_bytes: int | None = None
    """Of its requests that are being carried out. None: its part of `max_under_way_bytes`."""
    unwritten_bytes: int | None = None
    """Of answers that it has not taken yet. None: `max_unwritten_bytes`."""
    kept_bytes: int | None = None
    """Of calls and answers that its open sessions remember. None: its part of `max_kept_bytes` times `max_sessions`."""
    phones: int | None = None
    """None: all, shared out evenly."""
    sql_workers: int | None = None
    """Processes that run its queries: its share of their time. None: all, shared out evenly."""
    sandboxes: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value < 1:
                raise ValueError(f"a quota of {field.name} must be at least 1, got {value}")

    def part(self, what: str, total: int, tenants: int) -> int:
        """Return how many of `total` one of so many tenants may have."""
        return min(total, getattr(self, what) or share(total, tenants))


def read_quotas(entries: Sequence[str]) -> Quotas:
    """Read WHAT=NUMBER. Raises: ValueError, UnknownName."""
    known = [field.name for field in fields(Quotas)]
    read: dict[str, int] = {}
    for entry in entries:
        what, _, number = entry.partition("=")
        if what not in known:
            raise UnknownName.of("quota", what, known)
        if not number.isdecimal():
            raise ValueError(f"{entry!r} is not WHAT=NUMBER, as in phones=4")
        read[what] = int(number)
    return Quotas(**read)


def bounded(options: SessionOptions, limits: Limits) -> SessionOptions:
    """Return the options within the service's limits. Raises: TaskError: a value that makes no sense."""
    waits = options.phone_wait_s
    checks = (
        ("image_quality", options.image_quality, 1 <= options.image_quality <= 100, "from 1 to 100"),
        ("multiple_px", options.multiple_px, 1 <= options.multiple_px <= 256, "from 1 to 256"),
        ("max_pixels", options.max_pixels, options.max_pixels is None or options.max_pixels > 0, "above 0"),
        ("max_turns", options.max_turns, options.max_turns is None or options.max_turns > 0, "above 0"),
        ("lease_s", options.lease_s, 0 < options.lease_s < math.inf, "above 0"),
        ("step_timeout_s", options.step_timeout_s, 0 < options.step_timeout_s < math.inf, "above 0"),
        ("phone_wait_s", waits, waits is None or 0 <= waits < math.inf, "at least 0"),
        ("group", f"of {len(options.group)} characters", len(options.group) <= 200, "at most 200 characters"),
    )
    for name, value, fine, rule in checks:
        if not fine:
            raise TaskError(f"option {name} is {value}; it must be {rule}")
    return replace(
        options,
        lease_s=min(options.lease_s, limits.max_lease_s),
        step_timeout_s=min(options.step_timeout_s, limits.max_step_timeout_s),
        phone_wait_s=limits.phone_wait_s if waits is None else min(waits, limits.phone_wait_s),
    )


def share(total: int, tenants: int) -> int:
    """Return the most that one tenant may have of what all share: half of an even part is kept for each other one."""
    return total - (tenants - 1) * (total // (2 * tenants))
