"""Every kind of fault once, while oracles play on phones in containers: no wrong verdict, nothing left over."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


def test_faults_cost_episodes_and_nothing_else() -> None:
    command = [sys.executable, "-m", "benchmarks.chaos", "--json", "--episodes", "60", "--faults", "12"]
    done = subprocess.run(
        [*command, "--concurrency", "6", "--spares", "2", "--phones-per-host", "2"],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["episodes"] >= 60
    assert figures["faults"] == 12
    assert len(figures["recovery_s"]) == 12  # each kind
    lost = {name: figures[name] for name in ("wrong_verdicts", "leftovers", "lost_otherwise")}
    assert lost == {"wrong_verdicts": 0, "leftovers": 0, "lost_otherwise": 0}, done.stderr
