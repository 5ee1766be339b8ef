"""One lesson of the warm start: verl's SFT trainer in this process, which may end once the lesson is learnt."""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from verl.trainer.sft_trainer import SFTTrainer
from verl.utils import tensordict_utils
from verl.utils.device import auto_set_device
from verl.utils.distributed import destroy_global_process_group, initialize_global_process_group

from rlfactory.trainer.cpu.platform import share_cores
from rlfactory.trainer.run.warm_start import WINDOW
from rlfactory.trainer.verl import plugin as verl_plugin


class LessonTrainer(SFTTrainer):  # type: ignore[misc]
    """verl's SFT trainer, whose last step is the first by which the mean loss has fallen to `until_loss`.

    `only` names the part of the model that learns, as in "lm_head"; the rest stays as it is.

    Raises: ValueError: the model has no such part.
    """

    def __init__(self, config: DictConfig, *, until_loss: float | None = None, only: str = "") -> None:
        super().__init__(config=config)
        self._until_loss = until_loss
        parts = dict(self.engine.module.named_parameters())
        if not any(only in name for name in parts):
            raise ValueError(f"a lesson of {only!r} alone: the model has no such part, only {', '.join(sorted(parts))}")
        for name, parameter in parts.items():
            parameter.requires_grad_(only in name)
        self._steps = 0
        self._losses: deque[float] = deque(maxlen=WINDOW)
        self.training_client.train_batch = self._watched(self.training_client.train_batch)

    def _watched(self, train_batch: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            output = train_batch(*args, **kwargs)
            self._steps += 1
            self._losses.append(float(tensordict_utils.get(output, "metrics")["loss"]))
            if self.learnt:
                self.total_training_steps = self._steps
            return output

        return watched

    @property
    def learnt(self) -> bool:
        """Whether there is no need to go on."""
        known = len(self._losses) == WINDOW
        return self._until_loss is not None and known and sum(self._losses) / WINDOW <= self._until_loss


def run_lesson(config: DictConfig, *, until_loss: float | None = None, only: str = "") -> Path:
    """Run verl's SFT trainer in this process, alone in its process group; return the Hugging Face folder it wrote.

    See `LessonTrainer` for the arguments.

    Raises: PluginMissing: verl did not load our plugin.
    """
    output = Path(config.trainer.default_local_dir).resolve()
    output.mkdir(parents=True, exist_ok=True)
    # What torch.distributed and verl's worker read: a group of one, met in a file, so no port is listened on.
    os.environ.update(
        RANK="0",
        LOCAL_RANK="0",
        WORLD_SIZE="1",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT="0",
        DIST_INIT_METHOD=f"file://{output}/.group?rank=0&world_size=1",
    )
    verl_plugin.check(rollout="", device=config.trainer.device)
    auto_set_device(config)
    share_cores()
    initialize_global_process_group()
    try:
        trainer = LessonTrainer(config, until_loss=until_loss, only=only)
        gc.freeze()  # verl collects garbage twice a step; what the imports made is none
        trainer.fit()
    finally:
        destroy_global_process_group()
    saved = int((output / "latest_checkpointed_iteration.txt").read_text())
    return output / f"global_step_{saved}" / "huggingface"
