"""What Prometheus is told of a service, and the port that it is told on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rlfactory.envs.api.errors import RLFactoryError, TaskError
from rlfactory.envs.service import access_log

Use = Iterable[tuple[str, str, float]]
"""How much of what a tenant has in use: tenant, what, how much."""
MAX_SCRAPES: Final = 16
"""At a time; each has a thread, and nobody is asked who he is."""
SCRAPE_TIMEOUT_S: Final = 5.0
"""For whoever says nothing, or does not read."""
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

        self.calls = Counter(
            "rlfactory_calls",
            "Calls of the protocol, and steps of streams.",
            ("method", "code"),
            registry=self.registry,
        )
        self._voids = Counter(
            "rlfactory_voids", "Episodes that count for nothing.", ("reason", "blame", "tool"), registry=self.registry
        )

    def went_void(self, session: str, task: str, error: RLFactoryError, *, tool: str) -> None:
        """Log and count an episode that counts for nothing."""
        access_log.went_void(session, task, error, tool=tool)
        self._voids.labels(error.reason, error.blame.value, tool).inc()

    def watch_use(self, limits: Mapping[str, float], use: Callable[[], Use]) -> None:
        """Report at each scrape what each tenant has in use, and what it may."""
        self.registry.register(_Quotas(limits, use))

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


class _Quotas(Collector):
    def __init__(self, limits: Mapping[str, float], use: Callable[[], Use]) -> None:
        self._limits = limits
        self._use = use

    def collect(self) -> Iterable[Metric]:
        most = GaugeMetricFamily("rlfactory_quota_limit", "The most that one tenant may have.", labels=("what",))
        for what, limit in self._limits.items():
            most.add_metric((what,), limit)
        used = GaugeMetricFamily("rlfactory_quota_used", "What a tenant has.", labels=("tenant", "what"))
        for tenant, what, value in self._use():
            used.add_metric((tenant, what), value)
        yield from (most, used)


def _bound(server: WSGIServer) -> None:
    """Let the server, which makes a thread for each connection, have a few at a time, and wait for none for long."""
    handler = server.RequestHandlerClass
    server.RequestHandlerClass = type("Handler", (handler,), {"timeout": SCRAPE_TIMEOUT_S})  # type: ignore[arg-type]
    places = threading.BoundedSemaphore(MAX_SCRAPES)
    serve = server.process_request_thread  # type: ignore[attr-defined]

    def serve_and_leave(*connection: object) -> None:
        try:
            serve(*connection)
        finally:
            places.release()

    server.process_request_thread = serve_and_leave  # type: ignore[attr-defined]
    server.verify_request = lambda *_: places.acquire(blocking=False)  # type: ignore[method-assign]


@contextmanager
def exposed(registry: CollectorRegistry, *, host: str, port: int) -> Iterator[int]:
    """Serve the metrics over HTTP for the block, and give the port. Raises: TaskError: it cannot be listened on."""
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        raise TaskError(f"--metrics-port {port}: cannot listen on {host}: {error.strerror}") from None
    _bound(server)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
