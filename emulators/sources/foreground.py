"""Simulated phones in this process, for as long as it runs: `rlfactory emulators up --backend process`."""

from __future__ import annotations

import asyncio
import json
import os
import signal

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.simulator.wire.host import PhoneHost
from rlfactory.emulators.simulator.wire.phone_server import PhonePorts
from rlfactory.emulators.sources.tables import plain_table
from rlfactory.processes import event_loop
from rlfactory.processes.malloc import keep_large_blocks
from rlfactory.tables import print_table


def serve_phones(phones: int, *, width_px: int, height_px: int, realtime: bool, first_port: int, as_json: bool) -> None:
    """Serve phones until SIGINT or SIGTERM.

    Raises: DeviceError: the port is odd. OSError: a port is in use.
    """
    if first_port % 2:
        raise DeviceError(f"--port {first_port}: a console port is even, the adb port is the odd one above")
    config = PhoneConfig(width_px=width_px, height_px=height_px, clock="realtime" if realtime else "virtual")
    keep_large_blocks(os.environ)
    event_loop.run(_serve(config, phones, first_port=first_port, as_json=as_json))


async def _serve(config: PhoneConfig, phones: int, *, first_port: int, as_json: bool) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    host = PhoneHost()
    try:
        served: list[PhonePorts] = []
        for phone in range(phones):
            console_port = first_port + 2 * phone if first_port else 0
            server = await host.start(
                config, console_port=console_port, adb_port=console_port + 1 if console_port else 0
            )
            assert server.ports is not None
            served.append(server.ports)
        _show(served, as_json=as_json)
        await stopped.wait()
    finally:
        await host.close()


def _show(phones: list[PhonePorts], *, as_json: bool) -> None:
    if as_json:
        listing = [{"serial": each.serial, "adb_port": each.adb, "console_port": each.console} for each in phones]
        print(json.dumps({"phones": listing}), flush=True)
        return
    table = plain_table("Simulated phones", "adb port", "console port", "reach it with")
    for each in phones:
        table.add_row(str(each.adb), str(each.console), f"adb connect 127.0.0.1:{each.adb}")
    print_table(table)
    print("Ctrl-C ends them.", flush=True)
