"""An adb server of our own, on its own port: other people's phones and servers on this machine are left alone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import adbutils

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.device.deadline import within
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.processes.child import Child, tied
from rlfactory.processes.errors import ProcessError

log = logging.getLogger(__name__)

_PING_INTERVAL_S: Final = 0.5
_PING_TIMEOUT_S: Final = 1.0
_SILENCES: Final = 2
"""Unanswered pings in a row after which a server counts as hung."""
_RETRY_S: Final = 0.5

_TRIES: Final = 5


@asynccontextmanager
async def adb_server(*, timeout_s: float = 20.0) -> AsyncIterator[AdbClient]:
    """Run an adb server for the block, on a free port, and give a client of it.

    Raises: DeviceError: it did not start.
    """
    server, client = await start_adb_server(timeout_s=timeout_s)
    try:
        yield client
    finally:
        await server.stop()


async def start_adb_server(*, timeout_s: float) -> tuple[Child, AdbClient]:
    """Start an adb server on a free port; it ends with this process, or when it is stopped. Raises: DeviceError."""
    error = "no reason given"
    for _ in range(_TRIES):
        client = AdbClient(_free_port())
        try:
            return await _start_on(client, timeout_s=timeout_s), client
        except DeviceError as failure:
            error = str(failure)
    raise DeviceError(f"no adb server could be started: {error}")


async def _start_on(client: AdbClient, *, timeout_s: float) -> Child:
    """Start a server on the client's port. Raises: DeviceError: it ended, or does not answer in time."""
    try:
        server = await Child.start(
            *tied(adbutils.adb_path(), "-P", str(client.port), "nodaemon", "server"),
            name="adb",
            stdout=DEVNULL,
            stderr=DEVNULL,
            environment=_environment(),
        )
    except ProcessError as error:
        raise DeviceError(str(error)) from error
    try:
        async with within(timeout_s, f"the start of an adb server on port {client.port}"):
            await _until_answering(client, server)
    except BaseException:
        await server.stop()
        raise
    return server


class AdbServer:
    """An adb server that is brought back on the same port when it dies or hangs.

    Devices reach it by its port, so they go on working; a call under way when it dies is lost.
    """

    def __init__(self, *, on_back: Callable[[AdbClient], Awaitable[None]], start_timeout_s: float = 20.0) -> None:
        """`on_back` is awaited after each return: the new server knows of no phones."""
        self._on_back = on_back
        self._start_timeout_s = start_timeout_s
        self._server: Child | None = None
        self._client: AdbClient | None = None
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> AdbClient:
        """Start the server, and return a client of it. Raises: DeviceError."""
        self._server, self._client = await start_adb_server(timeout_s=self._start_timeout_s)
        self._watch = asyncio.create_task(self._keep_alive(self._client), name="adb server")
        return self._client

    async def close(self) -> None:
        """End the server. Idempotent."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        if self._server is not None:
            await self._server.stop()
            self._server = None

    async def _keep_alive(self, client: AdbClient) -> None:
        while True:
            assert self._server is not None
            log.warning("adb server on port %d is replaced: %s", client.port, await self._trouble(client))
            await self._server.stop(patience_s=_PING_TIMEOUT_S)
            while True:
                try:
                    self._server = await _start_on(client, timeout_s=self._start_timeout_s)
                    await self._on_back(client)
                    break
                except DeviceError as error:
                    log.warning("adb server on port %d: %s", client.port, error)
                    await asyncio.sleep(_RETRY_S)

    async def _trouble(self, client: AdbClient) -> str:
        """Return what is wrong with the server, once something is."""
        assert self._server is not None
        # One wait, asked again and again: asyncio keeps every waiter of a process until the process ends.
        ending = asyncio.create_task(self._server.process.wait())
        try:
            silences = 0
            while silences < _SILENCES:
                ended, _ = await asyncio.wait({ending}, timeout=_PING_INTERVAL_S)
                if ended:
                    return f"it ended with code {ending.result()}"
                try:
                    async with within(_PING_TIMEOUT_S, "its answer"):
                        await client.command("host:version")
                    silences = 0
                except DeviceError:
                    silences += 1
            return "it does not answer"
        finally:
            ending.cancel()


def _environment() -> dict[str, str]:
    """The server needs a home for its key, and must not look for emulators or phones of others by itself."""
    return {
        "HOME": str(Path.home()),
        "ADB_LOCAL_TRANSPORT_MAX_PORT": "5554",
        "ADB_MDNS_AUTO_CONNECT": "0",
        "ADB_USB": "0",
        "ADB_MDNS": "0",
    }


async def _until_answering(client: AdbClient, server: Child) -> None:
    while True:
        if server.ended:
            raise DeviceError(f"adb ended with code {server.process.returncode}")
        with contextlib.suppress(DeviceError):
            await client.command("host:version")
            return
        await asyncio.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
