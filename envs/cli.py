"""The commands of the environment service: `serve` and `tasks`. What is heavy is imported inside them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rlfactory.envs.api.errors import UnknownName
from rlfactory.envs.api.types import split_named
from rlfactory.envs.service.serve_options import ServeOptions
from rlfactory.options import takes_options
from rlfactory.tables import print_table

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@takes_options
def serve(options: ServeOptions) -> None:
    """Serve sessions over gRPC until SIGTERM or SIGINT."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is told by us, in one line
    # uvloop forks to start a process, and gRPC's handlers then crash one child in seven before it becomes the program.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from rlfactory.envs.service.serve import run_service

    run_service(options)


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
