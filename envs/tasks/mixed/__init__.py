"""Tasks that need phone and tools: something has to be looked up, then done in an app."""

from __future__ import annotations

from rlfactory.envs.tasks.mixed.base import MixedTask
from rlfactory.envs.tasks.mixed.both import BOTH
from rlfactory.envs.tasks.mixed.querying import QUERYING
from rlfactory.envs.tasks.mixed.searching import SEARCHING

MIXED_TASKS: tuple[type[MixedTask], ...] = (*SEARCHING, *QUERYING, *BOTH)
