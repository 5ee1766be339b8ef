"""Tasks that need phone and tools: something has to be looked up, then done in an app."""

from __future__ import annotations

from envs.tasks.mixed.base import MixedTask
from envs.tasks.mixed.both import BOTH
from envs.tasks.mixed.querying import QUERYING
from envs.tasks.mixed.searching import SEARCHING

MIXED_TASKS: tuple[type[MixedTask], ...] = (*SEARCHING, *QUERYING, *BOTH)
