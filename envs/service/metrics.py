"""What Prometheus is told of a service, and the port that it is told on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rlfactory.envs.api.errors import TaskError

_STEP_BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class ServiceMetrics:
    """Figures of one service, in the registry given."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """`registry` is what a scrape reads; None: one that nobody reads."""
        self.registry = registry if registry is not None else CollectorRegistry()
        self.step_s = Histogram(
            "rlfactory_step_seconds",
            "Steps, from the call to its observation.",
            buckets=_STEP_BUCKETS_S,
            registry=self.registry,
        )

    def watch(self, sessions: Callable[[], int], counters: Callable[[], Mapping[str, int]]) -> None:
        """Report the present state at each scrape."""
        self.registry.register(_Figures(sessions, counters))


class _Figures(Collector):
    def __init__(self, sessions: Callable[[], int], counters: Callable[[], Mapping[str, int]]) -> None:
        self._sessions = sessions
        self._counters = counters

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily("rlfactory_sessions", "Open sessions.", self._sessions())
        counted = CounterMetricFamily("rlfactory_events", "What happened, as in `Status`.", labels=("event",))
        for name, value in sorted(self._counters().items()):
            counted.add_metric((name,), value)
        yield counted


@contextmanager
def exposed(registry: CollectorRegistry, *, host: str, port: int) -> Iterator[int]:
    """Serve the metrics over HTTP for the block, and give the port. Raises: TaskError: it cannot be listened on."""
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        raise TaskError(f"--metrics-port {port}: cannot listen on {host}: {error.strerror}") from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
