"""Generalisation by regime: how far a task is from what policies are trained on, as `regimes.yaml` fixes it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from statistics import fmean

import yaml

from rlfactory.envs.api.types import Split, TaskInfo
from rlfactory.trainer.record.statistics import hierarchical_interval, wilson_interval

FILE = Path(__file__).with_name("regimes.yaml")


class Regime(StrEnum):
    """What is new about a task to a policy that was trained on what the file allows, nearest first."""

    SEEN = "seen instances"
    INSTANCES = "new instances"
    TEMPLATES = "new templates"
    APPS = "new apps"


@dataclass(frozen=True, kw_only=True, slots=True)
class RegimeResult:
    """Figures of the tasks of one regime."""

    regime: Regime
    templates: int
    pairs: int
    success: float
    """pass@1."""
    interval: tuple[float, float]
    """95 %: bootstrap over templates, and over pairs inside of each; Wilson's where all pairs are alike, which a
    bootstrap would call certain."""


@cache
def _taught() -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(values) for name, values in yaml.safe_load(FILE.read_text(encoding="utf-8")).items()}


def regime_of(task: TaskInfo, split: Split) -> Regime:
    """Return the regime of a task's episodes of this split."""
    taught = _taught()
    if set(task.apps) - set(taught["apps"]):
        return Regime.APPS
    known = any(fnmatchcase(task.name, pattern) for pattern in taught["templates"])
    if not known or task.name in taught["held_out"]:
        return Regime.TEMPLATES
    return Regime.SEEN if split == "train" else Regime.INSTANCES


def by_regime(pairs: Mapping[str, Sequence[float]], regimes: Mapping[str, Regime]) -> tuple[RegimeResult, ...]:
    """Return the figures of each regime that was played.

    Args:
        pairs: success of each (task, seed), by task.
        regimes: of each task that has one.
    """
    grouped: dict[Regime, dict[str, Sequence[float]]] = defaultdict(dict)
    for task, values in pairs.items():
        if task in regimes:
            grouped[regimes[task]][task] = values
    return tuple(_result(regime, grouped[regime]) for regime in Regime if regime in grouped)


def _result(regime: Regime, tasks: Mapping[str, Sequence[float]]) -> RegimeResult:
    values = [value for found in tasks.values() for value in found]
    alike = len(set(values)) == 1
    return RegimeResult(
        regime=regime,
        templates=len(tasks),
        pairs=len(values),
        success=fmean(values),
        interval=wilson_interval(sum(values), len(values)) if alike else hierarchical_interval(tasks, random.Random(0)),
    )
