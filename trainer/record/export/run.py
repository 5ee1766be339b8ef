"""`rlfactory export`: a run's trajectories in a format that other programs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.trainer.record.export.atif import write_atif
from rlfactory.trainer.record.export.inspect_log import write_inspect
from rlfactory.trainer.record.export.parquet import write_parquet
from rlfactory.trainer.record.export.played import Played, played_by
from rlfactory.trainer.record.reading import read_readable
from rlfactory.trainer.record.runlog import RunLog

SHOWN: Final = 20
"""Records that cannot be exported and are named."""


FORMATS: Final[Mapping[str, Callable[[Played, Path], None]]] = {
    "parquet": write_parquet,
    "atif": write_atif,
    "inspect": write_inspect,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportConfig:
    """What is exported."""

    run: Path
    format: str
    """A name of `FORMATS`."""
    out: Path | None = None
    """None: `RUN/export-FORMAT`."""
    episode: str = ""
    """Its id; "": all that came to an end."""


def run_export(config: ExportConfig) -> Path:
    """Write the trajectories into a new folder and return it; say what cannot be exported.

    Raises:
        UnknownName: no such format.
        TaskError: nothing can be exported, the format needs an extra, or the folder holds something.
        OSError: the folder cannot be written.
    """
    if config.format not in FORMATS:
        raise UnknownName.of("format", config.format, FORMATS)
    out = config.out or config.run / f"export-{config.format}"
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise TaskError(f"{out} is not empty, and what is in it is kept; give --out another folder")
    log = RunLog(config.run)
    readable = read_readable(log, config.episode, to_be="exported")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in readable.problems[:SHOWN]:
        console.print(line, style="yellow", markup=False)
    if len(readable.problems) > SHOWN:
        console.print(f"and {len(readable.problems) - SHOWN} more records that cannot be exported")
    agent, dialect = played_by(log)
    episodes = track(readable.episodes, "exporting", console=console, transient=True, disable=not console.is_terminal)
    FORMATS[config.format](Played(folder=log.folder, episodes=episodes, agent=agent, dialect=dialect), out)
    return out
