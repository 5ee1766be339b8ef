"""Two recorded runs on the same (task, seed, split) pairs: which one solves more, and whether that may be chance."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.record.reading import read_readable
from rlfactory.trainer.record.runlog import EpisodeRecord, RunLog
from rlfactory.trainer.record.statistics import DRAWS, hierarchical_interval

__all__ = ["Comparison", "RunLog", "compare"]
Pair = tuple[str, int, str]
"""Task, seed, split."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """The second run beside the first one."""

    pairs: int
    """Played by both, with a verdict in each."""
    first: float
    """Success of the first run on these."""
    second: float
    difference: float
    interval: tuple[float, float]
    """Of the difference, 95 %: bootstrap over templates, and over pairs inside of each."""
    p_value: float
    """Two-sided sign-flip test of the pairs' differences: how often chance alone gives as much."""
    problems: tuple[str, ...] = ()
    """One line for each record that could not be compared."""


def compare(first: RunLog, second: RunLog, *, seed: int = 0) -> Comparison:
    """Compare the evaluation episodes of two runs.

    Raises: TaskError: they have no pair in common, or one of them no record that can be used.
    """
    read = [read_readable(log, to_be="compared") for log in (first, second)]
    before, after = (_successes(each.episodes) for each in read)
    shared = sorted(before.keys() & after.keys())
    if not shared:
        raise TaskError(f"{first.folder} and {second.folder} have no (task, seed, split) in common")
    rng = random.Random(seed)
    differences = {pair: after[pair] - before[pair] for pair in shared}
    by_task: dict[str, list[float]] = defaultdict(list)
    for (task, _, _), difference in differences.items():
        by_task[task].append(difference)
    return Comparison(
        pairs=len(shared),
        first=fmean(before[pair] for pair in shared),
        second=fmean(after[pair] for pair in shared),
        difference=fmean(differences.values()),
        interval=hierarchical_interval(by_task, rng),
        p_value=sign_flip(list(differences.values()), rng),
        problems=tuple(problem for each in read for problem in each.problems),
    )


def _successes(episodes: Iterable[EpisodeRecord]) -> dict[Pair, float]:
    """Return the mean success of each pair over its attempts."""
    wins: dict[Pair, list[bool]] = defaultdict(list)
    for each in episodes:
        if each.phase == "eval":
            wins[each.task, each.seed, each.split].append(each.success)
    return {pair: fmean(found) for pair, found in wins.items()}


def sign_flip(differences: Sequence[float], rng: random.Random) -> float:
    """Return the p-value of a two-sided sign-flip test, by random flips; the data count as one of them."""
    told = [each for each in differences if each]
    observed = abs(sum(told))
    extreme = sum(
        abs(sum(each if rng.random() < 0.5 else -each for each in told)) >= observed - 1e-12 for _ in range(DRAWS)
    )
    return (extreme + 1) / (DRAWS + 1)
