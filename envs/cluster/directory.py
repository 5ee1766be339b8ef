"""Who serves: a named actor of the cluster. It remembers nothing that its hosts do not tell it again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from rlfactory.envs.api.errors import ProtocolMismatch
from rlfactory.envs.client.ray_cluster import REPORT_S, Credentials, HostReport, Listing

LOST_S: Final = 3.0
"""A host that has not reported for so long is gone."""


class Directory:
    """The hosts of a cluster, by their last reports. Restarted, it knows all again after one round of them."""

    def __init__(self, credentials: Credentials, *, version: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._credentials = credentials
        self._version = version
        self._clock = clock
        self._began_s = clock()
        self._heard: dict[str, tuple[float, HostReport]] = {}
        self._draining: set[str] = set()
        self._drained: dict[str, float] = {}
        """When its host said so last, by node."""

    async def credentials(self, trainer: str) -> Credentials:
        """Return by what services and clients of this run know each other. Raises: UnknownName: no such trainer."""
        return self._credentials.of(trainer)

    async def report(self, report: HostReport) -> bool:
        """Take a host's report; tell it whether it is to drain.

        Raises: ProtocolMismatch: the host runs another version.
        """
        if report.version != self._version:
            raise ProtocolMismatch(f"node {report.node[:8]} runs version {report.version}, the cluster {self._version}")
        if report.drained:
            self._heard.pop(report.address, None)
            self._drained[report.node] = self._clock()
            return True
        self._heard[report.address] = (self._clock(), report)
        return report.address in self._draining

    async def leave(self, address: str) -> None:
        """The host's service has ended."""
        self._heard.pop(address, None)

    async def drain(self, address: str) -> bool:
        """Have a host begin no more sessions and end after those it has; False: there is no such host."""
        if address not in self._alive():
            return False
        self._draining.add(address)
        return True

    async def listing(self) -> Listing:
        """Return the hosts that are alive."""
        settled = self._clock() - self._began_s > 2 * REPORT_S + LOST_S
        oldest_s = self._clock() - LOST_S
        drained = frozenset(node for node, heard_s in self._drained.items() if heard_s >= oldest_s)
        return Listing(hosts=self._alive(), drained=drained, settled=settled)

    def _alive(self) -> dict[str, HostReport]:
        oldest_s = self._clock() - LOST_S
        self._heard = {address: heard for address, heard in self._heard.items() if heard[0] >= oldest_s}
        return {address: report for address, (_, report) in self._heard.items()}
