"""`rlfactory serve --ray`: a service on each node of a Ray cluster, for as long as this program runs."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import os
import secrets
import signal
from collections.abc import Iterator, Sequence
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry
from rich.console import Console

from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.client.ray_cluster import (
    DIRECTORY,
    NAMESPACE,
    REPORT_S,
    SERVER_NAME,
    Credentials,
    connect,
    directory,
)
from rlfactory.envs.cluster.demand import Demand
from rlfactory.envs.cluster.directory import Directory
from rlfactory.envs.cluster.fleet import Fleet, Wanted
from rlfactory.envs.cluster.host import version
from rlfactory.envs.service.metrics import exposed
from rlfactory.envs.service.serve import run_service
from rlfactory.envs.service.serve_options import ServeOptions
from rlfactory.processes.child import when_parent_ends

OF_THE_CLUSTER: Final = frozenset(
    {
        *("config", "host", "port", "phones", "stop_on_eof", "json", "metrics_port", "metrics_host"),
        *("token_file", "tls_cert", "tls_key", "tls_client_ca", "plaintext"),
        *("ray", "address", "nodes", "most_nodes", "trainer", "phones_per_node", "cpus_per_node", "node_resource"),
    }
)
"""Options that are this program's affair, or made for the run."""


def wanted_of(options: ServeOptions) -> Wanted:
    """Return what is asked of the cluster. Raises: TaskError."""
    if options.nodes != "all" and not (options.nodes.isdecimal() and int(options.nodes)):
        raise TaskError(f"--nodes is {options.nodes!r}; it must be a number of nodes, or all")
    nodes = None if options.nodes == "all" else int(options.nodes)
    if options.most_nodes and not (nodes and nodes <= options.most_nodes and options.node_resource):
        raise TaskError("--most-nodes needs --nodes, a number that is no larger, and --node-resource")
    if options.most_nodes and not options.phones_per_node:
        raise TaskError("--most-nodes counts phones: --phones-per-node must be at least 1")
    default = ServeOptions()
    given = {each.name: getattr(options, each.name) for each in fields(options) if each.name not in OF_THE_CLUSTER}
    changed = {name: _plain(value) for name, value in given.items() if value != getattr(default, name)}
    return Wanted(
        nodes=nodes,
        most_nodes=options.most_nodes,
        cpus=options.cpus_per_node,
        resource=options.node_resource,
        trainers=tuple(dict.fromkeys(options.trainer or ())),
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
    asyncio.run(_serve(options, wanted_of(options)))


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


@contextlib.contextmanager
def _fleet(wanted: Wanted) -> Iterator[Fleet]:
    """Make credentials and a directory for the run; all that is placed ends with the block, or with this process."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    with contextlib.suppress(InfrastructureError):
        directory()
        raise TaskError("this Ray cluster serves phones already: stop the other `rlfactory serve --ray` first")
    credentials = new_credentials(wanted.trainers)
    actor = (
        ray.remote(Directory)
        .options(
            name=DIRECTORY,
            namespace=NAMESPACE,
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=0,
            # Here, it is lost with this program or not at all; elsewhere, with a node of phones.
            scheduling_strategy=NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False),
        )
        .remote(credentials, version=version())
    )
    demand = Demand(least=wanted.nodes or 1, most=wanted.most_nodes, phones_per_node=wanted.options["phones"])
    fleet = Fleet(wanted, credentials, actor, demand if wanted.most_nodes else None)
    try:
        yield fleet
    finally:
        fleet.close()


def new_credentials(trainers: Sequence[str] = (), *, days: int = 90) -> Credentials:
    """Return tokens and a certificate for a run of at most so long."""
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
        tokens={name: secrets.token_urlsafe(32) for name in trainers or ("",)},
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
