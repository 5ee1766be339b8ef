"""Whether every recipe is green in a dry run, mistakes are told in a line, and the lock for GPU hosts resolves."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

from rlfactory import cli
from rlfactory.trainer.run.dry_run import dry_run
from rlfactory.trainer.run.recipe import recipe_names

ROOT: Final = Path(__file__).parents[2]
VARIANTS: Final = (
    ("qwen2_5_vl_7b", "scale=gpus4"),
    ("qwen3_vl_8b", "mode=one_step_off"),
    ("qwen3_vl_4b", "scale=gpus1", "tuning=lora"),
    ("text2sql_qwen3", "scale=gpus4", "tuning=lora"),
    ("tiny_phone", "hardware=gpu"),
    ("tiny_phone", "hardware=cpu_vllm"),
)
WRONG: Final = (
    ("data.episodes.tasks=[tiny.wify]", "close: tiny.wifi"),
    ("rlfactory.dialect=qwen4", "no dialect 'qwen4'"),
    ("rlfactory.image.max_pixels=null", "max_pixels must be set"),
    ("actor_rollout_ref.actor.optim.lrr=1", "close: actor_rollout_ref.actor.optim.lr"),
    ("rlfactory.turn_tokens=4000", "must be within 1..data.max_response_length"),
    ("rlfactory.service=null", "needs rlfactory.address"),
    ("hardware=tpu", "no hardware 'tpu'"),
    ("actor_rollout_ref.rollout.n=1", "an episode alone has nothing to be compared with"),
    ("trainer.nnodes=2", "needs a service that all of them reach"),
    ("data.train_batch_size=9", "must divide data.train_batch_size=9"),
    ("rlfactory.stall_timeout_s=20", "would end the run while episodes may still be played"),
    ("trainer.logger=[mlflow]", "pip install mlflow"),
)
"""Overrides of tiny_phone, and what they are answered with."""


def measure() -> dict[str, Any]:
    cases = [(name,) for name in recipe_names()] + list(VARIANTS)
    red = {" ".join(case): told for case in cases if (told := _red(case))}
    untold = [override for override, told in WRONG if not _told(override, told)]
    return {
        "dry_runs": len(cases),
        "dry_runs_green": len(cases) - len(red),
        "dry_runs_red": red,
        "wrong_configurations": len(WRONG),
        "wrong_told_in_a_line": len(WRONG) - len(untold),
        "gpu_lock_resolves": gpu_lock_resolves(),
    }


def _red(case: tuple[str, ...]) -> list[str]:
    recipe, *overrides = case
    return [f"{check.name}: {check.told}" for check in dry_run(recipe, overrides) if check.state == "wrong"]


def _told(override: str, told: str) -> bool:
    """Whether the command line says so in one line, without a traceback."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = cli.run(["train", "tiny_phone", "--dry-run", override])
    lines = [line for line in said.getvalue().splitlines() if told in line]
    return code != 0 and len(lines) == 1 and "Traceback" not in said.getvalue()


def gpu_lock_resolves() -> bool:
    """Let pip resolve what a GPU host installs, in an environment that has nothing; it takes minutes."""
    with tempfile.TemporaryDirectory(prefix="rlfactory-lock-") as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        command = [f"{place}/bin/python", "-m", "pip", "install", "--dry-run", "--quiet", "--report", f"{place}/report"]
        wanted = [f"{ROOT}[gpu,tools,dense,dev]", "-c", str(ROOT / "constraints-gpu.txt")]
        done = subprocess.run([*command, *wanted], stdout=sys.stderr, check=False)
    return done.returncode == 0
