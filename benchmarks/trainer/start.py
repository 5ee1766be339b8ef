"""`tiny_phone` as `make train` runs it, in three seeds: how soon it begins to learn, how long it takes, what it learns.

Times count only where nothing else runs. A seed takes five to eight minutes on two cores.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from rlfactory.trainer.run.train import Progress, run

SEEDS: Final = (1, 2, 3)


def measure(seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """Train each seed, and return the worst of them."""
    with tempfile.TemporaryDirectory(prefix="rlfactory-start-") as place:
        done = [
            run("tiny_phone", [f"rlfactory.seed={seed}"], runs=Path(place), name=f"seed{seed}", progress=shown)
            for seed in seeds
        ]
    return {
        "first_step_s": round(max(each.first_step_s or 0.0 for each in done), 1),
        "wall_s": round(max(each.wall_s for each in done), 1),
        "success_start_max": max(each.eval_success_start or 0.0 for each in done),
        "success_end_min": min(each.eval_success_end or 0.0 for each in done),
        "seeds": len(seeds),
    }


def shown(told: Progress) -> None:
    """Print where a run is."""
    print(f"{told.elapsed_s:.0f} s {told.phase} {told.step.step if told.step else told.message}", file=sys.stderr)
