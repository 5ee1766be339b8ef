"""What Prometheus is told of a pool. Nothing here is process-wide: each pool has metrics of its own."""

from __future__ import annotations

from collections import Counter as CountOf
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rlfactory.emulators.pool.slot import PhoneState, PhoneStatus, PoolStatus

_WAIT_BUCKETS_S: Final = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
_RESET_BUCKETS_S: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
_START_BUCKETS_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0)


class PoolMetrics:
    """Counters and histograms of one pool, in the registry given."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """`registry` is what a scrape reads; None: one that nobody reads."""
        self.registry = registry if registry is not None else CollectorRegistry()

        def counter(name: str, text: str, labels: Sequence[str] = ()) -> Counter:
            return Counter(f"rlfactory_pool_{name}", text, labels, registry=self.registry)

        def histogram(name: str, text: str, buckets: Sequence[float]) -> Histogram:
            return Histogram(f"rlfactory_pool_{name}", text, buckets=buckets, registry=self.registry)

        self.leases = counter("leases", "Phones handed to clients.")
        self.leases_expired = counter("leases_expired", "Leases reclaimed because they were not renewed.")
        self.refused = counter("refused", "Clients that were told that there is no phone.")
        self.resets = counter("resets", "Phones brought back to their golden state.")
        self.mended = counter("mended", "Phones that failed, came back, and proved their golden state.")
        self.replaced = counter("replaced", "Phones that were replaced.", ("why",))
        """`why`: failed, recycled."""
        self.probes = counter("probes", "Idle phones asked whether they are still there.", ("answer",))
        """`answer`: yes, no."""
        self.start_failures = counter("start_failures", "Phones that did not start.")
        self.wait_s = histogram("wait_seconds", "How long clients waited for a phone.", _WAIT_BUCKETS_S)
        self.reset_s = histogram("reset_seconds", "Snapshot loaded and state hash proven.", _RESET_BUCKETS_S)
        self.start_s = histogram("start_seconds", "Phone started, golden snapshot taken.", _START_BUCKETS_S)

    def watch(self, pool: Callable[[], PoolStatus], phones: Callable[[], Sequence[PhoneStatus]]) -> None:
        """Report the present state at each scrape."""
        self.registry.register(_Gauges(pool, phones))


class _Gauges(Collector):
    """Figures that are read when they are asked for, so they cannot be stale."""

    def __init__(self, pool: Callable[[], PoolStatus], phones: Callable[[], Sequence[PhoneStatus]]) -> None:
        self._pool = pool
        self._phones = phones

    def collect(self) -> Iterable[Metric]:
        pool, phones = self._pool(), self._phones()
        states = CountOf(phone.state for phone in phones)
        by_state = GaugeMetricFamily("rlfactory_pool_phones", "Phones, by what they are doing.", labels=("state",))
        for state in PhoneState:
            by_state.add_metric((state.value,), states[state])
        yield by_state
        yield GaugeMetricFamily("rlfactory_pool_waiting", "Clients that wait for a phone.", pool.waiting)
        yield GaugeMetricFamily("rlfactory_pool_leases_held", "Leases held now.", pool.leases)
        yield GaugeMetricFamily(
            "rlfactory_pool_starts_paused_seconds",
            "Until phones may be started again, after the host could not.",
            pool.starts_paused_s,
        )
        memory = GaugeMetricFamily("rlfactory_pool_memory_bytes", "Memory of all phones, as last measured.")
        memory.add_metric((), sum(phone.memory_bytes for phone in phones))
        yield memory
        oldest = max((phone.age_s for phone in phones), default=0.0)
        yield GaugeMetricFamily("rlfactory_pool_oldest_seconds", "Age of the oldest phone.", oldest)
