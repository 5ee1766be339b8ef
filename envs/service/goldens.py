"""The reset contract: one (task, seed, split) always begins in the same state."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from rlfactory.envs.api.types import Split


class EpisodeKey(NamedTuple):
    """What fixes goal, first state and simulated clock."""

    task: str
    seed: int
    split: Split
    perturb: str = ""


class Goldens:
    """The state hash that each episode began with when it was first set up. Bounded: the oldest is forgotten first."""

    def __init__(self, *, capacity: int) -> None:
        self._capacity = capacity
        self._hashes: OrderedDict[EpisodeKey, str] = OrderedDict()

    def agrees(self, key: EpisodeKey, state_hash: str) -> bool:
        """Tell whether the hash is the first one recorded for the key; record it if there is none."""
        golden = self._hashes.setdefault(key, state_hash)
        self._hashes.move_to_end(key)
        if len(self._hashes) > self._capacity:
            self._hashes.popitem(last=False)
        return golden == state_hash
