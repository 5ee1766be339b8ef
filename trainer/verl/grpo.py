"""verl's V1 trainer, with our figures of a step in every logger of `trainer.logger` (TensorBoard, W&B, MLflow, ..).

They are counted by the function that the run's own records are made with, from the same episodes, so that a curve in
TensorBoard or W&B, the report and `summary.json` show equal success.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import ray
from omegaconf import open_dict
from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.trainer.ppo.v1 import trainer_base
from verl.utils.config import validate_config
from verl.utils.device import auto_set_device
from verl.utils.tracking import Tracking

from rlfactory.trainer.record.metrics import logged, step_record
from rlfactory.trainer.record.recorder import read_outcomes
from rlfactory.trainer.run.limits import prompts_at_once
from rlfactory.trainer.verl import plugin

_Runner: Any = TaskRunnerV1.__ray_metadata__.modified_class


class EpisodeTracking(Tracking):  # type: ignore[misc]
    """verl's loggers, each step with `rlfactory/...`."""

    def __init__(self, *args: Any, config: Any, **kwargs: Any) -> None:
        super().__init__(*args, config=config, **kwargs)
        self._folder = Path(config["rlfactory"]["run_folder"])

    def log(self, data: dict[str, Any], step: int, backend: Any = None) -> None:
        numbers = {name: float(value) for name, value in data.items() if isinstance(value, int | float)}
        record = step_record(step, elapsed_s=0.0, verl=numbers, outcomes=read_outcomes(self._folder))
        super().log(data | logged(record), step, backend)


def even_updates(trainer: Any) -> Any:
    """Return one of verl's trainers that makes as many updates of a step as its recipe says, whatever rows there are.

    verl cuts a batch into mini-batches of so many rows. Where an episode is several rows, a step would be more updates,
    the last of them of a few rows and padding, which would weigh as much as the others.
    """

    class EvenUpdates(trainer):  # type: ignore[misc]
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self._prompts_at_once = prompts_at_once(config)
            self._updates = (
                config.data.train_batch_size
                // self.parameter_sync_step
                // config.actor_rollout_ref.actor.ppo_mini_batch_size
            )

        def _balance_batch(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
            own = self.config.actor_rollout_ref
            most = math.ceil(len(batch.keys) / (self._updates * own.rollout.n * self._prompts_at_once))
            own.actor.ppo_mini_batch_size = most * self._prompts_at_once  # which verl reads anew for each batch
            return super()._balance_batch(batch, *args, **kwargs)

    return EvenUpdates


class EpisodeTaskRunner(_Runner):  # type: ignore[misc]
    """verl's process that runs the trainer, with our loggers and updates."""

    def run(self, config: Any) -> None:
        trainer_base.Tracking = EpisodeTracking
        mode = config.trainer.v1.trainer_mode
        trainer_base.TRAINER_REGISTRY[mode] = even_updates(trainer_base.TRAINER_REGISTRY[mode])
        super().run(config)


OF_A_NEW_CLUSTER: Final = ("num_cpus", "num_gpus", "object_store_memory", "include_dashboard")
"""Keys of `ray_init` that Ray refuses for a cluster that has its size already."""

RAY_STARTS: Final = 5
"""Tries to start a cluster: Ray gives each 30 s, which is too few where other programs keep all cores busy."""
TOO_SLOW: Final = "The current node timed out during startup"


def train(config: Any) -> None:
    """Train to the end, in a Ray cluster of its own or the one that `ray_kwargs.ray_init.address` names.

    Raises: PluginMissing: verl did not load our plugin.
    """
    plugin.check(rollout=config.actor_rollout_ref.rollout.name, device=config.trainer.device)
    auto_set_device(config)
    validate_config(
        config=config,
        use_reference_policy=need_reference_policy(config),
        use_critic=need_critic(config),
    )
    with open_dict(config):
        # Ray's workers begin as we did: by Python, or forked from a warm process.
        config.ray_kwargs.ray_init.runtime_env = {"py_executable": sys.executable}
        if config.ray_kwargs.ray_init.address != "local":
            for size in OF_A_NEW_CLUSTER:
                config.ray_kwargs.ray_init.pop(size, None)
    patiently(lambda: run_ppo(config, task_runner_class=ray.remote(EpisodeTaskRunner)))


def patiently(work: Callable[[], None]) -> None:
    """Do what begins with a start of Ray, again where Ray was too slow to start, and leave none of it running."""
    for left in reversed(range(RAY_STARTS)):
        try:
            work()
        except Exception as error:
            if not left or TOO_SLOW not in str(error):
                raise
        else:
            break
        finally:
            ray.shutdown()
