"""How a tool may be run: what it promises of its calls, and the bounds it wants."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolPolicy:
    """Declared by a tool, kept by the runtime. The defaults promise nothing: a call is run once, and never shared."""

    pure: bool = False
    """Equal arguments give equal answers, and nothing else happens: calls may be shared, cached, repeated, hedged."""
    deterministic: bool = False
    """In equal states equal arguments give equal answers and do the same: a replay runs its calls again, and reads the
    answers of others from the record. Pure tools are deterministic."""
    idempotent: bool = False
    """A call may be repeated after a failure without harm. Pure tools are idempotent."""
    version: str = "1"
    """Part of the cache's key: raise it when answers change."""
    timeout_s: float | None = None
    """Of one call, once it runs, all attempts included; None: what the step has left."""
    attempt_timeout_s: float | None = None
    """Of one attempt; None: what the call has left."""
    attempts: int = 1
    """At most so many in all, where the tool is idempotent."""
    backoff_s: float = 0.1
    """Before the second attempt; doubled before each further one."""
    concurrency: int | None = None
    """Calls of this tool that run at once in one service; None: as many as the service allows in total."""
    counted: bool = True
    """Takes a place in the service's total. False for a tool that only waits for other tools, which do."""
    cache_ttl_s: float | None = None
    """How long answers of a pure tool are kept; None: they are not, yet equal calls at the same time are one."""
    hedge_after_s: float | None = None
    """A pure tool that is slower than this is asked a second time beside the first; the first answer counts."""
    breaker_failures: int | None = None
    """After so many failures in a row calls are refused for `breaker_rest_s`; None: never."""
    breaker_rest_s: float = 10.0
    max_output_chars: int | None = None
    """Of one result; the middle of a longer one is cut out, and says so. None: the service's limit."""
    plain: bool = field(init=False, repr=False, compare=False)
    """Nothing is asked for but a place and the step's deadline."""

    def __post_init__(self) -> None:
        positive = (
            "timeout_s",
            "attempt_timeout_s",
            "attempts",
            "concurrency",
            "cache_ttl_s",
            "hedge_after_s",
            "breaker_failures",
            "breaker_rest_s",
            "max_output_chars",
        )
        for name in positive:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        if self.backoff_s < 0:
            raise ValueError(f"backoff_s must not be below 0, got {self.backoff_s}")
        if self.attempts > 1 and not (self.idempotent or self.pure):
            raise ValueError(f"attempts is {self.attempts}, but only calls of an idempotent or pure tool are repeated")
        for name in ("cache_ttl_s", "hedge_after_s"):
            if getattr(self, name) is not None and not self.pure:
                raise ValueError(f"{name} is set, but only answers of a pure tool are shared")
        asked = (self.timeout_s, self.attempt_timeout_s, self.concurrency, self.breaker_failures)
        plain = not self.pure and self.attempts == 1 and all(each is None for each in asked)
        object.__setattr__(self, "plain", plain)


DEFAULT_POLICY = ToolPolicy()
