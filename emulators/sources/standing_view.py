"""Phones that stand, for the command line: what starts, lists and removes them, and what is printed of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rlfactory.emulators.device.errors import DeviceUnsupported
from rlfactory.emulators.sources.foreground import list_foreground
from rlfactory.emulators.sources.hosted import as_device_errors
from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.emulators.sources.preflight import require
from rlfactory.emulators.sources.standing import StandingConfig, find_cell, list_phones, start_phones
from rlfactory.emulators.sources.tables import phones_table
from rlfactory.processes.docker.connection import DEFAULT_URL
from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.processes.docker.spec import Scope
from rlfactory.processes.errors import EngineUnavailable
from rlfactory.tables import print_table

__all__ = ["StandingConfig", "remove_standing", "show_logs", "show_standing", "start_standing"]

NO_SESSIONS: Final = (
    "redroid has no snapshots: adb drives these phones, but no session of `rlfactory serve` begins on one"
)


def start_standing(config: StandingConfig, engine_url: str, *, as_json: bool) -> None:
    """Start phones and print them. Raises: DeviceError: nothing is left."""
    console = Console(stderr=True, highlight=False)
    with _engine(engine_url, way_out=config.kind is SourceKind.DOCKER) as engine:
        if reaped := engine.reap():
            console.print(f"removed what {len(reaped)} dead cells had left")
        require(engine, config)
        columns = (TextColumn("[bold]phones"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            bar = progress.add_task("phones", total=config.phones)
            started = asyncio.run(start_phones(engine, config, ready=lambda count: progress.advance(bar, count)))
        _show([row for row in _rows(engine) if row["serial"] in started], as_json=as_json)
    if not as_json:
        console.print("adb connect SERIAL reaches one; rlfactory emulators down removes them all")
    if config.kind is SourceKind.REDROID:
        console.print(NO_SESSIONS)


def show_standing(engine_url: str, *, as_json: bool) -> None:
    """Print all phones in containers of ours, and those of this user's `up --backend process`. Raises: DeviceError."""
    rows = list_foreground(now_s=time.time())
    try:
        with _engine(engine_url, way_out=False) as engine:
            rows += _rows(engine)
    except DeviceUnsupported as error:
        if not rows:
            raise
        Console(stderr=True, highlight=False).print(f"no phones in containers: {error}", soft_wrap=True)
    _show(rows, as_json=as_json)


def show_logs(phone: str, engine_url: str, *, tail: int) -> None:
    """Print the last lines of a phone's container. Raises: DeviceError."""
    with _engine(engine_url) as engine:
        print(engine.logs(find_cell(engine, phone).id, tail=tail), end="")


def remove_standing(phones: list[str], engine_url: str, *, everything: bool, as_json: bool) -> None:
    """Remove the containers of these phones; without any, all that stand, or really all. Raises: DeviceError."""
    with _engine(engine_url) as engine:
        if phones:
            removed = sorted({find_cell(engine, phone).cell for phone in phones})
            for cell in removed:
                engine.remove_cell(cell)
        else:
            removed = engine.remove_all(scope=None if everything else Scope.STANDING)
    if as_json:
        print(json.dumps({"removed": removed}))
    else:
        print(f"removed {len(removed)} container{'' if len(removed) == 1 else 's'} with their networks")


@contextmanager
def _engine(url: str, *, way_out: bool = True) -> Iterator[DockerEngine]:
    """Give the engine for the block; what goes wrong with it there is the phones' failure."""
    with as_device_errors():
        try:
            engine = DockerEngine(url or DEFAULT_URL)
        except EngineUnavailable as error:
            raise DeviceUnsupported(f"{error}{'; --backend process needs none' if way_out else ''}") from None
        with engine:
            yield engine


def _rows(engine: DockerEngine) -> list[dict[str, object]]:
    return [asdict(phone) for phone in list_phones(engine, now_s=time.time())]


def _show(rows: list[dict[str, object]], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"phones": rows}))
    else:
        print_table(phones_table(rows))
