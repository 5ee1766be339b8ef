"""A process that hosts simulated phones: `python -m rlfactory.emulators.simulator.wire.host`.

Its parent speaks JSON lines with it. Requests on standard input carry an `id`, which the reply on standard output
repeats:

    {"id": 1, "start": {"width_px": 1080, ...}}     the fields of PhoneConfig
    {"id": 1, "serial": "emulator-40123", "adb_port": 40122, "console_port": 40123}
    {"id": 2, "stop": "emulator-40123"}
    {"id": 2, "stopped": true}
    {"id": 3, "error": "..."}

The first line it writes is `{"ready": true}`. It ends, phones and all, when standard input ends: a parent that dies
leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TextIO

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.simulator.android.system_image import GoldenImages
from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.wire.phone_server import PhoneServer, preload, uiautomator_jar
from rlfactory.processes import event_loop
from rlfactory.processes.malloc import keep_large_blocks


class PhoneHost:
    """The phones of this process; they share files, fonts, frame buffers and snapshots."""

    def __init__(self, listen: str = "127.0.0.1") -> None:
        """Args: listen: address that the phones' ports are opened on."""
        self._listen = listen
        self._golden = GoldenImages()
        self._snapshots = SnapshotStore()
        self._jar = uiautomator_jar()
        self._booting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="boot")
        self._phones: dict[str, PhoneServer] = {}

    @property
    def phones(self) -> dict[str, PhoneServer]:
        """By serial."""
        return self._phones

    async def start(self, config: PhoneConfig, *, adb_port: int = 0, console_port: int = 0) -> PhoneServer:
        """Boot a phone and serve it. Raises: OSError: a port is in use."""
        phone = await asyncio.get_running_loop().run_in_executor(self._booting, lambda: self._boot(config))
        server = PhoneServer(phone, self._snapshots, on_kill=self._forget)
        ports = await server.start(self._listen, adb_port=adb_port, console_port=console_port)
        self._phones[ports.serial] = server
        return server

    async def stop(self, serial: str) -> bool:
        """End a phone; False when there is no such phone."""
        server = self._phones.pop(serial, None)
        if server is not None:
            await server.close()
        return server is not None

    async def close(self) -> None:
        for serial in tuple(self._phones):
            await self.stop(serial)
        self._booting.shutdown(wait=False, cancel_futures=True)

    def _boot(self, config: PhoneConfig) -> Phone:
        phone = Phone(config, golden=self._golden)
        preload(phone, self._jar)
        return phone

    def _forget(self, server: PhoneServer) -> None:
        if server.ports is not None:
            self._phones.pop(server.ports.serial, None)


async def answer(host: PhoneHost, request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a request of the parent; a failure is a reply too."""
    match request:
        case {"id": number, "start": dict(fields)}:
            try:
                fields["app_files"] = tuple(fields.get("app_files", ()))  # JSON has lists
                server = await host.start(PhoneConfig(**fields))
            except (TypeError, ValueError, OSError, DeviceError) as error:
                return {"id": number, "error": str(error)}
            ports = server.ports
            assert ports is not None
            return {"id": number, "serial": ports.serial, "adb_port": ports.adb, "console_port": ports.console}
        case {"id": number, "stop": str(serial)}:
            return {"id": number, "stopped": await host.stop(serial)}
        case _:
            return {"id": request.get("id"), "error": f"unknown request {request!r}"}


async def serve(host: PhoneHost, requests: TextIO, replies: TextIO) -> None:
    """Serve the parent for as long as `requests` is open; then the process is gone."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()

    def read() -> None:
        # A thread of its own, so that an event loop that hangs cannot outlive the parent.
        for line in requests:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(lines.put_nowait, line)
        os._exit(0)

    def reply(message: dict[str, Any]) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    threading.Thread(target=read, name="parent", daemon=True).start()
    reply({"ready": True})
    running: set[asyncio.Task[None]] = set()

    async def handle(line: str) -> None:
        reply(await answer(host, json.loads(line)))

    while True:
        task = asyncio.create_task(handle(await lines.get()))
        running.add(task)
        task.add_done_callback(running.discard)


async def _main() -> None:
    await serve(PhoneHost(), sys.stdin, sys.stdout)


if __name__ == "__main__":
    keep_large_blocks(os.environ)
    event_loop.run(_main())
