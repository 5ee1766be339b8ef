"""The checks there are."""

from __future__ import annotations

from typing import Final

from benchmarks.trust import judge, replays, sql
from benchmarks.trust.check import Check

CHECKS: Final[tuple[Check, ...]] = (judge.CHECK, replays.CHECK, sql.CHECK)
