"""A port of the phone: connections that are served each in a task of its own, and all cut when it closes."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from typing import ClassVar


class Listener(ABC):
    """Listens from `start` to `close`."""

    limit_bytes: ClassVar[int]
    """Of what is read ahead on a connection."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, which is closed afterwards."""

    async def start(self, host: str, port: int = 0) -> int:
        """Listen, and return the port (the kernel's choice for 0). Raises: OSError."""
        self._server = await asyncio.start_server(self._accept, host, port, limit=self.limit_bytes)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and cut all connections."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self.serve(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()  # also when the phone is closed meanwhile, and this task cancelled
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
