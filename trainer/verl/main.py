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

from omegaconf import OmegaConf

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
    """Run verl's V1 trainer."""
    from rlfactory.trainer.verl.grpo import train

    train(config)


def run_sft(config: Any) -> None:
    """Make the model and warm-start it."""
    from rlfactory.trainer.verl.warm_start import prepare

    prepare(config)


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    # An exception, so that `finally` blocks run and Ray's processes are taken down.
    raise SystemExit(143)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
