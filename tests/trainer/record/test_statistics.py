"""pass@k and the Wilson interval, against their definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.trainer.record.statistics import pass_at_k, wilson_interval


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_matches_published_values(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=1e-4)


@given(st.integers(0, 400), st.integers(0, 400))
def test_wilson_holds_the_share_and_stays_a_share(first: int, second: int) -> None:
    successes, trials = sorted((first, second))
    low, high = wilson_interval(successes, trials)
    assert 0 <= low <= high <= 1
    if trials:
        assert low <= successes / trials + 1e-12
        assert successes / trials <= high + 1e-12


def test_nothing_is_known_without_trials() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_draws_that_hold_a_success(attempts: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, attempts))
    k = data.draw(st.integers(1, attempts))
    draws = list(combinations([True] * successes + [False] * (attempts - successes), k))
    assert pass_at_k(successes, attempts, k) == pytest.approx(float(Fraction(sum(map(any, draws)), len(draws))))


@pytest.mark.parametrize(("successes", "attempts", "k"), [(0, 3, 0), (0, 3, 4), (4, 3, 1), (-1, 3, 1)])
def test_what_makes_no_sense_is_refused(successes: int, attempts: int, k: int) -> None:
    with pytest.raises(ValueError, match="must be within"):
        pass_at_k(successes, attempts, k)
