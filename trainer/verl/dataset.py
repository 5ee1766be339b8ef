"""What verl draws from: the episodes of RL, which need no files, and the demonstrations of the warm start."""

from __future__ import annotations

import random
from typing import Any, Final

from torch.utils.data import Dataset
from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset

from rlfactory.trainer.credit.curriculum import Curriculum, CurriculumSettings
from rlfactory.trainer.episode.episodes import EpisodeSource, row_of

CHOSEN: Final[list[Curriculum]] = []
"""This process's curriculum, if its recipe has one; the replay buffer, which lives here, too, tells it what it had."""


class EpisodeDataset(Dataset[dict[str, Any]]):
    """One row per episode. `data.train_files` and `data.val_files` name the split instead of a file."""

    def __init__(
        self, data_files: Any, tokenizer: Any, config: Any, processor: Any = None, max_samples: int = -1
    ) -> None:
        del tokenizer, processor  # the prompt is made when the episode begins, from what the phone shows
        split = data_files if isinstance(data_files, str) else data_files[0]
        rows = EpisodeSource.from_config(config.episodes, split).rows()
        self._rows = rows[:max_samples] if max_samples > 0 else rows
        self._agent = str(config.episodes.agent)
        own = config.episodes.get("curriculum")
        self._curriculum: Curriculum | None = None
        self._random = random.Random(f"curriculum {config.get('seed')}")
        if own is not None and own.enabled and rows[0][2] == "train":
            self._curriculum = Curriculum(CurriculumSettings(**own))
            self._tasks = tuple(config.episodes.tasks)
            CHOSEN[:] = [self._curriculum]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        task, seed, split = self._rows[index]
        if self._curriculum is not None:
            task = self._curriculum.draw(self._tasks, self._random)
        return row_of(task=task, seed=seed, split=split, index=index, agent=self._agent)


class DemonstrationDataset(MultiTurnSFTDataset):  # type: ignore[misc]
    """Rows of `messages` (with `<image>` placeholders) and `images`, as `trainer.run.warm_start` writes them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._encoded: dict[int, dict[str, Any]] = {}

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index not in self._encoded:
            self._encoded[index] = super().__getitem__(index)
        return dict(self._encoded[index])

    def sanity_check(self, *args: Any, **kwargs: Any) -> None:
        """Compare with the model's own template once: all rows are made alike, and the check costs as much as a row."""
        if not self._encoded:
            super().sanity_check(*args, **kwargs)
