"""A broker that alone owns the Docker socket: it lets a service have containers as ours are, and nothing else.

    rlfactory broker --listen /run/rlfactory/docker.sock

Whoever may use the engine's own socket is as good as root on its machine. A service that runs in a container is given
the broker's socket instead (`DOCKER_HOST=unix:///run/rlfactory/docker.sock`). What it may ask for stands in
`broker_rules`; the rest is refused with 403 and logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlencode

import h11

from rlfactory.processes.docker.broker_rules import Ask, Refused, Rules
from rlfactory.processes.docker.spec import LABEL_CELL

log = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 1 << 20
MAX_HEAD_BYTES: Final = 64 << 10
MAX_CONNECTIONS: Final = 1024
"""At a time; each sandbox and each container of phones holds one."""
READ_BYTES: Final = 64 << 10
OF_ONE_CONNECTION: Final = (b"connection", b"keep-alive", b"transfer-encoding", b"upgrade")
"""Headers of a message that say nothing of what it carries."""


_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Peer:
    """One side of a connection: its bytes, and HTTP over them."""

    def __init__(self, role: type[h11.CLIENT] | type[h11.SERVER], streams: _Streams) -> None:
        self.http = h11.Connection(role, max_incomplete_event_size=MAX_HEAD_BYTES)
        self.reader, self.writer = streams

    async def send(self, *events: Any) -> None:
        for event in events:
            self.writer.write(self.http.send(event) or b"")
        await self.writer.drain()

    async def next_event(self) -> Any:
        while (event := self.http.next_event()) is h11.NEED_DATA:
            self.http.receive_data(await self.reader.read(READ_BYTES))
        return event

    async def whole(self) -> tuple[Any, bytes]:
        """Return the next message and its body; None when there is none. Raises: Refused: too large."""
        head = await self.next_event()
        body = bytearray()
        if isinstance(head, h11.Request | h11.Response):
            while isinstance(part := await self.next_event(), h11.Data):
                body += part.data
                if len(body) > MAX_BODY_BYTES:
                    raise Refused(f"a body of more than {MAX_BODY_BYTES} bytes")
            return head, bytes(body)
        return None, b""


class Broker:
    """Listens on a Unix socket for a service. An async context manager."""

    def __init__(self, rules: Rules, *, listen: Path, engine: Path) -> None:
        """Args: engine: the Docker engine's own socket."""
        self._rules = rules
        self._listen = listen
        self._engine = engine
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Raises: OSError: it cannot listen there."""
        self._listen.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._accept, self._listen)
        self._listen.chmod(0o660)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for each in tuple(self._serving):
            each.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        self._listen.unlink(missing_ok=True)

    async def _accept(self, *streams: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._serving) >= MAX_CONNECTIONS:
            streams[1].transport.abort()
            return
        self._serving.add(task)
        try:
            with contextlib.suppress(OSError, h11.ProtocolError, asyncio.CancelledError):
                await self._serve(_Peer(h11.SERVER, streams))
        finally:
            self._serving.discard(task)
            streams[1].transport.abort()

    async def _serve(self, service: _Peer) -> None:
        while True:
            try:
                request, body = await service.whole()
                if request is None:
                    return
                ask = Ask.of(request.method.decode(), request.target.decode(), body)
                await self._pass_on(await self._granted(ask), request, service)
            except Refused as refused:
                if refused.code != 404:
                    log.warning("refused: %s", refused)
                await _answer(service, refused.code, {"message": f"the broker refuses this: {refused}"})
            except OSError as error:
                await _answer(service, 502, {"message": f"no Docker engine: {error.strerror}"})
            if (service.http.our_state, service.http.their_state) != (h11.DONE, h11.DONE):
                return
            service.http.start_next_cycle()

    async def _granted(self, ask: Ask) -> Ask:
        """Return the request with the ids of what it names. Raises: Refused."""
        if self._rules.makes_container(ask) and await self._cells() >= self._rules.max_containers:
            raise Refused(f"there are {self._rules.max_containers} containers already")
        found, also = None, ask.also
        if ask.names and ask.kind in ("containers", "networks"):
            found = await self._look(f"/{ask.kind}/{ask.names}" + ("/json" if ask.kind == "containers" else ""))
        return self._rules.granted(ask, found, await self._look(f"/containers/{also}/json") if also else None)

    async def _cells(self) -> int:
        filters = json.dumps({"label": [LABEL_CELL]})
        return len(await self._look(f"/containers/json?{urlencode({'all': 1, 'filters': filters})}") or ())

    async def _look(self, target: str) -> Any:
        """Return what the engine says of something, None if there is no such thing."""
        async with self._engines_answer(h11.Request(method="GET", target=target, headers=_headers(b""))) as engine:
            response, body = await engine.whole()
        return json.loads(body) if response is not None and response.status_code == 200 else None

    @asynccontextmanager
    async def _engines_answer(self, request: h11.Request, body: bytes = b"") -> AsyncIterator[_Peer]:
        """Ask the engine on a connection of its own. Raises: OSError: it does not answer."""
        reader, writer = await asyncio.open_unix_connection(self._engine)
        try:
            engine = _Peer(h11.CLIENT, (reader, writer))
            await engine.send(request, h11.Data(data=body), h11.EndOfMessage())
            yield engine
        finally:
            writer.transport.abort()

    async def _pass_on(self, ask: Ask, request: h11.Request, service: _Peer) -> None:
        """Put the request to the engine, and its answer to the service."""
        headers = _headers(ask.body)
        if any(name == b"upgrade" for name, _ in request.headers):
            headers[-1:] = [("Connection", "Upgrade"), ("Upgrade", "tcp")]
        asked = h11.Request(method=ask.method, target=ask.target, headers=headers)
        async with self._engines_answer(asked, ask.body) as engine:
            if ask.shown:
                response, body = await engine.whole()
                await _answer(service, response.status_code, {key: json.loads(body).get(key) for key in ask.shown})
                return
            while not isinstance(event := await engine.next_event(), h11.EndOfMessage | h11.ConnectionClosed):
                if isinstance(event, h11.InformationalResponse):
                    await service.send(event)
                    if event.status_code == 101:
                        await _join(service, engine)
                        return
                else:
                    await service.send(_without_hops(event) if isinstance(event, h11.Response) else event)
            await service.send(h11.EndOfMessage())


def _headers(body: bytes) -> list[tuple[str, str]]:
    length = str(len(body))
    return [
        *(("Host", "docker"), ("Content-Type", "application/json"), ("Content-Length", length)),
        ("Connection", "close"),
    ]


def _without_hops(response: h11.Response) -> h11.Response:
    headers = [(name, value) for name, value in response.headers if name not in OF_ONE_CONNECTION]
    return h11.Response(status_code=response.status_code, headers=headers)


async def _answer(service: _Peer, status: int, said: dict[str, Any]) -> None:
    body = json.dumps(said).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    await service.send(h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage())


async def _join(service: _Peer, engine: _Peer) -> None:
    """Pass bytes on both ways until one side ends: it is no HTTP any more."""

    async def pump(source: _Peer, sink: _Peer) -> None:
        data, _ = source.http.trailing_data
        while data or (data := await source.reader.read(READ_BYTES)):
            sink.writer.write(data)
            await sink.writer.drain()
            data = b""
        if sink.writer.can_write_eof():
            sink.writer.write_eof()

    await asyncio.gather(pump(service, engine), pump(engine, service))
