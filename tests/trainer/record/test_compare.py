"""Two runs are compared on what both played; chance is told from a difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import EpisodeState
from rlfactory.trainer.record.compare import compare
from rlfactory.trainer.record.runlog import EpisodeRecord, RunLog


def run(folder: Path, solved: Callable[[str, int], bool], *, tasks: str = "abcd", seeds: int = 10) -> RunLog:
    log = RunLog(folder)
    log.create()
    for task in tasks:
        for seed in range(seeds):
            success = solved(task, seed)
            record = EpisodeRecord(
                id=f"{task}-{seed}",
                phase="eval",
                step=0,
                task=task,
                seed=seed,
                split="test",
                goal="",
                turns=(),
                state=EpisodeState.FINISHED,
                reward_total=float(success),
                reward_parts={},
                success=success,
            )
            log.add_episode(record)
    return log


def test_a_better_run_is_told_from_chance(tmp_path: Path) -> None:
    weak = run(tmp_path / "weak", lambda task, seed: seed % 2 == 0)
    strong = run(tmp_path / "strong", lambda task, seed: seed < 9)
    found = compare(weak, strong)
    assert (found.pairs, found.first, found.second) == (40, 0.5, 0.9)
    assert found.difference == pytest.approx(0.4)
    assert found.interval[0] > 0.1
    assert found.p_value < 0.001


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    first, second = (run(tmp_path / name, lambda task, seed: True) for name in ("first", "second"))
    lines = second.episodes_path.read_text().splitlines()
    second.episodes_path.write_text("\n".join([*lines[:4], lines[5][:50]]))
    found = compare(first, second)
    assert found.pairs == 4
    (problem,) = found.problems
    assert problem.endswith("line 5 is cut off: the other records are compared")
    with pytest.raises(TaskError, match=r"nowhere has no episodes\.jsonl"):
        compare(first, RunLog(tmp_path / "nowhere"))


def test_runs_that_differ_by_chance_alone_are_not_told_apart(tmp_path: Path) -> None:
    even = run(tmp_path / "even", lambda task, seed: seed % 2 == 0)
    odd = run(tmp_path / "odd", lambda task, seed: seed % 2 == 1)
    found = compare(even, odd)
    assert found.difference == 0
    assert found.p_value > 0.5
    assert found.interval[0] < 0 < found.interval[1]
    assert compare(even, even).p_value == 1


def test_templates_count_more_than_the_pairs_inside_them(tmp_path: Path) -> None:
    """One template that all of the difference comes from says little about others."""
    weak = run(tmp_path / "weak", lambda task, seed: False)
    strong = run(tmp_path / "strong", lambda task, seed: task == "a")
    assert compare(weak, strong).interval[0] == 0


def test_runs_without_a_pair_in_common_are_refused(tmp_path: Path) -> None:
    first, second = (run(tmp_path / name, lambda task, seed: True, tasks=name) for name in "xy")
    with pytest.raises(TaskError, match=r"have no \(task, seed, split\) in common"):
        compare(first, second)
