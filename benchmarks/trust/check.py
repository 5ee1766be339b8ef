"""What a check of the verdicts is, and how much of it is run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TypeVar

from rich.console import Console
from rich.progress import track

Figure = int | float
T = TypeVar("T")
Result = TypeVar("Result")


def in_processes(function: Callable[[T], Result], cases: Sequence[T]) -> list[Result]:
    """Return what a function of a module says of each case, worked out by one process a core; shows how far it is."""
    if len(cases) < 2:
        return [function(case) for case in cases]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        done = pool.map(function, cases)
        return list(track(done, "goals", total=len(cases), console=Console(stderr=True), transient=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """How much of a check is run."""

    sample: int = 0
    """About how many cases a check tries, drawn evenly from all of them; 0 for all."""
    seed: int = 0
    part: int = 0
    parts: int = 1
    """Of so many, which together try everything, this one (from 0) is tried."""

    def share(self, each: int) -> Size:
        """Return how many goals are tried of which `each` (about) counts so many cases."""
        return replace(self, sample=max(1, self.sample // each) if self.sample else 0)

    def of_a_goal(self, each: int) -> Size:
        """Return how much is tried of one goal: `each` (about) of a sample, else everything."""
        return Size(sample=each if self.sample else 0, seed=self.seed)

    def of(self, cases: Sequence[T]) -> list[T]:
        """Return the cases to try, in their order."""
        cases = cases[self.part :: self.parts]
        if not self.sample or self.sample >= len(cases):
            return list(cases)
        chosen = random.Random(self.seed).sample(range(len(cases)), self.sample)
        return [cases[index] for index in sorted(chosen)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a check found."""

    figures: Mapping[str, Figure]
    """By the names that the JSON object has them under; of one name in several checks it has the sum."""
    faults: Sequence[str] = ()
    """What should not be, a line each; with none the check holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check."""

    name: str
    what: str
    """What it does and what must hold, in a sentence."""
    run: Callable[[Size], Finding]
