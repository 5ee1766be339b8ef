"""Rows, context and credit: the pure parts of what a learner sees."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.envs.api.types import ImageFormat, ImageRef
from rlfactory.trainer.credit.groups import grpo_advantages
from rlfactory.trainer.episode.context import DROPPED_IMAGE, Message, RowBudget, keep_last_images
from rlfactory.trainer.episode.trajectory import Trajectory

IDS = st.lists(st.integers(0, 1000), min_size=1, max_size=6)


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=5), IDS)
def test_a_row_holds_what_was_sampled_and_nothing_else_is_learnt(
    turns: list[tuple[list[int], list[int]]], tail: list[int]
) -> None:
    trajectory = Trajectory()
    for context, sampled in turns:
        trajectory.add_context(context)
        trajectory.add_sampled(sampled, [-0.5] * len(sampled))
    trajectory.add_context(tail)
    response = trajectory.response_ids
    assert trajectory.prompt_ids == turns[0][0]
    assert trajectory.prompt_ids + response + tail == trajectory.token_ids
    assert len(response) == len(trajectory.response_mask) == len(trajectory.response_log_probs)
    learnt = [token for token, mask in zip(response, trajectory.response_mask, strict=True) if mask]
    assert learnt == [token for _, sampled in turns for token in sampled]
    assert [trajectory.token_ids[start:end] for start, end in trajectory.sampled_spans] == [s for _, s in turns]
    assert all((value == 0.0) != bool(mask) for value, mask in zip(trajectory.log_probs, trajectory.mask, strict=True))


def test_an_engine_that_does_not_account_for_its_tokens_is_refused() -> None:
    trajectory = Trajectory()
    with pytest.raises(ValueError, match="begins with a prompt"):
        trajectory.add_sampled([1], [0.0])
    trajectory.add_context([1, 2])
    with pytest.raises(ValueError, match="2 tokens and 1 log-probs"):
        trajectory.add_sampled([1, 2], [0.0])
    with pytest.raises(ValueError, match="0 tokens"):
        trajectory.add_sampled([], [])


def test_a_turn_begins_only_with_room_for_a_whole_one() -> None:
    budget = RowBudget(prompt_tokens=100, response_tokens=50, turn_tokens=20)
    assert budget.has_room(prompt=80, row=80)
    assert budget.has_room(prompt=80, row=110)
    assert not budget.has_room(prompt=80, row=111)
    with pytest.raises(ValueError, match="does not fit"):
        RowBudget(prompt_tokens=10, response_tokens=10, turn_tokens=11)


def test_only_the_last_images_stay() -> None:
    def shot(name: str) -> Message:
        image = ImageRef(data=b"", format=ImageFormat.PNG, width_px=1, height_px=1, digest=name)
        return Message(role="user", text=name, image=image)

    messages = [Message(role="system", text="s"), shot("a"), Message(role="assistant", text="x"), shot("b"), shot("c")]
    kept = keep_last_images(messages, 2)
    assert [message.image.digest for message in kept if message.image] == ["b", "c"]
    assert kept[1].text == f"{DROPPED_IMAGE}\na"
    assert keep_last_images(messages, 9) == messages
    assert not any(message.image for message in keep_last_images(messages, 0))
    with pytest.raises(ValueError, match="negative"):
        keep_last_images(messages, -1)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-5, 5)), max_size=12))
def test_advantages_are_centred_within_their_group(rows: list[tuple[str, float]]) -> None:
    groups, rewards = [group for group, _ in rows], [reward for _, reward in rows]
    advantages = grpo_advantages(rewards, groups)
    for group in set(groups):
        own = [advantage for advantage, label in zip(advantages, groups, strict=True) if label == group]
        if len(own) > 1:
            assert math.isclose(sum(own), 0.0, abs_tol=1e-3)


def test_advantages_by_hand() -> None:
    rewards, groups = [1.0, 0.0, 1.0, 1.0, 3.0], ["a", "a", "b", "b", "c"]
    assert grpo_advantages(rewards, groups) == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5), 0, 0, 0], abs=1e-5)
    assert grpo_advantages(rewards, groups, normalise_by_std=False) == pytest.approx([0.5, -0.5, 0, 0, 0])
    with pytest.raises(ValueError, match="1 rewards for 0"):
        grpo_advantages([1.0], [])
