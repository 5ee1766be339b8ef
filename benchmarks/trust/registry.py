"""The checks there are."""

from __future__ import annotations

from typing import Final

from benchmarks.trust import (
    alternatives,
    damage,
    exploring,
    judge,
    mutants,
    perturbed,
    replays,
    sql,
    validation,
)
from benchmarks.trust.check import Check

CHECKS: Final[tuple[Check, ...]] = tuple(
    module.CHECK for module in (validation, damage, mutants, alternatives, sql, replays, perturbed, exploring, judge)
)
