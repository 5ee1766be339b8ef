"""Solutions of AndroidWorld's tasks, by taps and typing, by AndroidWorld's names."""

from __future__ import annotations

from typing import Final

from rlfactory.envs.tasks.android_world.oracles import media, messages, questions, records, system
from rlfactory.envs.tasks.android_world.oracles.moves import Oracle

ORACLES: Final[dict[str, Oracle]] = {
    **system.ORACLES,
    **messages.ORACLES,
    **records.ORACLES,
    **media.ORACLES,
    **questions.ORACLES,
}
