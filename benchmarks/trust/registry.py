"""The checks there are."""

from __future__ import annotations

from typing import Final

from benchmarks.trust import damage, exploring, judge, mutants, perturbed, replays, sql, validation
from benchmarks.trust.check import Check

CHECKS: Final[tuple[Check, ...]] = (
    validation.CHECK,
    damage.CHECK,
    mutants.CHECK,
    sql.CHECK,
    replays.CHECK,
    perturbed.CHECK,
    exploring.CHECK,
    judge.CHECK,
)
