"""Where a client's services are: one address, a list of them, or a name that DNS knows many addresses of."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, Protocol

from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.trust import ClientTrust

DNS: Final = "dns:///"
ASK_AGAIN_S: Final = 5.0
"""How often a name is looked up again."""
MAX_PORT: Final = 65_535

Found = Mapping[str, Load | None]
"""By address what is known of each service's load; None: nothing new."""


class Addresses(Protocol):
    """A source of addresses. What it names no longer is gone: sessions there are lost."""

    several: bool
    """There may be more than one."""
    trust: ClientTrust | None
    """How these services are known; None: as the client was told."""

    def watch(self) -> AsyncIterator[Found]:
        """Yield all services as they are now, then again whenever that may have changed."""
        ...


class Fixed:
    """Addresses that do not change."""

    trust: ClientTrust | None = None

    def __init__(self, addresses: Sequence[str]) -> None:
        if not addresses:
            raise TaskError("a client needs the address of at least one service")
        for address in addresses:
            host, _, port = address.rpartition(":")
            if not host or "/" in host or not (port.isdecimal() and 0 < int(port) <= MAX_PORT):
                raise TaskError(f"{address!r} is no address of a service: HOST:PORT, as in 127.0.0.1:7000")
        self._addresses = tuple(dict.fromkeys(addresses))
        self.several = len(self._addresses) > 1

    async def watch(self) -> AsyncIterator[Found]:
        yield dict.fromkeys(self._addresses)


class Dns:
    """All addresses of a name, as those of a headless service in Kubernetes; asked for again every few seconds."""

    several: bool = True
    trust: ClientTrust | None = None

    def __init__(self, target: str) -> None:
        """Args: target: `dns:///host:port`."""
        self._host, _, port = target.removeprefix(DNS).rpartition(":")
        if not self._host or not port.isdecimal():
            raise TaskError(f"{target!r} names no service: dns:///host:port")
        self._port = int(port)

    async def watch(self) -> AsyncIterator[Found]:
        known = False
        while True:
            try:
                answers = await asyncio.get_running_loop().getaddrinfo(
                    self._host, self._port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
                )
            except OSError as error:
                if not known:
                    raise InfrastructureError(f"no address of {self._host} is known: {error.strerror}") from None
            else:
                known = True
                hosts = sorted({str(answer[4][0]) for answer in answers})
                yield {f"[{host}]:{self._port}" if ":" in host else f"{host}:{self._port}": None for host in hosts}
            await asyncio.sleep(ASK_AGAIN_S)


def addresses_of(address: str | Sequence[str]) -> Addresses:
    """Return the source that an address stands for. Raises: TaskError: it stands for none."""
    if not isinstance(address, str):
        return Fixed(address)
    if address.startswith(DNS):
        return Dns(address)
    return Fixed(tuple(each.strip() for each in address.split(",")))
