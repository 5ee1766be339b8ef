"""A run killed (SIGKILL) at ten random moments and gone on with each time: what is lost, and what it was configured as.

`tiny_search` saves after each step. Before each resumption the last checkpoint is compared with the last recorded step:
what lies between them is lost. It takes as long as ten starts, a quarter of an hour on two cores.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from omegaconf import OmegaConf

from rlfactory.trainer.record.runlog import RunLog

KILLS: Final = 10
STEPS: Final = 24
STEPS_BETWEEN: Final = 2
"""That a run gets before it is killed, so that the curve goes on."""
OVERRIDES: Final = (
    f"trainer.total_training_steps={STEPS}",
    f"trainer.test_freq={STEPS}",
    "trainer.save_freq=1",
    "trainer.val_before_train=false",
    "actor_rollout_ref.actor.optim.lr=2.0e-4",
)


def measure(kills: int = KILLS) -> dict[str, Any]:
    """Kill and go on, and return the figures."""
    chance = random.Random(1)
    lost: list[int] = []
    with tempfile.TemporaryDirectory(prefix="rlfactory-resume-") as place:
        log = RunLog(Path(place, "run"))
        command = [sys.executable, "-m", "rlfactory", "train", "--runs", place, "--name", "run"]
        begun = [*command, "tiny_search", *OVERRIDES]
        for kill in range(kills):
            lost.append(_killed(begun if not kill else [*command, "--resume"], log, chance))
            print(f"kill {kill + 1}: {lost[-1]} steps lost of {_recorded(log)}", file=sys.stderr)
        subprocess.run([*command, "--resume"], check=True, stdout=sys.stderr)
        config = OmegaConf.load(log.folder / "config.yaml")
        steps = [record.step for record in log.steps() if record.episodes]
        summary = log.summary()
        assert summary is not None
        return {
            "resume_kills": kills,
            "resume_lost_steps_max": max(lost),
            "resume_curve_whole": steps == list(range(1, STEPS + 1)),
            "resume_same_configuration": config.actor_rollout_ref.actor.optim.lr == 2e-4,
            "resume_success_end": summary.eval_success_end or summary.eval_success_start,
        }


def _killed(command: list[str], log: RunLog, chance: random.Random) -> int:
    """Run until some steps are done, then kill at a random moment of the next; return how many steps were lost."""
    wanted = min(_recorded(log) + STEPS_BETWEEN, STEPS - 1)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while _recorded(log) < wanted:
        assert process.poll() is None, f"the run ended by itself: {log.logs}"
        time.sleep(0.2)
    time.sleep(chance.uniform(0, 6))
    process.kill()
    process.wait()
    return max(0, _recorded(log) - _saved(log))


def _recorded(log: RunLog) -> int:
    return max((record.step for record in log.steps()), default=0)


def _saved(log: RunLog) -> int:
    latest = log.checkpoints / "latest_checkpointed_iteration.txt"
    return int(latest.read_text()) if latest.exists() else 0
