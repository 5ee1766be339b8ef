"""Which records of a run can be used, and one line for each that cannot: cut off, of another version, damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.record.runlog import RECORD_FORMAT, EpisodeRecord, RunLog, restored

STILL_WORKS: Final = "`rlfactory report` still shows it"


@dataclass(frozen=True, kw_only=True, slots=True)
class Readable:
    """What of a run can be used."""

    episodes: tuple[EpisodeRecord, ...]
    problems: tuple[str, ...]
    """One line for each record that cannot, and what still works."""


def read_readable(log: RunLog, episode: str = "", *, to_be: str, replayable: bool = False) -> Readable:
    """Return the records of episodes that came to an end: all, or the one of this id.

    Args:
        to_be: what is to be done with them, for the messages: "replayed".
        replayable: leave out those that do not say how they began.

    Raises: TaskError: nothing was recorded, there is no such episode, or not one record can be used.
    """
    if not log.episodes_path.exists():
        raise TaskError(f"{log.folder} has no episodes.jsonl: no episode was recorded there")
    found: list[EpisodeRecord] = []
    problems: list[str] = []
    for read in _records(log.episodes_path, to_be, replayable=replayable):
        if isinstance(read, str):
            problems.append(read)
        elif read.state is not None and episode in ("", read.id):
            found.append(read)
    if episode and not found:
        raise TaskError(f"{log.folder} has no whole record of episode {episode!r}; `rlfactory report` lists them")
    if not found:
        raise TaskError(problems[0] if problems else f"{log.folder}: no episode came to an end, nothing can be {to_be}")
    return Readable(episodes=tuple(found), problems=() if episode else tuple(problems))


def _records(path: Path, to_be: str, *, replayable: bool) -> Iterator[EpisodeRecord | str]:
    """Yield each record that can be used, or one line that says why it cannot."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
            record = restored(EpisodeRecord, row)
        except json.JSONDecodeError:
            cut = "is cut off" if number == len(lines) else "is no JSON"
            yield f"{where} {cut}: the other records are {to_be}"
        except (TypeError, ValueError, AttributeError) as error:
            yield f"{where} is no episode of this version ({error}): the other records are {to_be}"
        else:
            if record.format > RECORD_FORMAT:
                yield f"{where} has format {record.format}, this version reads up to {RECORD_FORMAT}; {STILL_WORKS}"
            elif replayable and record.state is not None and record.origin is None:
                yield f"{where} was recorded by a version without states and cannot be {to_be}; {STILL_WORKS}"
            else:
                yield record
