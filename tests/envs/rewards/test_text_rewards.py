"""Rules for answers, and the parts of a rubric that are made of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlfactory.envs.api.types import ToolCall, ToolResult, ToolStatus
from rlfactory.envs.rewards.rubric import Rubric, Verdict
from rlfactory.envs.rewards.text import (
    JsonShape,
    SearchR1Reward,
    answer_part,
    calls_part,
    exact_match,
    f1,
    format_part,
    length_penalty,
    matches,
    normalize,
    turns_penalty,
    verified_part,
)
from rlfactory.envs.tasks.task import Outcome, PlayedCall


def verdict(answer: str = "", *statuses: tuple[int, ToolStatus], turns: int = 1, scores=None, finished=True) -> Verdict:
    calls = tuple(
        PlayedCall(
            turn=turn,
            call=ToolCall(id="0", name="search", arguments={}),
            result=ToolResult(call_id="0", name="search", status=status),
        )
        for turn, status in statuses
    )
    outcome = Outcome(
        state={},
        initial={},
        finished=finished,
        claimed_success=finished,
        answer=answer,
        turns=turns,
        calls=calls,
        scores=scores or {},
    )
    return Verdict(success=False, progress=0, holds=(), side_effects=(), outcome=outcome)


OK, BAD = ToolStatus.OK, ToolStatus.REJECTED


def test_answers_are_compared_without_case_punctuation_articles_and_white_space():
    assert normalize("  The U.S.A.,\n a  place ") == "usa place"
    assert exact_match("the Eiffel tower!", ["Eiffel Tower", "La tour Eiffel"]) == 1
    assert exact_match("Eiffel", ["Eiffel Tower"]) == 0
    assert exact_match("The", ["a"]) == 0
    assert exact_match("", [""]) == 0


def test_f1_counts_shared_words_once():
    assert f1("the red fox", ["a red fox"]) == 1
    assert f1("red red fox", ["red fox jumps"]) == pytest.approx(2 / 3)
    assert f1("cat", ["red fox"]) == f1("", ["red"]) == f1("red", []) == 0
    assert f1("red", ["blue", "red"]) == 1


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_scores_lie_within_bounds_and_a_match_is_full_f1(answer: str, gold: str):
    assert 0 <= f1(answer, [gold]) <= 1
    if exact_match(answer, [gold]):
        assert f1(answer, [gold]) == 1


def test_patterns_match_the_whole_answer():
    assert matches(" AB-12\n", re.compile(r"[A-Z]{2}-\d+")) == 1
    assert matches("AB-12 or so", re.compile(r"[A-Z]{2}-\d+")) == 0


def test_json_answers_are_held_to_a_schema():
    shape = JsonShape({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}})
    assert shape.score('{"city": "Oslo"}') == 1
    assert shape.score('{"city": 5}') == shape.score("Oslo") == shape.score("[" * 100_000) == 0
    with pytest.raises(ValueError, match="not a JSON schema"):
        JsonShape({"type": "city"})


def test_parts_of_an_episode():
    rubric = Rubric(
        parts=(
            answer_part("exact", 1.0, lambda answer: exact_match(answer, ["Oslo"])),
            verified_part("judged", 0.5),
            format_part(0.1),
            calls_part(0.1),
            turns_penalty(-0.2, free=2, limit=6),
            length_penalty(-0.1, free=10, limit=20),
        )
    )
    played = verdict("oslo.", (1, OK), (2, BAD), (3, OK), (3, OK), turns=4, scores={"judged": 0.5})
    reward = rubric.reward(played)
    assert reward.parts == {"exact": 1, "judged": 0.5, "format": 0.5, "calls_ok": 0.75, "turns": 0.5, "length": 0}
    assert reward.total == pytest.approx(1 + 0.25 + 0.05 + 0.075 - 0.1)
    assert rubric.reward(verdict("oslo", finished=False, turns=0)).parts["exact"] == 0
    assert rubric.reward(verdict("x" * 50, turns=90)).parts["length"] == 1


@pytest.mark.parametrize("penalty", [turns_penalty, length_penalty])
def test_a_penalty_that_would_be_a_prize_is_refused(penalty):
    for weight, free, limit in ((0.1, 1, 2), (-0.1, 2, 2)):
        with pytest.raises(ValueError, match="a penalty has a weight below 0"):
            penalty(weight, free=free, limit=limit)


def test_search_r1_pays_for_being_right_and_less_for_bad_form():
    reward = SearchR1Reward(lambda answer: answer == "Oslo")
    assert reward.part.score(verdict("Oslo", (1, OK), turns=1)) == 1.0
    assert reward.score(verdict("Oslo", (2, OK), turns=2)) == 0.8  # a turn without a call
    assert reward.score(verdict("Oslo", (1, BAD), (2, OK), turns=2)) == 0.8
    assert reward.score(verdict("Bergen", (1, OK), turns=1)) == 0.0
    assert reward.score(verdict("Oslo", (1, OK), turns=1, finished=False)) == 0.0
