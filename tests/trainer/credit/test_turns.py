"""Credit of turns: cases by hand, and what holds of every batch."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.trainer.credit.groups import leave_one_out_advantages
from rlfactory.trainer.credit.settings import CreditSettings
from rlfactory.trainer.credit.turns import Credit, Estimator, Way, step_advantages, turn_advantages
from rlfactory.trainer.credit.weights import Per, turn_weights

HALF = math.sqrt(0.5)
"""One over the deviation of a group that got 0 and 1, halved."""
RIGHT = Way(group="g", total=1.0, states=("start", "fork", "right"), progress=(0.5, 0.5, 1.0))
WRONG = Way(group="g", total=0.0, states=("start", "fork", "wrong"), progress=(0.5, 0.5, 0.0))


def advantages(estimator: Estimator, ways: Sequence[Way] = (RIGHT, WRONG), **figures: float) -> list[list[float]]:
    return [each.tolist() for each in turn_advantages(ways, Credit(estimator=estimator, **figures))]


@pytest.mark.parametrize(
    ("estimator", "right", "wrong"),
    [
        (Estimator.GRPO, [HALF] * 3, [-HALF] * 3),
        (Estimator.DR_GRPO, [0.5] * 3, [-0.5] * 3),
        (Estimator.RLOO, [1.0] * 3, [-1.0] * 3),
        # Two turns each began where a sibling's did; the third met nobody.
        (Estimator.GIGPO, [2 * HALF, 2 * HALF, HALF], [-2 * HALF, -2 * HALF, -HALF]),
        # Of the three turns the second decided.
        (Estimator.STATE_VALUES, [0, HALF, 0], [0, -HALF, 0]),
        (Estimator.PROGRESS, [0, 0.5, 0], [0, -0.5, 0]),
    ],
)
def test_two_siblings_that_part_at_the_second_turn(
    estimator: Estimator, right: list[float], wrong: list[float]
) -> None:
    found = advantages(estimator)
    assert found[0] == pytest.approx(right, abs=1e-5)
    assert found[1] == pytest.approx(wrong, abs=1e-5)


def test_a_sibling_that_was_lost_is_no_part_of_the_baseline() -> None:
    assert leave_one_out_advantages([1.0, 0.0, 0.5], "ggg") == pytest.approx([0.75, -0.75, 0.0])
    assert leave_one_out_advantages([1.0, 0.0], "gg") == pytest.approx([1.0, -1.0])
    assert leave_one_out_advantages([1.0, 7.0], "gh") == [0.0, 0.0]


def test_what_lies_ahead_is_worth_less_by_each_turn() -> None:
    [right, wrong] = step_advantages([RIGHT, WRONG], discount=0.5)
    assert right == pytest.approx([HALF, HALF, 0.0], abs=1e-4)  # 0.25 and 0.5 ahead, each over its own deviation
    assert wrong == pytest.approx(-right)


def test_a_fork_tells_what_a_turn_was_worth_where_no_sibling_does() -> None:
    alone = Way(group="g", total=0.0, states=("start", "a", "b"))
    other = Way(group="g", total=0.0, states=("start", "c", "d"))
    credit = Credit(estimator=Estimator.STATE_VALUES)
    assert not np.any(turn_advantages([alone, other], credit))
    # From c three of four continuations succeed: to go on to d threw that away.
    found = turn_advantages([alone, other], credit, continued={("g", "c"): [1.0, 1.0, 1.0]})
    scale = np.std([0, 0, 1, 1, 1], ddof=1)
    assert found[0] == pytest.approx([0, 0, 0], abs=1e-5)
    assert found[1] == pytest.approx([0.75 / scale, -0.75 / scale, 0], abs=1e-5)


def test_potential_terms_cancel_over_an_episode() -> None:
    """So an episode's shaped rewards sum up to its own, less where it began: the best policy stays the best."""
    [earned, _] = advantages(Estimator.PROGRESS, potential=0.8)
    assert sum(earned) == pytest.approx(RIGHT.total - 0.8 * RIGHT.progress[0])
    [to_go, _] = advantages(Estimator.PROGRESS, potential=0.8, trace=1.0)
    assert to_go == pytest.approx([1 - 0.8 * each for each in RIGHT.progress])


STATES = st.lists(st.sampled_from(["", "x", "y", "z"]), min_size=1, max_size=5)
WAYS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0]), STATES), min_size=1, max_size=9)


@given(rows=WAYS, seed=st.integers(0, 99), estimator=st.sampled_from(Estimator), trace=st.sampled_from([0, 0.5, 1]))
def test_the_order_of_a_batch_changes_nothing(
    rows: list[tuple[str, float, list[str]]], seed: int, estimator: Estimator, trace: float
) -> None:
    ways = [
        Way(group=group, total=total, states=tuple(states), progress=tuple(0.1 * turn for turn in range(len(states))))
        for group, total, states in rows
    ]
    order = random.Random(seed).sample(range(len(ways)), len(ways))
    credit = Credit(estimator=estimator, trace=trace)
    straight, shuffled = turn_advantages(ways, credit), turn_advantages([ways[place] for place in order], credit)
    assert [len(each) for each in straight] == [len(way.states) for way in ways]
    for found, place in zip(shuffled, order, strict=True):
        assert found == pytest.approx(straight[place], abs=1e-6)


@given(
    tokens=st.lists(st.lists(st.integers(1, 9), max_size=4), max_size=6).filter(any),
    per=st.sampled_from(list(Per)),
    groups=st.lists(st.sampled_from("ab"), min_size=6, max_size=6),
)
def test_weights_sum_up_as_declared(tokens: list[list[int]], per: Per, groups: list[str]) -> None:
    groups = groups[: len(tokens)]
    factors = turn_weights(per, tokens=tokens, groups=groups)
    loss = [each * np.asarray(counts) for each, counts in zip(factors, tokens, strict=True)]
    total = sum(map(sum, tokens))
    assert sum(each.sum() for each in loss) == pytest.approx(total)
    played = [place for place, counts in enumerate(tokens) if counts]
    match per:
        case Per.TOKEN:
            assert all((each == 1).all() for each in factors)
        case Per.TURN:
            shares = np.concatenate(loss)
            assert shares == pytest.approx(np.full(len(shares), total / len(shares)))
        case Per.EPISODE:
            assert [loss[place].sum() for place in played] == pytest.approx([total / len(played)] * len(played))
        case Per.GROUP:
            own = {groups[place] for place in played}
            for group in own:
                shares_of = [loss[place].sum() for place in played if groups[place] == group]
                assert sum(shares_of) == pytest.approx(total / len(own))
                assert shares_of == pytest.approx([shares_of[0]] * len(shares_of))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="2 figures of progress for 3 turns"):
        Way(group="g", total=0.0, states=("a", "b", "c"), progress=(0.0, 1.0))
    with pytest.raises(ValueError, match="1 episodes for 2 group labels"):
        turn_weights(Per.TURN, tokens=[[1]], groups="ab")
    with pytest.raises(ValueError, match="without sampled tokens"):
        turn_weights(Per.TURN, tokens=[[0]], groups="a")
    section = {"estimator": "grpo", "per": "line", "discount": 1, "step_weight": 1, "trace": 0, "potential": 1}
    with pytest.raises(ValueError, match=r"rlfactory\.credit\.per=line is none of: token, turn, episode, group"):
        CreditSettings.from_config(section)
