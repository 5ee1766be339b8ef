"""How many nodes the sessions of a cluster need: up at once when somebody waits, down when some were long idle."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rlfactory.envs.wire.load import Load


@dataclass(kw_only=True)
class Demand:
    """Decides by what services say of their load."""

    least: int
    """Nodes that always serve."""
    most: int
    phones_per_node: int
    idle_s: float = 60.0
    """Fewer nodes must have been enough for so long before any is drained."""
    _idle_since_s: float | None = None

    def nodes(self, serving: Iterable[Load], *, now_s: float) -> int:
        """Return how many nodes should serve. Args: serving: of each that does. now_s: by any clock that only grows."""
        loads = tuple(serving)
        wanted = sum(max(each.phones - each.free, 0) + each.waiting for each in loads)
        needed = min(max(math.ceil(wanted / self.phones_per_node), self.least), self.most)
        if needed >= len(loads):
            self._idle_since_s = None
            return needed
        if self._idle_since_s is None:
            self._idle_since_s = now_s
        return needed if now_s - self._idle_since_s >= self.idle_s else len(loads)
