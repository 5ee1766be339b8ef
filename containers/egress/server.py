"""The one way out of an internal network: an HTTP proxy that knows a list of hosts, and nothing else.

    --allow example.com:443 --allow '*.example.org:443'

It takes CONNECT (for https) and plain requests by absolute address. It looks names up itself, and refuses names that
lead to addresses which are not public, so that no listed name can be turned into a way to the machine it runs on.
Whoever is let in says which hosts; what is said to them over TLS is not seen here.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ipaddress
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

PORT: Final = 3128
MAX_CONNECTIONS: Final = 256
MAX_HEAD_BYTES: Final = 64 << 10
CONNECT_S: Final = 10.0
IDLE_S: Final = 300.0
_CHUNK: Final = 64 << 10


class Refused(Exception):
    """The request is not let through; the message says why, the code is HTTP's."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class Rule:
    """A host, or all hosts below it (`*.`), on one port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read HOST:PORT. Raises: ValueError."""
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536 or "*" in host.removeprefix("*."):
            raise ValueError(f"{text!r} is not HOST:PORT or *.HOST:PORT")
        return cls(host.lower().rstrip("."), int(port))

    def covers(self, host: str, port: int) -> bool:
        if port != self.port:
            return False
        return host == self.host or (self.host.startswith("*.") and host.endswith(self.host[1:]))


class Egress:
    """The proxy."""

    def __init__(self, rules: Sequence[Rule], *, private: bool = False) -> None:
        """Args: private: let addresses through that are not public, for hosts of one's own network."""
        self._rules = tuple(rules)
        self._private = private
        self._open = 0

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client."""
        self._open += 1
        try:
            if self._open > MAX_CONNECTIONS:
                raise Refused(503, f"{MAX_CONNECTIONS} connections are open already")
            async with asyncio.timeout(CONNECT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._serve(head, reader, writer)
        except Refused as refusal:
            print(f"refused: {refusal}", flush=True)
            body = f"{refusal}\n".encode()
            lines = f"HTTP/1.1 {refusal.code} Refused\r\nContent-Type: text/plain\r\nConnection: close\r\n"
            writer.write(f"{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _serve(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, version = (*first.split(" "), "", "", "")[:3]
        if first == "GET /health HTTP/1.1":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            return
        if method == "CONNECT":
            host, port = _host_and_port(f"//{target}", 443)
            opening = b""
        elif target.startswith("http://") and version.startswith("HTTP/1."):
            host, port = _host_and_port(target, 80)
            opening = _origin_form(method, target, lines)
        else:
            raise Refused(400, "this is a proxy: CONNECT HOST:PORT, or a request with an absolute http:// address")
        upstream = await self._connect(host, port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        try:
            upstream[1].write(opening)
            await asyncio.gather(_pump(reader, upstream[1]), _pump(upstream[0], writer))
        finally:
            upstream[1].close()
            with contextlib.suppress(OSError):
                await upstream[1].wait_closed()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Raises: Refused: the host is not listed, leads nowhere public, or does not answer."""
        if not any(rule.covers(host, port) for rule in self._rules):
            raise Refused(403, f"{host}:{port} is not on the list")
        try:
            async with asyncio.timeout(CONNECT_S):
                found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
                addresses = [str(each[4][0]) for each in found]
                if not self._private and not all(ipaddress.ip_address(each).is_global for each in addresses):
                    raise Refused(403, f"{host} leads to an address that is not public")
                # The address that was looked at, so that a second look-up cannot lead elsewhere.
                return await asyncio.open_connection(addresses[0], port)
        except (OSError, TimeoutError) as error:
            raise Refused(502, f"{host}:{port} cannot be reached ({error or 'in time'})") from None


def _host_and_port(address: str, default: int) -> tuple[str, int]:
    """Raises: Refused: it is no address."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or default
    except ValueError:
        host, port = "", 0
    if not host:
        raise Refused(400, f"{address!r:.200} is no address")
    return host.lower().rstrip("."), port


def _origin_form(method: str, target: str, lines: Sequence[str]) -> bytes:
    """Return the head of a request as its server wants it: one request, for the host that was checked."""
    parts = urlsplit(target)
    path = parts._replace(scheme="", netloc="").geturl() or "/"
    dropped = ("host:", "connection:", "proxy-", "keep-alive:")
    kept = [line for line in lines if not line.lower().startswith(dropped)]
    return "\r\n".join(
        [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close", *kept, "", ""]
    ).encode("latin-1")


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until the end, or until nothing comes for long."""
    with contextlib.suppress(OSError, TimeoutError):
        while True:
            async with asyncio.timeout(IDLE_S):
                data = await reader.read(_CHUNK)
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def serve(host: str, port: int, egress: Egress) -> None:
    """Serve until SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    server = await asyncio.start_server(egress.accept, host, port, limit=MAX_HEAD_BYTES)
    print(f"egress on port {server.sockets[0].getsockname()[1]}", flush=True)
    await stopped.wait()
    server.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="egress", description="Let containers out to the hosts of a list.")
    parser.add_argument("--allow", action="append", default=[], metavar="HOST:PORT", help="repeat it for more")
    parser.add_argument("--allow-private", action="store_true", help="also to addresses that are not public")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--host", default="0.0.0.0", help="the container's own address; nothing publishes it")
    options = parser.parse_args()
    try:
        rules = [Rule.parse(text) for text in options.allow]
    except ValueError as error:
        parser.error(str(error))
    asyncio.run(serve(options.host, options.port, Egress(rules, private=options.allow_private)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
