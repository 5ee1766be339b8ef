"""Streaming, by verl's and our own code over a clock that jumps: nothing is waited for, and nothing left behind."""

from __future__ import annotations

import pytest

pytest.importorskip("verl", reason="needs the train extra")

from benchmarks.learning import barrier
from benchmarks.learning.barrier import Training

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]


def test_what_hangs_holds_no_step_and_what_is_slow_is_learnt_from_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(barrier, "SLOTS", 8)
    monkeypatch.setattr(barrier, "LEARNING_S", 3.0)
    sync, streaming = (Training(mode, seed=1).train(14) for mode in ("sync", "streaming"))
    assert (sync.staleness, sync.left_behind) == (0, 0)
    assert sync.wall_s > 1.8 * streaming.wall_s
    assert streaming.idle < sync.idle
    assert 0 < streaming.staleness <= 8
    assert streaming.left_behind == 0, "slow episodes would be learnt from less than quick ones"
