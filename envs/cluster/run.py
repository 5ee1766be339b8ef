"""`rlfactory serve --ray`: a service on each node of a Ray cluster, for as long as this program runs."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import os
import secrets
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from rich.console import Console

from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.client.ray_cluster import (
    DIRECTORY,
    NAMESPACE,
    REPORT_S,
    SERVER_NAME,
    Credentials,
    HostReport,
    answer,
    connect,
    directory,
)
from rlfactory.envs.cluster.directory import Directory
from rlfactory.envs.cluster.host import START_S, Host, version
from rlfactory.envs.service.metrics import exposed
from rlfactory.envs.service.serve import run_service
from rlfactory.envs.service.serve_options import ServeOptions
from rlfactory.processes.child import when_parent_ends

OF_THE_CLUSTER: Final = frozenset(
    {
        *("config", "host", "port", "phones", "stop_on_eof", "json", "metrics_port", "metrics_host"),
        *("token_file", "tls_cert", "tls_key", "tls_client_ca", "plaintext"),
        *("ray", "address", "nodes", "phones_per_node", "cpus_per_node", "node_resource"),
    }
)
"""Options that are this program's affair, or made for the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What to start, and where."""

    nodes: int | None
    """None: on every node, those that join later too."""
    cpus: float
    """Of a node's, kept for its service."""
    resource: str
    """A custom resource that a node must have (kvm, docker); "": none."""
    options: Mapping[str, Any]
    """Of each service."""

    @classmethod
    def of(cls, options: ServeOptions) -> Wanted:
        """Raises: TaskError."""
        if options.nodes != "all" and not (options.nodes.isdecimal() and int(options.nodes)):
            raise TaskError(f"--nodes is {options.nodes!r}; it must be a number of nodes, or all")
        default = ServeOptions()
        given = {each.name: getattr(options, each.name) for each in fields(options) if each.name not in OF_THE_CLUSTER}
        changed = {name: _plain(value) for name, value in given.items() if value != getattr(default, name)}
        return cls(
            nodes=None if options.nodes == "all" else int(options.nodes),
            cpus=options.cpus_per_node,
            resource=options.node_resource,
            options={**changed, "phones": options.phones_per_node},
        )


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [str(each.absolute()) if isinstance(each, Path) else str(each) for each in value]
    if isinstance(value, Path):
        return str(value.absolute())
    return value.value if isinstance(value, Enum) else value


def run(options: ServeOptions) -> None:
    """Serve, on this machine or, where that is asked for, on a cluster. Raises: see `run_service`, `run_cluster`."""
    if options.ray:
        run_cluster(options)
    else:
        run_service(options)


def run_cluster(options: ServeOptions) -> None:
    """Serve on the cluster until SIGTERM, SIGINT, or the end of standard input where that is asked for.

    Raises: TaskError, InfrastructureError: no cluster, no room on its nodes, or no service that came up.
    """
    asyncio.run(_serve(options, Wanted.of(options)))


async def _serve(options: ServeOptions, wanted: Wanted) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.stop_on_eof:
        when_parent_ends(lambda: loop.call_soon_threadsafe(stop.set))
    with contextlib.ExitStack() as stack:
        await asyncio.to_thread(connect, options.address)
        fleet = stack.enter_context(_fleet(wanted))
        fleet.place()
        await fleet.first()
        metrics = CollectorRegistry()
        metrics.register(fleet)
        where = ""
        if options.metrics_port >= 0:
            port = stack.enter_context(exposed(metrics, host=options.metrics_host, port=options.metrics_port))
            where = f"{options.metrics_host}:{port}"
        address = "ray://" if options.address == "auto" else f"ray://{options.address}"
        _announce(fleet, address, metrics=where, as_json=options.json)
        while not stop.is_set():
            await fleet.look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REPORT_S):
                    await stop.wait()


@dataclass(eq=False)
class Fleet(Collector):
    """The actors that this program has placed, by their nodes."""

    wanted: Wanted
    credentials: Credentials
    directory: Any
    hosts: dict[str, Any] = field(default_factory=dict)
    reports: Mapping[str, HostReport] = field(default_factory=dict)

    def place(self) -> None:
        """Put a service on each node that is to have one and has none."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
        self.hosts = {node: host for node, host in self.hosts.items() if node in nodes}
        for node, resources in nodes.items():
            if node in self.hosts or not self._fits(resources):
                continue
            if self.wanted.nodes is not None and len(self.hosts) >= self.wanted.nodes:
                break
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
            what = f"{self.wanted.cpus:g} CPUs" + (f" and {self.wanted.resource}" if self.wanted.resource else "")
            raise TaskError(f"{len(self.hosts)} nodes of the cluster have {what}; {least} are wanted")
        waits = [asyncio.wrap_future(host.ready.remote(START_S).future()) for host in self.hosts.values()]
        problems = [str(each) for each in await asyncio.gather(*waits, return_exceptions=True) if each]
        if problems:
            raise InfrastructureError(f"{len(problems)} of {len(waits)} services did not start: {problems[0]}")
        await self.look()

    async def look(self) -> None:
        """See who is there, place what is missing, end what has drained."""
        with contextlib.suppress(InfrastructureError):
            self.reports = (await answer(self.directory.listing.remote())).hosts
        await asyncio.to_thread(self.place)

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


@contextlib.contextmanager
def _fleet(wanted: Wanted) -> Iterator[Fleet]:
    """Make credentials and a directory for the run; all that is placed ends with the block, or with this process."""
    import ray

    with contextlib.suppress(InfrastructureError):
        directory()
        raise TaskError("this Ray cluster serves phones already: stop the other `rlfactory serve --ray` first")
    credentials = new_credentials()
    actor = (
        ray.remote(Directory)
        .options(name=DIRECTORY, namespace=NAMESPACE, num_cpus=0, max_restarts=-1, max_task_retries=0)
        .remote(credentials, version=version())
    )
    fleet = Fleet(wanted, credentials, actor)
    try:
        yield fleet
    finally:
        fleet.close()


def new_credentials(*, days: int = 90) -> Credentials:
    """Return a token and a certificate for a run of at most so long."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, SERVER_NAME)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # clocks of nodes differ
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(SERVER_NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Credentials(
        token=secrets.token_urlsafe(32),
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _announce(fleet: Fleet, address: str, *, metrics: str, as_json: bool) -> None:
    hosts = sorted(fleet.reports)
    if as_json:
        print(json.dumps({"address": address, "pid": os.getpid(), "hosts": hosts, "metrics": metrics}), flush=True)
        return
    phones = sum(report.load.phones for report in fleet.reports.values())
    Console(highlight=False).print(
        f"[bold green]serving[/] {phones} phones on {len(hosts)} nodes of the Ray cluster: {', '.join(hosts)}\n"
        f"clients: EnvClient({address!r}), rlfactory status {address}; Ctrl-C stops"
        + (f"\nmetrics on http://{metrics}/metrics" if metrics else ""),
        soft_wrap=True,
    )
