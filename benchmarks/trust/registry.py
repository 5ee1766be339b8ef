"""The checks there are."""

from __future__ import annotations

from typing import Final

from benchmarks.trust import (
    alternatives,
    blind,
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

MODULES: Final = (*(validation, blind, damage, mutants, alternatives, sql, replays, perturbed, exploring, judge),)
CHECKS: Final[tuple[Check, ...]] = tuple(module.CHECK for module in MODULES)
