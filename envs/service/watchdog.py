"""Watches the event loop: how late it comes, and what holds it up. Whatever a model writes must not."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from types import TracebackType
from typing import Final, Self

from prometheus_client import CollectorRegistry, Histogram

log = logging.getLogger("rlfactory.watchdog")

PERIOD_S: Final = 0.05
HELD_UP_S: Final = 0.5
"""From then on it is said what the loop is doing."""
MAX_FRAMES: Final = 8
_BUCKETS_S: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class Watchdog:
    """Measures the running loop's lag for the block. A thread looks at it from outside, once when it is held up."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """`registry` is what a scrape reads; None: one that nobody reads."""
        registry = registry if registry is not None else CollectorRegistry()
        self._lag_s = Histogram(
            "rlfactory_loop_lag_seconds", "How late it came.", buckets=_BUCKETS_S, registry=registry
        )
        self._seen_s = time.monotonic()
        self._ended = threading.Event()
        self._beating: asyncio.Task[None] | None = None
        self._loop_thread = 0

    async def __aenter__(self) -> Self:
        self._loop_thread = threading.get_ident()
        self._beating = asyncio.create_task(self._beat(), name="watchdog")
        threading.Thread(target=self._look, name="watchdog", daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._beating is not None:
            self._beating.cancel()

    async def _beat(self) -> None:
        while True:
            self._seen_s = time.monotonic()
            await asyncio.sleep(PERIOD_S)
            self._lag_s.observe(max(0.0, time.monotonic() - self._seen_s - PERIOD_S))

    def _look(self) -> None:
        told_s = 0.0
        while not self._ended.wait(HELD_UP_S / 2):
            seen_s = self._seen_s
            if time.monotonic() - seen_s > HELD_UP_S and seen_s != told_s:
                told_s = seen_s
                held_s = time.monotonic() - seen_s
                log.warning("the event loop has been held up for %.1f s by %s", held_s, _doing(self._loop_thread))


def _doing(thread: int) -> str:
    """Return where a thread is. Its frames are let go of at once: whoever holds one keeps alive all that it holds."""
    stack = traceback.extract_stack(sys._current_frames().get(thread))[-MAX_FRAMES:]
    return " < ".join(f"{each.name} ({each.filename}:{each.lineno})" for each in reversed(stack))
