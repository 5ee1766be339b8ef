"""The services of a Ray cluster, known to a directory that is an actor: `EnvClient("ray://")` plays on all of them."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rlfactory.envs.api.errors import InfrastructureError, RLFactoryError, TaskError, UnknownName
from rlfactory.envs.client.addresses import Found
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.trust import ClientTrust

SCHEME: Final = "ray://"
NAMESPACE: Final = "rlfactory"
DIRECTORY: Final = "directory"
SERVER_NAME: Final = "rlfactory-cluster"
"""In the certificate that all services of a cluster show, wherever they are."""
REPORT_S: Final = 0.5
"""How often services report to the directory, and clients read it."""
FIRST_S: Final = 60.0
"""How long a client waits for the first service of a cluster."""
ANSWER_S: Final = 3.0
"""A directory that does not answer within that is being restarted; who knows its services plays on meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostReport:
    """What a host says of itself."""

    address: str
    """host:port of its service."""
    node: str
    """Ray's id of the node it is on."""
    load: Load
    version: str
    steps: float = 0.0
    """Carried out since it began."""
    steps_per_s: float = 0.0
    suites: tuple[str, ...] = ()
    drained: bool = False
    """It was asked to drain, its last session has ended, and so has its service."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """What the directory knows."""

    hosts: Mapping[str, HostReport]
    """By address."""
    drained: frozenset[str]
    """Nodes, by Ray's id, whose hosts have drained."""
    settled: bool
    """All hosts have had the time to report since the directory was started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    """Made for one run and handed over by Ray, which trusts whoever has joined the cluster."""

    tokens: Mapping[str, str] = field(repr=False)
    """By trainer: services know each as a tenant. Of trainers that nobody tells apart the one of ""."""
    certificate: bytes
    key: bytes = field(repr=False)

    def of(self, trainer: str) -> Credentials:
        """Return what one trainer is known by. Raises: UnknownName."""
        if trainer not in self.tokens:
            raise UnknownName.of("trainer", trainer, self.tokens)
        return replace(self, tokens={trainer: self.tokens[trainer]}, key=b"")

    @property
    def trust(self) -> ClientTrust:
        """That of the first trainer."""
        return ClientTrust(token=next(iter(self.tokens.values())), ca=self.certificate, server_name=SERVER_NAME)


class RayAddresses:
    """The services that the directory of a cluster lists."""

    several = True

    def __init__(self, address: str) -> None:
        """Args: address: `ray://`: the cluster of this machine; `ray://host:port`: of that head node. `/NAME` after
        either is the trainer for which sessions are begun, where the cluster has several."""
        self._cluster, self._trainer = cluster_of(address)
        self._address = address
        self.trust: ClientTrust | None = None
        """How the services are known, from the first answer on."""

    def __str__(self) -> str:
        return self._address

    async def watch(self) -> AsyncIterator[Found]:
        await asyncio.to_thread(connect, self._cluster)
        self.trust = (await answer(directory().credentials.remote(self._trainer))).trust
        known, end_s = False, time.monotonic() + FIRST_S
        while True:
            listing = await self._listing()
            if listing is not None and listing.hosts and (listing.settled or not known):
                known = True
                yield {each.address: each.load for each in listing.hosts.values()}
            elif not known and time.monotonic() >= end_s:
                raise InfrastructureError(f"no environment service of the cluster came up within {FIRST_S:g} s")
            await asyncio.sleep(REPORT_S)

    async def _listing(self) -> Listing | None:
        try:
            listing: Listing = await answer(directory().listing.remote())
        except InfrastructureError:
            return None
        return listing


def cluster_of(address: str) -> tuple[str, str]:
    """Return where the cluster of `ray://[HOST:PORT][/TRAINER]` is, or auto, and the trainer, or ""."""
    cluster, _, trainer = address.removeprefix(SCHEME).partition("/")
    return cluster or "auto", trainer


def connect(address: str) -> None:
    """Join a cluster, unless this process has. Raises: InfrastructureError: there is none. TaskError: no Ray."""
    try:
        import ray
    except ModuleNotFoundError:
        raise TaskError("a cluster needs Ray: install rlfactory[train]") from None
    if ray.is_initialized():
        return
    if address != "auto":
        _require_head(address)
    try:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address == "auto" else f"at {address}"
        reason = (str(error).splitlines() or [""])[0]
        raise InfrastructureError(f"no Ray cluster {where}: {reason or 'start one with `ray start --head`'}") from None


def _require_head(address: str) -> None:
    """Raises: InfrastructureError: nobody listens there; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InfrastructureError(f"no Ray cluster at {address}: {error}") from None


def directory() -> Any:
    """Return the cluster's directory. Raises: InfrastructureError: it has none."""
    import ray

    try:
        return ray.get_actor(DIRECTORY, namespace=NAMESPACE)
    except ValueError:
        raise InfrastructureError(
            "this Ray cluster serves no phones: start them with `rlfactory serve --ray`"
        ) from None


async def answer(reference: Any) -> Any:
    """Return what a call of an actor returns, on any event loop.

    Raises: what of ours the call raised; InfrastructureError: the actor does not answer.
    """
    import ray

    waiting: Awaitable[Any] = asyncio.wrap_future(reference.future())
    try:
        async with asyncio.timeout(ANSWER_S):
            return await waiting
    except TimeoutError:
        raise InfrastructureError(f"the directory did not answer within {ANSWER_S:g} s") from None
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, RLFactoryError):
            raise cause from None
        raise InfrastructureError(f"the directory did not answer: {type(error).__name__}") from None
