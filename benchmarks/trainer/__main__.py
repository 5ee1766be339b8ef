"""The trainer's claims, part by part: `python -m benchmarks.trainer [--json] [--only PART ...]`.

Each part is a module beside this one with a function `measure() -> dict[str, Any]`, which returns its figures by key. A
part runs in a process of its own, so that one's memory and threads are in no other's figures. Some take minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any, Final

PARTS: Final[dict[str, str]] = {
    "keys": "keys of recipes set to two values each: `keys`, `silent`",
    "recipes": "dry runs of every recipe, wrong ones, the GPU lock: `dry_runs_green`, `gpu_lock_resolves`",
    "images": "256 episodes of 15 full-HD turns: `image_gb`, `loop_held_ms`",
    "vllm": "`tiny_phone` by vLLM on a CPU: `vllm_cpu_learns`, `engines_prob_diff_max`, `rollout_train_prob_diff_max`",
    "smol": "the newest finished run of `smol_search` in runs/: `smol_gain`",
    "start": "`make train` in three seeds: `first_step_s`, `wall_s`, success at start and end",
    "resume": "a run killed ten times: `resume_lost_steps_max`, `resume_curve_whole`",
    "robust": "20 steps with failing phones and hanging calls: `slowest_over_median`, `infra_in_loss`",
}
"""What there is, and what it measures."""

_RUN: Final = "import json, sys; from benchmarks.trainer import {0} as part; json.dump(part.measure(), sys.stdout)"


def measured(part: str) -> dict[str, Any]:
    """Return the figures of one part. Raises: CalledProcessError: it failed; its words are on stderr."""
    done = subprocess.run([sys.executable, "-c", _RUN.format(part)], stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trainer", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS), metavar="PART")
    parser.add_argument("--list", action="store_true", help="say what there is, and end")
    arguments = parser.parse_args()
    if arguments.list:
        for name, about in PARTS.items():
            print(f"{name}: {about}")
        return
    figures: dict[str, Any] = {}
    failed = []
    for part in arguments.only:
        print(f"{part}: {PARTS[part]}", file=sys.stderr)
        try:
            figures |= measured(part)
        except subprocess.CalledProcessError:
            failed.append(part)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, value in figures.items():
            print(f"{name}: {value}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
