"""What can be seen of the services at an address: `rlfactory status`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from rlfactory.envs.api.errors import InfrastructureError, TaskError, UnknownName
from rlfactory.envs.client.client import EnvClient
from rlfactory.envs.client.ray_cluster import REPORT_S, SCHEME, Listing, answer, cluster_of, connect, directory
from rlfactory.envs.wire.trust import ClientTrust

LOOK_S: Final = 0.5
"""Between the two looks that steps a second are counted by."""
DRAIN_S: Final = 10.0
"""For a host to be told that it drains, and to say so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostFigures:
    """One host, just now."""

    host: str
    state: str
    """serving, or draining."""
    phones: int
    free: int
    waiting: int
    sessions: int
    steps_per_s: float
    version: str


async def host_figures(address: str, trust: ClientTrust) -> tuple[HostFigures, ...]:
    """Look twice at each service and return what it does. Raises: InfrastructureError: nobody answers."""
    async with EnvClient(address, trust=trust) as client:
        first, began_s = await client.statuses(), time.monotonic()
        await asyncio.sleep(LOOK_S)
        second, passed_s = await client.statuses(), time.monotonic() - began_s
    return tuple(
        HostFigures(
            host=host,
            state="draining" if now.draining else "serving",
            phones=len(now.phones),
            free=sum(phone.state == "ready" for phone in now.phones),
            waiting=now.waiting,
            sessions=now.sessions,
            steps_per_s=(now.counters.get("steps", 0) - first[host].counters.get("steps", 0)) / passed_s,
            version=now.version,
        )
        for host, now in sorted(second.items())
        if host in first
    )


async def drain_host(address: str, host: str) -> None:
    """Let a host end after the sessions it has; return when it begins no more.

    Raises: InfrastructureError: no cluster, or no answer. TaskError: no such host.
    """
    if not address.startswith(SCHEME):
        raise TaskError(
            "--drain is for hosts of a Ray cluster (ray://); a service of its own drains when it is stopped"
        )
    await asyncio.to_thread(connect, cluster_of(address)[0])
    end_s, asked = time.monotonic() + DRAIN_S, False
    while time.monotonic() < end_s:  # a directory that is restarted forgets what it was asked
        known = await answer(directory().drain.remote(host))
        listing: Listing = await answer(directory().listing.remote())
        if not known and not asked:
            raise UnknownName.of("host", host, listing.hosts)
        if host not in listing.hosts or listing.hosts[host].load.draining:
            return
        asked = True
        await asyncio.sleep(REPORT_S)
    raise InfrastructureError(f"{host} has not begun to drain within {DRAIN_S:g} s")
