"""How patient a client is, and how much it takes."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How a call that is safe to repeat is repeated, after failures of transport only.

    An answer of the server is final, an error included; so a step (at most once by its seq) may be retried.
    """

    patience_s: float = 10.0
    """A call is repeated for so long after its first failure; a step as long as its lease, if that is more."""
    attempts: int | None = None
    """At most so many; None: as many as there is time for."""
    backoff_s: float = 0.05
    """Before the second attempt; doubled before each further one."""
    max_backoff_s: float = 0.5

    def __post_init__(self) -> None:
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts}")
        if min(self.patience_s, self.backoff_s, self.max_backoff_s) < 0:
            raise ValueError("patience_s, backoff_s and max_backoff_s must not be below 0")


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientConfig:
    """Deadlines in seconds, and sizes."""

    connect_timeout_s: float = 10.0
    call_timeout_s: float = 10.0
    """Of each attempt at a call that only reads or renews."""
    reset_timeout_s: float = 120.0
    """Of Reset and Fork, which may wait for a phone."""
    total_timeout_s: float = 60.0
    """Over all attempts at an idempotent call other than a step."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    max_message_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        for name in ("connect_timeout_s", "call_timeout_s", "reset_timeout_s", "total_timeout_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
