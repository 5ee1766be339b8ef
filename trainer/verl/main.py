"""Processes that run verl: `python -m rlfactory.trainer.verl.main grpo|sft CONFIG.yaml`, started by `run.train`.

The configuration is a composed recipe. Progress goes to the file logger (VERL_FILE_LOGGER_PATH); SIGTERM ends the
process with Ray and all its workers.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from omegaconf import OmegaConf, open_dict

from rlfactory.processes.child import when_parent_ends


def main(arguments: list[str]) -> int:
    """Run one kind of training to its end. Returns the exit code."""
    kind, path = arguments
    signal.signal(signal.SIGTERM, _terminated)
    when_parent_ends(lambda: os.kill(os.getpid(), signal.SIGTERM))
    config = OmegaConf.load(Path(path))
    {"grpo": run_grpo, "sft": run_sft}[kind](config)
    return 0


def run_grpo(config: Any) -> None:
    """Run verl's V1 trainer.

    Raises: PluginMissing: verl did not load our plugin.
    """
    import ray
    from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config
    from verl.utils.device import auto_set_device

    from rlfactory.trainer.verl import plugin as verl_plugin

    verl_plugin.check(rollout=config.actor_rollout_ref.rollout.name, device=config.trainer.device)
    auto_set_device(config)
    validate_config(
        config=config,
        use_reference_policy=need_reference_policy(config),
        use_critic=need_critic(config),
    )
    with open_dict(config):
        # Ray's workers begin as we did: by Python, or forked from a warm process.
        config.ray_kwargs.ray_init.runtime_env = {"py_executable": sys.executable}
    try:
        run_ppo(config, task_runner_class=TaskRunnerV1)
    finally:
        ray.shutdown()


def run_sft(config: Any) -> None:
    """Make the model and warm-start it."""
    from rlfactory.trainer.verl.warm_start import prepare

    prepare(config)


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    # An exception, so that `finally` blocks run and Ray's processes are taken down.
    raise SystemExit(143)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
