"""Has a healthy phone served its time? Phones leak and age, as every long-running program does."""

from __future__ import annotations

import random
import time

from rlfactory.emulators.pool.config import PoolConfig
from rlfactory.emulators.pool.slot import Slot

_SPREAD = 0.1
"""Of the age limit: phones that started together shall not all be replaced together."""


def draw_max_age_s(config: PoolConfig) -> float:
    """Return the age at which one phone is to be replaced."""
    return config.max_age_s * (1 - _SPREAD * random.random())


def reason_to_recycle(slot: Slot, config: PoolConfig) -> str:
    """Return why the slot's phone is to be replaced though it works; "" when it may stay."""
    age_s = time.monotonic() - slot.booted_at_s
    if age_s >= slot.max_age_s:
        return f"it is {age_s:.0f} s old"
    growth = slot.memory_bytes - slot.first_memory_bytes
    limit = max(config.max_growth_bytes, config.max_growth_share * slot.first_memory_bytes)
    if slot.first_memory_bytes and growth >= limit:
        return f"its memory grew by {growth / 1e6:.0f} MB"
    return ""
