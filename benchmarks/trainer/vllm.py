"""One engine: `tiny_phone` by verl's vLLM server on a CPU, and whether vLLM, transformers and ours compute one model.

Needs vLLM's CPU build (make setup ENGINE=vllm) and 9 GB of memory; eight minutes on two quiet cores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.trainer.start import shown
from rlfactory.trainer.run.train import run


def measure(seed: int = 1) -> dict[str, Any]:
    """Compare the engines, then train by vLLM."""
    command = [sys.executable, "-m", "benchmarks.engines", "--json"]
    compared = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    agreement = json.loads(compared.stdout.splitlines()[-1])["agreement"]
    with tempfile.TemporaryDirectory(prefix="rlfactory-vllm-") as place:
        asked = [f"rlfactory.seed={seed}", "hardware=cpu_vllm"]
        done = run("tiny_phone", asked, runs=Path(place), name="vllm", progress=shown)
    start, end = done.eval_success_start, done.eval_success_end
    return {
        "engines_prob_diff_max": max(
            max(each["vllm_engine_prob"], each["vllm_transformers_prob"]) for each in agreement
        ),
        "rollout_train_prob_diff_max": done.rollout_train_prob_diff_max,
        "vllm_cpu_learns": start is not None and end is not None and start <= 0.60 and end >= 0.85,
        "vllm_cpu_success_start": start,
        "vllm_cpu_success_end": end,
        "vllm_cpu_wall_s": round(done.wall_s, 1),
    }
