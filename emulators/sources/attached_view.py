"""Phones that run already: a look at them through adb, for the command line."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import PIL.Image

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.adb.server import adb_server
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.sources.tables import attached_table
from rlfactory.tables import print_table

TIMEOUT_S: Final = 30.0


async def show_attached(serials: Sequence[str], *, adb_port: int, as_json: bool) -> None:
    """Print the phones that an adb server lists, all or those named, once each has answered.

    Raises: DeviceError: there is no server, no phone, or one does not answer.
    """
    adb = AdbClient(adb_port)
    lines = (await adb.command("host:devices")).splitlines()
    listed = dict(line.split("\t", 1) for line in lines if "\t" in line)
    if not listed:
        raise DeviceError(f"the adb server on port {adb_port} lists no phone; plug one in, or: adb connect HOST:PORT")
    if missing := [serial for serial in serials if serial not in listed]:
        raise DeviceError(
            f"the adb server on port {adb_port} lists no {missing[0]}; it lists: {', '.join(sorted(listed))}"
        )
    rows: list[dict[str, object]] = []
    for serial in serials or sorted(listed):
        device = await AdbDevice.connect(adb, serial, timeout_s=TIMEOUT_S)
        await device.close()
        facts = {name: getattr(device.info, name) for name in ("model", "sdk", "width_px", "height_px")}
        rows.append({"serial": serial, "state": listed[serial], **facts})
    if as_json:
        print(json.dumps({"phones": rows}))
        return
    print_table(attached_table(rows))


async def save_screenshot(serial: str, path: Path, *, adb_port: int) -> tuple[int, int]:
    """Save a phone's screen as PNG; return its width and height. Raises: DeviceError, OSError."""
    async with _server_for(serial, adb_port) as adb:
        device = await AdbDevice.connect(adb, serial, timeout_s=TIMEOUT_S)
        try:
            pixels = await device.screenshot(timeout_s=TIMEOUT_S)
        finally:
            await device.close()
    PIL.Image.fromarray(pixels).save(path, "PNG")
    return pixels.shape[1], pixels.shape[0]


@asynccontextmanager
async def _server_for(serial: str, adb_port: int) -> AsyncIterator[AdbClient]:
    """Give a client of an adb server that knows the phone: one of our own for host:port, else the one on the port."""
    host, colon, port = serial.rpartition(":")
    if not (colon and host and port.isdecimal()):
        yield AdbClient(adb_port)
        return
    async with adb_server() as adb:
        await adb.connect(serial)
        yield adb
