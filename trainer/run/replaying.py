"""`rlfactory replay`: a service of its own for the records of a run, what it says of them, a film of one."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import ImageRef
from rlfactory.envs.client import EnvClient
from rlfactory.trainer.record.reading import read_readable
from rlfactory.trainer.record.replay import Replayed, answers_of, replay
from rlfactory.trainer.record.runlog import EpisodeRecord, RunLog, write_lines
from rlfactory.trainer.run.local_service import ServiceConfig, local_service

FRAMES_PER_S: Final = 2
MAX_VIDEO_PX: Final = 720
"""Of a film's longer side."""
SHOWN: Final = 20
"""Differences that are listed; `--json` has all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayConfig:
    """What is played again."""

    run: Path
    episode: str = ""
    """Its id; "": all."""
    video: Path | None = None
    task_files: tuple[Path, ...] = ()
    app_files: tuple[Path, ...] = ()
    concurrency: int = 8

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {self.concurrency}")


async def run_replay(config: ReplayConfig, *, as_json: bool = False, quiet: bool = False) -> list[Replayed]:
    """Play a run again in another process, show what differs, and return each episode's outcome.

    Raises: TaskError: nothing can be played, or there is more than one episode for a film.
    """
    log = RunLog(config.run)
    playable = read_readable(log, config.episode, to_be="replayed", replayable=True)
    if config.video and len(playable.episodes) > 1:
        count = len(playable.episodes)
        raise TaskError(f"--video films one episode, and {config.run} has {count}: name one by --episode ID")
    done: list[Replayed] = []
    console = Console(stderr=True, quiet=as_json or quiet)
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
        tempfile.TemporaryDirectory(prefix="rlfactory-") as folder,
    ):
        shown = bar.add_task("", total=len(playable.episodes))
        answers = Path(folder, "answers.jsonl")
        write_lines(answers, answers_of(playable.episodes))
        for service, group in services(config, playable.episodes, answers):
            async with local_service(service) as running, EnvClient(running.address) as client:
                done += await replay(
                    client,
                    log,
                    group,
                    concurrency=config.concurrency,
                    keep_screens=config.video is not None,
                    progress=lambda _: bar.advance(shown),
                )
    if config.video:
        film(done[0].screens, config.video)
    if not quiet:
        show(done, playable.problems, config, as_json=as_json)
    return done


def services(
    config: ReplayConfig, records: Sequence[EpisodeRecord], answers: Path
) -> Iterator[tuple[ServiceConfig, Sequence[EpisodeRecord]]]:
    """Yield a service for each size of phone, and what is to be played on it."""
    by_size: dict[tuple[int, int], list[EpisodeRecord]] = defaultdict(list)
    for record in records:
        by_size[record.origin.screen_px if record.origin else (0, 0)].append(record)
    for (width_px, height_px), group in by_size.items():
        if not width_px:
            yield ServiceConfig(phones=0, task_files=config.task_files, answers=answers), group
            continue
        yield (
            ServiceConfig(
                phones=min(config.concurrency, len(group)),
                width_px=width_px,
                height_px=height_px,
                task_files=config.task_files,
                app_files=config.app_files,
                answers=answers,
            ),
            group,
        )


def show(done: Sequence[Replayed], problems: Sequence[str], config: ReplayConfig, *, as_json: bool) -> None:
    """Print the outcome: how many are equal, and a line for each that is not."""
    equal = sum(each.equal for each in done)
    differing = [
        {"episode": each.episode, "task": each.task, "failure": each.failure}
        | ({"difference": asdict(each.difference)} if each.difference else {})
        for each in done
        if not each.equal
    ]
    if as_json:
        figures = {"episodes": len(done), "equal": equal, "turns": sum(each.turns for each in done)}
        print(json.dumps({**figures, "differing": differing, "problems": list(problems)}, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    lines = [f"{each.episode}: {each.failure or each.difference}" for each in done if not each.equal]
    for line in [*problems, *lines][:SHOWN]:
        console.print(f"[yellow]{line}[/]" if console.is_terminal else line, markup=console.is_terminal)
    if len(problems) + len(lines) > SHOWN:
        console.print(f"and {len(problems) + len(lines) - SHOWN} more; --json lists them")
    console.print(f"{equal} of {len(done)} episodes are equal in every turn")
    if config.video:
        console.print(f"film: {config.video}")


def film(screens: Sequence[ImageRef], path: Path) -> None:
    """Write screens as a film, half a second each. Raises: TaskError: there are none, or it cannot be written."""
    try:
        import av
    except ModuleNotFoundError as error:
        raise TaskError(f"--video needs {error.name}: install rlfactory[records]") from None
    if not screens:
        raise TaskError("the episode has no screenshots to film")
    pictures = [Image.open(BytesIO(each.data)).convert("RGB") for each in screens]
    scale = min(1.0, MAX_VIDEO_PX / max(pictures[0].size))
    width, height = (max(2, round(side * scale) // 2 * 2) for side in pictures[0].size)
    try:
        with av.open(str(path), mode="w", format="webm") as container:
            stream = container.add_stream("libvpx-vp9", rate=FRAMES_PER_S)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            for number, picture in enumerate(pictures):
                frame = av.VideoFrame.from_ndarray(np.asarray(picture.resize((width, height))), format="rgb24")
                frame.pts, frame.time_base = number, Fraction(1, FRAMES_PER_S)
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    except OSError as error:
        raise TaskError(f"cannot write {path}: {error.strerror or error}") from None
