"""The commands of phones: `rlfactory emulators up|ls|logs|screenshot|down`. What is heavy is imported inside them."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlfactory.emulators.device.errors import DeviceError, DeviceUnsupported
from rlfactory.emulators.sources.standing_options import Backend

if TYPE_CHECKING:
    from rlfactory.emulators.sources.standing import StandingConfig
    from rlfactory.processes.docker.engine import Engine

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
phones_app = typer.Typer(no_args_is_help=True, help="Phones that adb can reach.")
app.add_typer(phones_app, name="emulators")

EngineUrl = Annotated[
    str, typer.Option("--docker-host", envvar="DOCKER_HOST", help="The Docker engine; empty: this machine's.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@phones_app.callback()
def emulators() -> None:
    """Phones that adb can reach."""


@phones_app.command()
def up(
    backend: Annotated[Backend, typer.Option(help="What the phones are.")] = Backend.SIMULATOR,
    phones: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 1,
    phones_per_container: Annotated[int, typer.Option(min=1, max=64, help="Of simulated phones.")] = 8,
    width: Annotated[int, typer.Option(min=160, max=4096, help="Of the screen, in pixels.")] = 1080,
    height: Annotated[int, typer.Option(min=160, max=4096, help="Of the screen, in pixels.")] = 2400,
    realtime: Annotated[bool, typer.Option(help="The phones' time runs with this machine's clock.")] = False,
    image: Annotated[str, typer.Option(help="Of the containers; empty: the backend's own.")] = "",
    cpus: Annotated[float, typer.Option(min=0, help="That a container may use. 0: all.")] = 0.0,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="HOST:PORT", help="Phones may reach this; repeat it for more.")
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65000, help="Backend process: console port of the first phone, adb's is one above. 0: free."
        ),
    ] = 0,
    serial: Annotated[list[str] | None, typer.Option(help="Backend attached: a phone; repeat it for more.")] = None,
    adb_port: Annotated[int, typer.Option(help="Backend attached: of the adb server.")] = 5037,
    docker_host: EngineUrl = "",
    as_json: AsJson = False,
) -> None:
    """Start phones. They stand until `down`; with backend process, until Ctrl-C or SIGTERM."""
    from rlfactory.emulators.simulator.phone import PhoneConfig

    if port and backend is not Backend.PROCESS:
        raise DeviceError("--port is for --backend process: phones in containers have addresses of their own")
    match backend:
        case Backend.PROCESS:
            from rlfactory.emulators.sources.foreground import serve_phones

            config = PhoneConfig(width_px=width, height_px=height, clock="realtime" if realtime else "virtual")
            serve_phones(config, phones, first_port=port, as_json=as_json)
        case Backend.ATTACHED:
            from rlfactory.emulators.sources.attached_view import show_attached

            asyncio.run(show_attached(serial or [], adb_port=adb_port, as_json=as_json))
        case _:
            from rlfactory.emulators.sources.standing import StandingConfig

            standing = StandingConfig(
                backend=backend,
                phones=phones,
                phones_per_container=phones_per_container,
                width_px=width,
                height_px=height,
                realtime=realtime,
                image=image,
                cpus=cpus,
                allow=tuple(allow or ()),
            )
            with _engine(docker_host, backend) as engine:
                _up(engine, standing, as_json=as_json)


NO_SESSIONS = "redroid has no snapshots: adb drives these phones, but no session of `rlfactory serve` begins on one"


def _up(engine: Engine, config: StandingConfig, *, as_json: bool) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from rlfactory.emulators.sources.preflight import require
    from rlfactory.emulators.sources.standing import list_phones, start_phones

    console = Console(stderr=True, highlight=False)
    if reaped := engine.reap():
        console.print(f"removed what {len(reaped)} dead cells had left")
    require(engine, config)
    columns = (TextColumn("[bold]phones"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("phones", total=config.phones)
        started = asyncio.run(start_phones(engine, config, ready=lambda count: progress.advance(bar, count)))
    phones = list_phones(engine, now_s=time.time())
    _show([asdict(phone) for phone in phones if phone.serial in started], as_json=as_json)
    if not as_json:
        console.print("adb connect SERIAL reaches one; rlfactory emulators down removes them all")
    if config.backend is Backend.REDROID:
        console.print(NO_SESSIONS)


@phones_app.command()
def ls(docker_host: EngineUrl = "", as_json: AsJson = False) -> None:
    """List the phones in containers, those of running services too."""
    from rlfactory.emulators.sources.standing import list_phones

    with _engine(docker_host) as engine:
        _show([asdict(phone) for phone in list_phones(engine, now_s=time.time())], as_json=as_json)


@phones_app.command()
def logs(
    phone: Annotated[str, typer.Argument(help="Serial, or the name of a container or its beginning.")],
    tail: Annotated[int, typer.Option(min=1, help="Lines, the last ones.")] = 100,
    docker_host: EngineUrl = "",
) -> None:
    """Print what a phone's container wrote."""
    from rlfactory.emulators.sources.standing import find_cell

    with _engine(docker_host) as engine:
        typer.echo(engine.logs(find_cell(engine, phone).id, tail=tail), nl=False)


@phones_app.command()
def screenshot(
    phone: Annotated[str, typer.Argument(help="Serial: host:port of a phone in a container, or as adb lists it.")],
    out: Annotated[Path, typer.Argument(help="A PNG file to write.")] = Path("screenshot.png"),
    adb_port: Annotated[int, typer.Option(help="Of the adb server that lists a phone which is not host:port.")] = 5037,
) -> None:
    """Save a phone's screen as PNG."""
    from rlfactory.emulators.sources.attached_view import save_screenshot

    width, height = asyncio.run(save_screenshot(phone, out, adb_port=adb_port))
    typer.echo(f"{out}: {width}x{height}")


@phones_app.command()
def down(
    phones: Annotated[list[str] | None, typer.Argument(help="Serials or containers; none: all that `up` made.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those of running services.")] = False,
    docker_host: EngineUrl = "",
    as_json: AsJson = False,
) -> None:
    """Remove what `up` made and what dead processes left: containers and networks with our labels, nothing else."""
    from rlfactory.emulators.sources.standing import find_cell
    from rlfactory.processes.docker.spec import Scope

    with _engine(docker_host) as engine:
        if phones:
            removed = sorted({find_cell(engine, phone).cell for phone in phones})
            for cell in removed:
                engine.remove_cell(cell)
        else:
            removed = engine.remove_all(scope=None if everything else Scope.STANDING)
    if as_json:
        typer.echo(json.dumps({"removed": removed}))
    else:
        typer.echo(f"removed {len(removed)} container{'' if len(removed) == 1 else 's'} with their networks")


def _engine(url: str, backend: Backend = Backend.SIMULATOR) -> Engine:
    from rlfactory.processes.docker.connection import DEFAULT_URL, EngineUnavailable
    from rlfactory.processes.docker.engine import Engine

    try:
        return Engine(url or DEFAULT_URL)
    except EngineUnavailable as error:
        way_out = "; --backend process needs none" if backend is Backend.SIMULATOR else ""
        raise DeviceUnsupported(f"{error}{way_out}") from None


def _show(rows: list[dict[str, object]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"phones": rows}))
        return
    from rich.console import Console

    from rlfactory.emulators.sources.tables import phones_table

    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(phones_table(rows))
