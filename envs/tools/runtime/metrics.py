"""What is counted of each tool, for Prometheus and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from rlfactory.envs.api.types import ToolStatus

_BUCKETS_S: Final = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0)

EVENTS: Final = ("cached", "joined", "retried", "hedged", "breaker_opened", "abandoned")
"""Beside the calls themselves. joined: shared the run of an equal call; abandoned: did not end when cancelled."""


@dataclass(slots=True)
class ToolMeter:
    """The counters of one tool, looked up once."""

    statuses: dict[ToolStatus, Counter]
    events: dict[str, Counter]
    seconds: Histogram
    waiting: Gauge
    running: int = 0
    """Calls under way."""

    def count(self, event: str) -> None:
        self.events[event].inc()


class ToolMetrics:
    """Figures of all tools of one service, in the registry given."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """`registry` is what a scrape reads; None: one that nobody reads."""
        self.registry = registry if registry is not None else CollectorRegistry()
        self._calls = Counter("rlfactory_tool_calls", "Calls by status.", ("tool", "status"), registry=self.registry)
        self._events = Counter(
            "rlfactory_tool_events", "What was spared or tried.", ("tool", "event"), registry=self.registry
        )
        self._seconds = Histogram(
            "rlfactory_tool_seconds", "Calls, waiting included.", ("tool",), buckets=_BUCKETS_S, registry=self.registry
        )
        self._running = Gauge("rlfactory_tool_running", "Calls under way.", ("tool",), registry=self.registry)
        self._waiting = Gauge(
            "rlfactory_tool_waiting", "Calls that wait for a place.", ("tool",), registry=self.registry
        )
        self.meters: dict[str, ToolMeter] = {}
        """Of the tools that were called."""

    def of(self, tool: str) -> ToolMeter:
        """Return the counters of one tool."""
        known = self.meters.get(tool)
        if known is not None:
            return known
        meter = self.meters[tool] = ToolMeter(
            statuses={status: self._calls.labels(tool, status.value) for status in ToolStatus},
            events={event: self._events.labels(tool, event) for event in EVENTS},
            seconds=self._seconds.labels(tool),
            waiting=self._waiting.labels(tool),
        )
        self._running.labels(tool).set_function(lambda: meter.running)
        return meter

    def figures(self) -> dict[str, dict[str, float]]:
        """Return what was counted, by tool; zeros are left out."""
        return {
            tool: {
                name: value
                for name, counter in [
                    *((status.value, each) for status, each in meter.statuses.items()),
                    *meter.events.items(),
                ]
                if (value := _value(counter))
            }
            for tool, meter in self.meters.items()
        }


def _value(counter: Counter) -> float:
    return next(
        sample.value for metric in counter.collect() for sample in metric.samples if sample.name.endswith("_total")
    )
