"""Wordings for models that know few words: splits have different goals, though made of the same words.

A goal has a beginning and an end, each one of four; which split a pair belongs to is told by their numbers, so that
every beginning and every end is met in training, and half of the pairs are not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from rlfactory.envs.api.types import Split

SPLIT_OF_SUM: Final[Sequence[Split]] = ("train", "validation", "train", "test")
"""By what numbers sum up to, modulo 4."""


def split_of(*numbers: int) -> Split:
    """Return the split that these numbers belong to."""
    return SPLIT_OF_SUM[sum(numbers) % len(SPLIT_OF_SUM)]


def draw_wording(rng: random.Random, split: Split, beginnings: Sequence[str], ends: Sequence[str]) -> tuple[str, str]:
    """Draw a beginning and an end that belong to the split, each of four."""
    pairs = [
        (beginning, end)
        for number, beginning in enumerate(beginnings)
        for other, end in enumerate(ends)
        if split_of(number, other) == split
    ]
    return rng.choice(pairs)
