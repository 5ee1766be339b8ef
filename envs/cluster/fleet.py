"""The services of a cluster as the program that placed them sees them: placed, missing, drained, asked for."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.client.ray_cluster import Credentials, HostReport, Listing, answer
from rlfactory.envs.cluster.demand import Demand
from rlfactory.envs.cluster.host import START_S, Host

PLACE_S: Final = 60.0
"""For Ray to start an actor on a node that has room for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What to start, and where."""

    nodes: int | None
    """None: on every node, those that join later too."""
    most_nodes: int
    """Of Ray's autoscaler, while sessions wait; 0: no more than `nodes`."""
    cpus: float
    """Of a node's, kept for its service."""
    resource: str
    """A custom resource that a node must have (kvm, docker); "": none."""
    trainers: tuple[str, ...]
    """Who share the phones; (): whoever comes, as one."""
    options: Mapping[str, Any]
    """Of each service."""

    def __str__(self) -> str:
        return f"{self.cpus:g} CPUs" + (f" and {self.resource}" if self.resource else "")


@dataclass(eq=False)
class Fleet(Collector):
    """The actors that this program has placed, by their nodes."""

    wanted: Wanted
    credentials: Credentials
    directory: Any
    demand: Demand | None
    """None: as many nodes as are wanted from the first, whoever waits."""
    hosts: dict[str, Any] = field(default_factory=dict)
    reports: Mapping[str, HostReport] = field(default_factory=dict)
    _nodes: int | None = None
    """That are to serve just now; None: all."""
    _starting: dict[str, asyncio.Future[str]] = field(default_factory=dict)
    _retired: set[str] = field(default_factory=set)
    """Nodes that were drained by somebody's word, and serve no more."""

    _drained: frozenset[str] = frozenset()
    """As listed: a node that was ended is named for some seconds more, and takes no other service until then."""

    def __post_init__(self) -> None:
        self._nodes = self.wanted.nodes

    def place(self) -> None:
        """Put a service on each node that is to have one and has none."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
        for node in self.hosts.keys() - nodes.keys():
            self._end(node)
        for node in sorted(nodes.keys() - self.hosts.keys() - self._retired - self._drained):
            if self._nodes is not None and len(self.hosts) >= self._nodes:
                break
            if not self._fits(nodes[node]):
                continue
            self.hosts[node] = (
                ray.remote(Host)
                .options(
                    num_cpus=self.wanted.cpus,
                    resources={self.wanted.resource: 0.001} if self.wanted.resource else None,
                    scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
                    max_restarts=-1,
                    max_concurrency=4,
                )
                .remote(self.wanted.options, self.credentials)
            )

    def _fits(self, resources: Mapping[str, float]) -> bool:
        """Tell whether a node is one of those asked for, and large enough."""
        enough = resources.get("CPU", 0.0) >= self.wanted.cpus
        return enough and (not self.wanted.resource or self.wanted.resource in resources)

    async def first(self) -> None:
        """Return when all services placed have come up. Raises: TaskError, InfrastructureError: too few, or none."""
        least = self.wanted.nodes or 1
        if len(self.hosts) < least:
            raise TaskError(f"{len(self.hosts)} nodes of the cluster have {self.wanted}; {least} are wanted")
        while without := await self._without_room():
            tried = len(self.hosts) + len(self._retired)
            self._retired |= without
            for node in without:
                self._end(node)
            self.place()  # on others, where not all are asked for
            if self.wanted.nodes is None or len(self.hosts) < least:
                raise TaskError(
                    f"no room for a service on {len(self._retired)} of {tried} nodes "
                    f"({', '.join(node[:8] for node in sorted(self._retired))}): {self.wanted} are not free there"
                )
        placed = len(self.hosts)
        self._watch_starts()
        await asyncio.wait(self._starting.values())
        if problems := self._problems():
            raise InfrastructureError(f"{len(problems)} of {placed} services did not start: {problems[0]}")
        await self.look()

    async def _without_room(self) -> set[str]:
        """Return the nodes on which Ray has not started an actor in time."""
        placed = {node: _awaited(host.placed.remote()) for node, host in self.hosts.items()}
        await asyncio.wait(placed.values(), timeout=PLACE_S)
        return {node for node, each in placed.items() if not each.done()}

    async def look(self) -> None:
        """See who is there, place what is missing, end what has drained, ask for what is needed."""
        with contextlib.suppress(InfrastructureError):
            listing: Listing = await answer(self.directory.listing.remote())
            self.reports = listing.hosts
            self._drained = listing.drained
            for node in listing.drained & self.hosts.keys():
                self._end(node)
                if self.demand is None:
                    self._retired.add(node)
            await self._scale()
        await asyncio.to_thread(self.place)
        self._watch_starts()
        for problem in self._problems():
            print(f"error: a service did not start: {problem}", file=sys.stderr, flush=True)

    async def _scale(self) -> None:
        """Have as many nodes as the sessions need."""
        if self.demand is None:
            return
        from ray.autoscaler.sdk import request_resources

        serving = {address: each for address, each in self.reports.items() if not each.load.draining}
        nodes = self.demand.nodes([each.load for each in serving.values()], now_s=time.monotonic())
        if nodes != self._nodes:
            self._nodes = nodes
            bundle = {"CPU": self.wanted.cpus, self.wanted.resource: 1}
            await asyncio.to_thread(request_resources, bundles=[bundle] * nodes)
        idlest = sorted(serving, key=lambda address: serving[address].load.sessions)
        for address in idlest[: max(len(serving) - nodes, 0)]:
            await answer(self.directory.drain.remote(address))

    def _watch_starts(self) -> None:
        for node in self.hosts.keys() - self._starting.keys():
            self._starting[node] = _awaited(self.hosts[node].ready.remote(START_S))

    def _problems(self) -> list[str]:
        """Return in a line each why services have not started; nothing is left of them."""
        problems = []
        for node, started in self._starting.items():
            if not started.done() or started.cancelled() or node not in self.hosts:
                continue
            error = started.exception()
            problem = (str(error).strip().splitlines() or [type(error).__name__])[-1] if error else started.result()
            if problem:
                problems.append(problem)
                self._retired.add(node)
        for node in self._retired & self.hosts.keys():
            self._end(node)
        return problems

    def _end(self, node: str) -> None:
        import ray

        self._starting.pop(node, None)
        ray.kill(self.hosts.pop(node), no_restart=True)

    def close(self) -> None:
        """End all services and the directory."""
        import ray

        for actor in (*self.hosts.values(), self.directory):
            ray.kill(actor, no_restart=True)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the figures of all hosts for Prometheus."""
        figures: dict[str, Callable[[HostReport], float]] = {
            "phones": lambda report: report.load.phones,
            "free_phones": lambda report: report.load.free,
            "waiting": lambda report: report.load.waiting,
            "sessions": lambda report: report.load.sessions,
            "draining": lambda report: report.load.draining,
            "steps_per_second": lambda report: report.steps_per_s,
        }
        for name, figure in figures.items():
            family = GaugeMetricFamily(f"rlfactory_host_{name}", f"{name} of each host", labels=("host",))
            for report in self.reports.values():
                family.add_metric((report.address,), figure(report))
            yield family


def _awaited(reference: Any) -> asyncio.Future[Any]:
    """Return what a call of an actor returns, as a future that nobody has to ask."""
    future = asyncio.wrap_future(reference.future())
    future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return future
