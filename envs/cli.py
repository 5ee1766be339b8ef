"""The commands of the service: `serve`, `status` and `tasks`. What is heavy is imported inside them."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rlfactory.envs.api.errors import UnknownName
from rlfactory.envs.api.types import split_named
from rlfactory.envs.service.serve_options import ServeOptions
from rlfactory.envs.wire.trust_options import ClientTrustFiles, token_from_environment
from rlfactory.options import takes_options
from rlfactory.tables import print_table

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@takes_options
def serve(options: ServeOptions) -> None:
    """Serve sessions over gRPC until SIGTERM or SIGINT."""
    # uvloop forks to start a process, and gRPC's handlers then crash one child in seven before it becomes the program.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    gc.disable()  # of what is imported nothing is garbage: a tenth of the time until it serves
    from rlfactory.envs.cluster.run import run

    gc.enable()
    run(options)


@app.command()
@takes_options
def status(
    files: ClientTrustFiles,
    address: Annotated[str, typer.Argument(help="HOST:PORT, several with commas, dns:///NAME:PORT or ray://.")] = (
        "127.0.0.1:7000"
    ),
    drain: Annotated[
        str, typer.Option(metavar="HOST", help="Of a Ray cluster: let this host begin no more sessions, and end.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """Show who serves: hosts, phones, sessions, steps a second, who waits."""
    from rlfactory.envs.client.seen import drain_host, host_figures

    if drain:
        asyncio.run(drain_host(address, drain))
    trust = files.load(token=token_from_environment())
    figures = asyncio.run(host_figures(address, trust))
    if as_json:
        print(json.dumps([asdict(each) for each in figures], indent=2))
        return
    from rich.table import Table

    table = Table(header_style="bold", box=None, pad_edge=False)
    for name in ("host", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("phones", "free", "waiting", "sessions", "steps/s"):
        table.add_column(name, justify="right")
    table.add_column("version")
    for each in figures:
        numbers = (each.phones, each.free, each.waiting, each.sessions, f"{each.steps_per_s:.1f}")
        table.add_row(each.host, each.state, *map(str, numbers), each.version)
    print_table(table)


@app.command()
def tasks(
    suite: Annotated[str, typer.Option(help="Only this suite.")] = "",
    split: Annotated[str, typer.Option(help="Only tasks with this split: train, validation or test.")] = "",
    tasks_file: Annotated[list[Path] | None, typer.Option(help="A Python file of tasks; again for more.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """List the tasks."""
    from rlfactory.envs.client.oracle import tasks_with

    registry = tasks_with(tasks_file or ())
    suites = {task.suite for task in registry}
    if suite and suite not in suites:
        raise UnknownName.of("suite", suite, suites)
    infos = registry.infos(suite=suite, split=split_named(split) if split else "")
    if as_json:
        print(json.dumps([asdict(info) for info in infos], indent=2))
        return
    from rich.table import Table

    table = Table(title=f"{len(infos)} tasks", title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("suite")
    table.add_column("turns", justify="right")
    table.add_column("splits")
    table.add_column("what", overflow="fold")
    for info in infos:
        splits = "all" if len(info.splits) == 3 else ", ".join(info.splits)
        table.add_row(info.name, info.suite, str(info.max_turns), splits, info.description)
    print_table(table)
