"""The curriculum: what teaches nothing is drawn less, and never not at all."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from rlfactory.trainer.credit.curriculum import Curriculum, CurriculumSettings


def test_what_is_always_or_never_solved_is_drawn_less():
    curriculum = Curriculum(CurriculumSettings(enabled=True, least=0.05, remembered=32))
    assert [curriculum.weight(task) for task in "abc"] == [1.0, 1.0, 1.0]  # nothing is known yet
    for number in range(200):
        curriculum.note("always", solved=True)
        curriculum.note("never", solved=False)
        curriculum.note("often", solved=number % 4 > 0)
    assert [curriculum.weight(task) for task in ("always", "never")] == pytest.approx([4 * 33 / 34**2] * 2, rel=0.01)
    assert curriculum.weight("often") == pytest.approx(0.75, abs=0.05)
    rng = random.Random(2)
    drawn = Counter(curriculum.draw(["always", "never", "often"], rng) for _ in range(900))
    assert drawn["often"] > 600 and min(drawn.values()) > 50
    for _ in range(100):  # what was known is forgotten
        curriculum.note("never", solved=True)
    assert curriculum.success("never") > 0.9


def test_bad_figures_are_refused():
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        CurriculumSettings(least=0.0)
    with pytest.raises(ValueError, match="must be at least 1"):
        CurriculumSettings(remembered=0.5)
