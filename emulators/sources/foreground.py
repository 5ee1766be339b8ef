"""Simulated phones in this process, for as long as it runs: `rlfactory emulators up --backend process`.

It says so in a file of its own below `told_in()`, so that `rlfactory emulators ls` finds phones that no engine knows.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.simulator.wire.controller import ControllerServer
from rlfactory.emulators.simulator.wire.host import PhoneHost
from rlfactory.emulators.simulator.wire.phone_server import PhonePorts
from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.emulators.sources.tables import plain_table
from rlfactory.processes import event_loop
from rlfactory.processes.malloc import keep_large_blocks
from rlfactory.tables import print_table


def serve_phones(
    phones: int, *, width_px: int, height_px: int, realtime: bool, first_port: int, grpc_port: int, as_json: bool
) -> None:
    """Serve phones until SIGINT or SIGTERM.

    Args: grpc_port: of the first phone's emulator controller, each further phone has the next; -1: none has one.
    Raises: DeviceError: the port is odd. OSError: a port is in use.
    """
    if first_port % 2:
        raise DeviceError(f"--port {first_port}: a console port is even, the adb port is the odd one above")
    config = PhoneConfig(width_px=width_px, height_px=height_px, clock="realtime" if realtime else "virtual")
    keep_large_blocks(os.environ)
    event_loop.run(_serve(config, phones, first_port=first_port, grpc_port=grpc_port, as_json=as_json))


async def _serve(config: PhoneConfig, phones: int, *, first_port: int, grpc_port: int, as_json: bool) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    host = PhoneHost()
    controllers: list[ControllerServer] = []
    try:
        served: list[PhonePorts] = []
        grpc_ports: list[int] = []
        for phone in range(phones):
            console_port = first_port + 2 * phone if first_port else 0
            server = await host.start(
                config, console_port=console_port, adb_port=console_port + 1 if console_port else 0
            )
            assert server.ports is not None
            served.append(server.ports)
            if grpc_port >= 0:
                controllers.append(ControllerServer(server))
                grpc_ports.append(await controllers[-1].start("127.0.0.1", grpc_port + phone if grpc_port else 0))
        with _told(served):
            _show(served, grpc_ports, as_json=as_json)
            await stopped.wait()
    finally:
        for controller in controllers:
            await controller.close()
        await host.close()


def told_in() -> Path:
    """Return the folder of this user's files, one for each process."""
    return Path(tempfile.gettempdir(), f"rlfactory-phones-{os.getuid()}")


@contextmanager
def _told(phones: list[PhonePorts]) -> Iterator[None]:
    folder = told_in()
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{os.getpid()}.json"
    serials = [f"127.0.0.1:{each.adb}" for each in phones]
    path.write_text(json.dumps({"serials": serials, "began_s": time.time()}))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def list_foreground(*, now_s: float) -> list[dict[str, Any]]:
    """Return the phones of this user's processes, in rows like those of `standing.StandingPhone`."""
    rows: list[dict[str, Any]] = []
    for path in sorted(told_in().glob("*.json")):
        try:
            os.kill(int(path.stem), 0)
        except ProcessLookupError:  # it was killed
            path.unlink(missing_ok=True)
            continue
        with suppress(OSError, ValueError):  # one that ends meanwhile
            told = json.loads(path.read_text())
            rows += [
                {
                    "serial": serial,
                    "container": "",
                    "backend": SourceKind.ADB.backend,
                    "scope": "standing",
                    "state": "running",
                    "age_s": round(now_s - told["began_s"], 1),
                    "memory_mb": None,
                    "image": f"process {path.stem}",
                }
                for serial in told["serials"]
            ]
    return rows


def _show(phones: list[PhonePorts], grpc_ports: list[int], *, as_json: bool) -> None:
    grpc_of = dict(zip((each.serial for each in phones), grpc_ports, strict=False))
    if as_json:
        listing = [
            {
                **{"serial": each.serial, "adb_port": each.adb, "console_port": each.console},
                **({"grpc_port": grpc_of[each.serial]} if grpc_of else {}),
            }
            for each in phones
        ]
        print(json.dumps({"phones": listing}), flush=True)
        return
    table = plain_table("Simulated phones", "adb port", "console port", "gRPC port", "reach it with")
    for each in phones:
        grpc = str(grpc_of.get(each.serial, "-"))
        table.add_row(str(each.adb), str(each.console), grpc, f"adb connect 127.0.0.1:{each.adb}")
    print_table(table)
    print("Ctrl-C ends them.", flush=True)
