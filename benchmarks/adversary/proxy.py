"""A TCP proxy that breaks as networks do: refused, reset, swallowed, slow, half closed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self


class FaultProxy:
    """Stands before a service on a port of its own. An async context manager."""

    def __init__(self, target: str) -> None:
        self.port = 0
        self.delay_s = 0.0
        """Before each piece that is passed on."""
        self.swallow = False
        """Connections that are made now pass nothing on, and never will."""
        self.connections = 0
        """So far."""
        self._target = target.rpartition(":")[::2]
        self._server: asyncio.Server | None = None
        self._pairs: set[_Pair] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def listens(self) -> bool:
        return self._server is not None

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.refuse()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Reset what is open, and listen no more. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        self.reset()
        await asyncio.sleep(0)

    async def outage(self, seconds: float) -> None:
        """Be away for so long."""
        await self.refuse()
        await asyncio.sleep(seconds)
        await self.listen()

    def reset(self) -> None:
        """Reset all connections."""
        for pair in tuple(self._pairs):
            pair.abort()

    def lead_to(self, target: str) -> None:
        """From now on stand before this address; connections to the one before are reset."""
        self._target = target.rpartition(":")[::2]
        self.reset()

    def swallow_all(self) -> None:
        """From now on the connections that are open pass nothing on, and stay open."""
        for pair in self._pairs:
            pair.swallows = True

    def half_close(self) -> None:
        """Send the end of the stream to both sides' readers; what they write is dropped."""
        for pair in tuple(self._pairs):
            pair.half_close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        host, port = self._target
        try:
            up_reader, up_writer = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.transport.abort()
            return
        pair = _Pair(self, writer, up_writer)
        pair.swallows = self.swallow
        self._pairs.add(pair)
        try:
            await asyncio.gather(pair.pump(reader, up_writer), pair.pump(up_reader, writer))
        finally:
            self._pairs.discard(pair)
            pair.abort()


class _Pair:
    def __init__(self, proxy: FaultProxy, *writers: asyncio.StreamWriter) -> None:
        self.swallows = False
        self._proxy = proxy
        self._writers = writers

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if self._proxy.delay_s:
                    await asyncio.sleep(self._proxy.delay_s)
                if not self.swallows:
                    writer.write(data)
                    await writer.drain()
        self.abort()

    def half_close(self) -> None:
        self.swallows = True
        for writer in self._writers:
            with contextlib.suppress(OSError):
                writer.write_eof()

    def abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
