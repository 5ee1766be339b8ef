"""The commands of phones: `rlfactory emulators up`. What is heavy is imported inside them."""

from __future__ import annotations

import asyncio
import json
import signal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from emulators.errors import DeviceError, DeviceUnsupported

if TYPE_CHECKING:
    from emulators.simulator.phone import PhoneConfig
    from emulators.simulator.phone_server import PhonePorts

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
phones_app = typer.Typer(no_args_is_help=True, help="Phones that adb can reach.")
app.add_typer(phones_app, name="emulators")


class Backend(StrEnum):
    SIMULATOR = "simulator"
    EMULATOR = "emulator"
    REDROID = "redroid"


@phones_app.callback()
def emulators() -> None:
    """Phones that adb can reach."""


@phones_app.command()
def up(
    backend: Annotated[Backend, typer.Option(help="What the phones are.")] = Backend.SIMULATOR,
    phones: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 1,
    width: Annotated[int, typer.Option(min=160, max=4096, help="Of the screen, in pixels.")] = 1080,
    height: Annotated[int, typer.Option(min=160, max=4096, help="Of the screen, in pixels.")] = 2400,
    port: Annotated[
        int, typer.Option(min=0, max=65000, help="Console port of the first phone, its adb port is one above. 0: free.")
    ] = 0,
    realtime: Annotated[bool, typer.Option(help="The phones' time runs with this machine's clock.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="List the phones as one line of JSON.")] = False,
) -> None:
    """Serve phones in the foreground until Ctrl-C or SIGTERM."""
    from emulators.malloc import keep_large_blocks
    from emulators.simulator.phone import PhoneConfig

    if backend is not Backend.SIMULATOR:
        raise DeviceUnsupported(
            f"backend {backend} runs in containers, which this version does not have yet; use --backend simulator, "
            "or start the phones yourself and attach to their serials"
        )
    if port % 2:
        raise DeviceError(f"--port {port}: a console port is even, the adb port is the odd one above")
    config = PhoneConfig(width_px=width, height_px=height, clock="realtime" if realtime else "virtual")
    keep_large_blocks()
    asyncio.run(_serve(config, phones, first_port=port, as_json=as_json))


async def _serve(config: PhoneConfig, phones: int, *, first_port: int, as_json: bool) -> None:
    from emulators.simulator.host import PhoneHost

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
        typer.echo(json.dumps({"phones": listing}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Simulated phones", title_justify="left")
    for heading in ("serial", "adb port", "console port", "reach it with"):
        table.add_column(heading)
    for each in phones:
        table.add_row(each.serial, str(each.adb), str(each.console), f"adb connect emu:{each.console},{each.adb}")
    Console().print(table)
    typer.echo("Ctrl-C ends them.")
