"""A circuit breaker: a tool that keeps failing is left alone for a while, and its callers are told at once."""

from __future__ import annotations

import time
from collections.abc import Callable


class CircuitBreaker:
    """Opens after `failures` in a row. When `rest_s` have passed, one call tries whether the tool works again."""

    def __init__(self, *, failures: int, rest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.failures = failures
        self.rest_s = rest_s
        self.in_a_row = 0
        self._clock = clock
        self._opened_s: float | None = None
        self._trying = False

    def admit(self) -> float | None:
        """Let a call through (None), or return the seconds until the next one will be."""
        if self._opened_s is None:
            return None
        left_s = self._opened_s + self.rest_s - self._clock()
        if left_s <= 0 and not self._trying:
            self._trying = True
            return None
        return max(0.0, left_s)

    def succeeded(self) -> None:
        self.in_a_row = 0
        self._opened_s = None
        self._trying = False

    def failed(self) -> bool:
        """Count a failure; tell whether the breaker opened because of it."""
        self.in_a_row += 1
        was_open = self._opened_s is not None
        if self._trying or self.in_a_row >= self.failures:
            self._opened_s = self._clock()
            self._trying = False
            return not was_open
        return False

    def left(self) -> None:
        """A call ended without telling anything of the tool: it was cancelled, or refused its arguments."""
        self._trying = False
