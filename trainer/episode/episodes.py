"""Which episodes are trained on and which are evaluated. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from rlfactory.envs.api.types import Split
from rlfactory.trainer.episode.session import EpisodeSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeSource:
    """`count` episodes of a split, spread evenly over the tasks."""

    tasks: tuple[str, ...]
    split: Split
    count: int
    first_seed: int

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError("no tasks: set data.episodes.tasks")
        if self.count < 1:
            raise ValueError(f"count must be at least 1, got {self.count}")

    @classmethod
    def from_config(cls, config: Mapping[str, Any], split: str) -> EpisodeSource:
        """Read `data.episodes`.

        Raises: ValueError: no such split, or no figures for it.
        """
        if split not in get_args(Split) or split not in config:
            raise ValueError(f"data.episodes has no split {split!r}")
        own = config[split]
        return cls(
            tasks=tuple(config["tasks"]),
            split=split,  # type: ignore[arg-type]
            count=int(own["count"]),
            first_seed=int(own["first_seed"]),
        )

    def rows(self) -> list[tuple[str, int, Split]]:
        """Return (task, seed, split) of each episode; neighbours differ in task."""
        return [
            (self.tasks[index % len(self.tasks)], self.first_seed + index // len(self.tasks), self.split)
            for index in range(self.count)
        ]


def row_of(*, task: str, seed: int, split: Split, index: int, agent: str) -> dict[str, Any]:
    """Return a dataset row as verl's trainer wants it."""
    return {
        "task": task,
        "seed": seed,
        "split": split,
        "index": index,
        "agent_name": agent,
        "data_source": task,
        "reward_model": {"style": "environment", "ground_truth": ""},
        "raw_prompt": [{"role": "user", "content": f"{task} {split} {seed}"}],
    }


def spec_of(row: Mapping[str, Any]) -> EpisodeSpec:
    """Return the episode that a row, enriched by verl, stands for."""
    return EpisodeSpec(
        id=f"{row['uid']}-{row['session_id']}",
        task=str(row["task"]),
        seed=int(row["seed"]),
        split=row["split"],
        group=str(row["uid"]),
    )
