"""What all formats of an export start from: a run's whole episodes, who played them, their screenshots."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlfactory.trainer.record.runlog import EpisodeRecord, ImageLink, RunLog


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """A run's episodes."""

    folder: Path
    episodes: Iterable[EpisodeRecord]
    """Whole ones; to be gone through once."""
    agent: str
    """The policy of an evaluation by its name on the command line, the recipe of a training run."""
    dialect: str = ""
    """How the agent wrote actions, "" if that is not known or it wrote none."""

    def image(self, link: ImageLink | None) -> Path | None:
        """Return where a screenshot lies, None if there is none or it is gone from the disk."""
        path = self.folder / link.path if link is not None else None
        return path if path is not None and path.exists() else None


def played_by(log: RunLog) -> tuple[str, str]:
    """Return agent and dialect of a run, as far as its files say."""
    evaluation = log.folder / "evaluation.json"
    if evaluation.exists():
        told = json.loads(evaluation.read_text(encoding="utf-8"))
        return told.get("policy", "unknown"), told.get("dialect", "")
    summary = log.summary()
    return (summary.recipe if summary else "unknown"), ""


def shown_after(episode: EpisodeRecord) -> Iterator[ImageLink | None]:
    """Yield the screenshot after each turn."""
    yield from (turn.image for turn in episode.turns[1:])
    yield episode.final_image


def media_type(path: Path) -> str:
    return f"image/{path.suffix.removeprefix('.')}"


def about(episode: EpisodeRecord) -> Mapping[str, Any]:
    """Return what no format has a place of its own for, as JSON."""
    origin = episode.origin
    return {
        "task": episode.task,
        "seed": episode.seed,
        "split": episode.split,
        "phase": episode.phase,
        "training_step": episode.step,
        "group": episode.group,
        "state": episode.state,
        "success": episode.success,
        "reward": episode.reward_total,
        "reward_parts": dict(episode.reward_parts),
        "progress": episode.progress,
        "side_effects": list(episode.side_effects),
        "malformed_turns": episode.malformed,
        "build": origin.build if origin else "",
        "task_digest": origin.task_digest if origin else "",
        "perturb": origin.perturb if origin else "",
    }


class Epochs:
    """Counts how often each (task, seed, split) was played."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)

    def next(self, episode: EpisodeRecord) -> tuple[str, int]:
        """Return the name of the episode's pair, and which attempt at it this is, from 1."""
        name = f"{episode.task}-{episode.split}-{episode.seed}"
        self._counts[name] += 1
        return name, self._counts[name]
