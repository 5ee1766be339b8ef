"""A run killed (SIGKILL) at ten random moments and gone on with each time: what is lost, and what it was configured as.

`tiny_search`, hardly warm-started, saves after each step and evaluates at every other one. A process is killed up to
`LATEST_S` seconds after it began, or after its first step: while it starts, plays, learns, saves or evaluates. Then the
last checkpoint is compared with the last recorded step: what lies between them is lost. It takes as long as ten starts,
a quarter of an hour on two cores.
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
STEPS: Final = 12
AT_ONCE: Final = (0, 4)
"""Kills that do not wait for a step: before anything is saved, and while a run goes on again."""
LATEST_S: Final = 8.0
OVERRIDES: Final = (
    f"trainer.total_training_steps={STEPS}",
    "trainer.test_freq=2",
    "trainer.save_freq=1",
    "data.episodes.validation.count=8",
    "data.val_batch_size=8",
    "rlfactory.warm_start.episodes=96",
    "rlfactory.warm_start.lessons=[{guesses: 0.0, steps: 4, lr: 1.2e-3, lr_warmup_steps: 1}]",
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
            on = (log.folder / "config.yaml").exists()
            lost.append(_killed([*command, "--resume"] if on else begun, log, chance, at_once=kill in AT_ONCE))
            print(f"kill {kill + 1}: {lost[-1]} steps lost of {_recorded(log)}", file=sys.stderr)
        subprocess.run([*command, "--resume"], check=True, stdout=sys.stderr)
        config = OmegaConf.load(log.folder / "config.yaml")
        records = {record.step: record for record in log.steps()}
        rows = config.data.train_batch_size * config.actor_rollout_ref.rollout.n
        return {
            "resume_kills": kills,
            "resume_lost_steps_max": max(lost),
            "resume_curve_whole": [step for step, record in records.items() if record.episodes == rows]
            == list(range(1, STEPS + 1)),
            "resume_evaluations_whole": [step for step, record in records.items() if record.eval_episodes == 8]
            == list(range(0, STEPS + 1, 2)),
            "resume_same_configuration": config.actor_rollout_ref.actor.optim.lr == 2e-4,
        }


def _killed(command: list[str], log: RunLog, chance: random.Random, *, at_once: bool) -> int:
    """Run until a step is done, then kill at a random moment; return how many steps were lost."""
    wanted = 0 if at_once else min(_recorded(log) + 1, STEPS - 1)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while _recorded(log) < wanted:
        assert process.poll() is None, f"the run ended by itself: {log.logs}"
        time.sleep(0.2)
    time.sleep(chance.uniform(0, LATEST_S))
    process.kill()
    process.wait()
    return max(0, _recorded(log) - log.saved_step())


def _recorded(log: RunLog) -> int:
    return max((record.step for record in log.steps()), default=0)
