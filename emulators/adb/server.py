"""An adb server of our own, on its own port: other people's phones and servers on this machine are left alone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import adbutils

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.device.deadline import within
from rlfactory.emulators.device.errors import DeviceError

log = logging.getLogger(__name__)

_PING_INTERVAL_S: Final = 0.5
_PING_TIMEOUT_S: Final = 1.0
_SILENCES: Final = 2
"""Unanswered pings in a row after which a server counts as hung."""
_RETRY_S: Final = 0.5

_TRIES: Final = 5
_TIED: Final = """
trap '' INT
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
trap 'kill -9 "$server"' TERM
{ read -r _ <&3; kill -9 "$server"; } &
watcher=$!
exec 3<&-
wait "$server"
kill -9 "$watcher"
"""
"""Runs a program that ends with its parent, even one that was killed outright: then standard input ends."""


@asynccontextmanager
async def adb_server(*, timeout_s: float = 20.0) -> AsyncIterator[AdbClient]:
    """Run an adb server for the block, on a free port, and give a client of it.

    Raises: DeviceError: it did not start.
    """
    process, client = await start_adb_server(timeout_s=timeout_s)
    try:
        yield client
    finally:
        await stop_process(process)


async def start_adb_server(*, timeout_s: float) -> tuple[asyncio.subprocess.Process, AdbClient]:
    """Start an adb server on a free port; end it with `stop_process`. Raises: DeviceError."""
    error = "no reason given"
    for _ in range(_TRIES):
        client = AdbClient(_free_port())
        try:
            return await _start_on(client, timeout_s=timeout_s), client
        except DeviceError as failure:
            error = str(failure)
    raise DeviceError(f"no adb server could be started: {error}")


async def _start_on(client: AdbClient, *, timeout_s: float) -> asyncio.subprocess.Process:
    """Start a server on the client's port. Raises: DeviceError: it ended, or does not answer in time."""
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", _TIED, "adb", adbutils.adb_path()),
        *("-P", str(client.port), "nodaemon", "server"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(),
    )
    try:
        async with within(timeout_s, f"the start of an adb server on port {client.port}"):
            await _until_answering(client, process)
    except BaseException:
        await stop_process(process)
        raise
    return process


class AdbServer:
    """An adb server that is brought back on the same port when it dies or hangs.

    Devices reach it by its port, so they go on working; a call under way when it dies is lost.
    """

    def __init__(self, *, on_back: Callable[[AdbClient], Awaitable[None]], start_timeout_s: float = 20.0) -> None:
        """`on_back` is awaited after each return: the new server knows of no phones."""
        self._on_back = on_back
        self._start_timeout_s = start_timeout_s
        self._process: asyncio.subprocess.Process | None = None
        self._client: AdbClient | None = None
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> AdbClient:
        """Start the server, and return a client of it. Raises: DeviceError."""
        self._process, self._client = await start_adb_server(timeout_s=self._start_timeout_s)
        self._watch = asyncio.create_task(self._keep_alive(self._client), name="adb server")
        return self._client

    async def close(self) -> None:
        """End the server. Idempotent."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        if self._process is not None:
            await stop_process(self._process)
            self._process = None

    async def _keep_alive(self, client: AdbClient) -> None:
        while True:
            assert self._process is not None
            log.warning("adb server on port %d is replaced: %s", client.port, await self._trouble(client))
            await stop_process(self._process, patience_s=_PING_TIMEOUT_S)
            while True:
                try:
                    self._process = await _start_on(client, timeout_s=self._start_timeout_s)
                    await self._on_back(client)
                    break
                except DeviceError as error:
                    log.warning("adb server on port %d: %s", client.port, error)
                    await asyncio.sleep(_RETRY_S)

    async def _trouble(self, client: AdbClient) -> str:
        """Return what is wrong with the server, once something is."""
        assert self._process is not None
        # One wait, asked again and again: asyncio keeps every waiter of a process until the process ends.
        ending = asyncio.create_task(self._process.wait())
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


async def _until_answering(client: AdbClient, process: asyncio.subprocess.Process) -> None:
    while True:
        if process.returncode is not None:
            raise DeviceError(f"adb ended with code {process.returncode}")
        with contextlib.suppress(DeviceError):
            await client.command("host:version")
            return
        await asyncio.sleep(0.02)


async def stop_process(process: asyncio.subprocess.Process, *, patience_s: float = 5.0) -> None:
    """End a process of ours and reap it."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(patience_s):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
