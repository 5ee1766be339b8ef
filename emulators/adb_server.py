"""An adb server of our own, on its own port: other people's phones and servers on this machine are left alone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import adbutils

from emulators.adb_client import AdbClient
from emulators.errors import DeviceError

_TRIES = 5


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
        port = _free_port()
        process = await asyncio.create_subprocess_exec(
            adbutils.adb_path(),
            *("-P", str(port), "nodaemon", "server"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=_environment(),
        )
        client = AdbClient(port)
        try:
            async with asyncio.timeout(timeout_s):
                await _until_answering(client, process)
        except (TimeoutError, DeviceError) as failure:
            error = str(failure) or "it did not answer in time"
            await stop_process(process)
        except BaseException:
            await stop_process(process)
            raise
        else:
            return process, client
    raise DeviceError(f"no adb server could be started: {error}")


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
