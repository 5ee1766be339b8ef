"""The commands of phones: `rlfactory emulators up|ls|logs|screenshot|down`. What is heavy is imported inside them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.sources.kinds import STANDING, SourceKind, read_kind

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
phones_app = typer.Typer(no_args_is_help=True, help="Phones that adb can reach.")
app.add_typer(phones_app, name="emulators")

BACKENDS = tuple(kind.backend for kind in STANDING)
EngineUrl = Annotated[
    str, typer.Option("--docker-host", envvar="DOCKER_HOST", help="The Docker engine; empty: this machine's.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@phones_app.callback()
def emulators() -> None:
    """Phones that adb can reach."""


@phones_app.command()
def up(
    backend: Annotated[
        SourceKind,
        typer.Option(parser=read_kind(STANDING, BACKENDS), metavar=f"[{'|'.join(BACKENDS)}]", help="What they are."),
    ] = "simulator",  # type: ignore[assignment]
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
    grpc_port: Annotated[
        int,
        typer.Option(
            min=-1, max=65000, help="Backend process: emulator controller of the first phone. 0: free, -1: none."
        ),
    ] = -1,
    serial: Annotated[list[str] | None, typer.Option(help="Backend attached: a phone; repeat it for more.")] = None,
    adb_port: Annotated[int, typer.Option(help="Backend attached: of the adb server.")] = 5037,
    docker_host: EngineUrl = "",
    as_json: AsJson = False,
) -> None:
    """Start phones. They stand until `down`; with backend process, until Ctrl-C or SIGTERM."""
    if port and backend is not SourceKind.ADB:
        raise DeviceError("--port is for --backend process: phones in containers have addresses of their own")
    if grpc_port >= 0 and backend is not SourceKind.ADB:
        raise DeviceError("--grpc-port is for --backend process")
    match backend:
        case SourceKind.ADB:
            from rlfactory.emulators.sources.foreground import serve_phones

            serve_phones(
                phones,
                width_px=width,
                height_px=height,
                realtime=realtime,
                first_port=port,
                grpc_port=grpc_port,
                as_json=as_json,
            )
        case SourceKind.ATTACHED:
            from rlfactory.emulators.sources.attached_view import show_attached

            asyncio.run(show_attached(serial or [], adb_port=adb_port, as_json=as_json))
        case _:
            from rlfactory.emulators.sources.standing_view import StandingConfig, start_standing

            config = StandingConfig(
                kind=backend,
                phones=phones,
                phones_per_container=phones_per_container,
                width_px=width,
                height_px=height,
                realtime=realtime,
                image=image,
                cpus=cpus,
                allow=tuple(allow or ()),
            )
            start_standing(config, docker_host, as_json=as_json)


@phones_app.command()
def ls(docker_host: EngineUrl = "", as_json: AsJson = False) -> None:
    """List the phones of `up`, and those in containers of running services."""
    from rlfactory.emulators.sources.standing_view import show_standing

    show_standing(docker_host, as_json=as_json)


@phones_app.command()
def logs(
    phone: Annotated[str, typer.Argument(help="Serial, or the name of a container or its beginning.")],
    tail: Annotated[int, typer.Option(min=1, help="Lines, the last ones.")] = 100,
    docker_host: EngineUrl = "",
) -> None:
    """Print what a phone's container wrote."""
    from rlfactory.emulators.sources.standing_view import show_logs

    show_logs(phone, docker_host, tail=tail)


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
    from rlfactory.emulators.sources.standing_view import remove_standing

    remove_standing(phones or [], docker_host, everything=everything, as_json=as_json)


@app.command()
def transitions(
    out: Annotated[Path, typer.Argument(help="A folder for Parquet shards: transitions, screens, grounding.")],
    count: Annotated[int, typer.Option(min=1, help="Transitions.")] = 10_000,
    siblings: Annotated[int, typer.Option(min=1, max=64, help="Actions tried from one state, by forking it.")] = 4,
    depth: Annotated[int, typer.Option(min=1, help="Steps of a walk.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Of the walks; part of the files' names.")] = 0,
    shard: Annotated[int, typer.Option(min=1, help="Transitions a file.")] = 2000,
    width: Annotated[int, typer.Option(min=160, max=4096, help="Of the screen, in pixels.")] = 1080,
    height: Annotated[int, typer.Option(min=160, max=4096, help="Of the screen, in pixels.")] = 2400,
) -> None:
    """Explore simulated phones: screen, action, screen, what changed, and where things are on each screen.

    One process uses one core: start more of them with other seeds and the same folder.
    """
    try:
        from rlfactory.emulators.sources.exploring import PhoneConfig, WalkConfig, explore
    except ModuleNotFoundError as error:
        raise DeviceError(f"transitions need {error.name}: install rlfactory[records]") from None
    phone, walks = PhoneConfig(width_px=width, height_px=height), WalkConfig(siblings=siblings, depth=depth, seed=seed)
    counts = explore(out, count, phone, walks, rows=shard)
    print(f"{out}: " + ", ".join(f"{number} {name}" for name, number in counts.items()))
