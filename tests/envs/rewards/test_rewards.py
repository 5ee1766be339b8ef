"""Verdicts: sub-goals, side effects, and what they earn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.rubric import MAX_SIDE_EFFECTS, PROGRESS, SUCCESS, Judge, Part, Rubric
from rlfactory.envs.tasks.task import Check, Outcome, Task


@dataclass(frozen=True)
class TwoSwitches(Task):
    """Wi-Fi and Bluetooth have to be on; the clipboard may change."""

    name = "two"
    description = "Two switches"

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Task:
        return cls()

    @property
    def goal(self) -> str:
        return "Both on."

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return tuple(Check(name=key, holds=outcome.state.get(key) == "1") for key in ("g/wifi", "g/bluetooth"))

    def allowed(self) -> Sequence[str]:
        return ("g/*", "clip")

    async def solve(self, ui: object) -> None:
        raise NotImplementedError


INITIAL = {"g/wifi": "0", "g/bluetooth": "0", "files/a": "x"}


def verdict(now: dict[str, str], *, finished: bool = True, claimed: bool = True):
    outcome = Outcome(state=now, initial=INITIAL, finished=finished, claimed_success=claimed, answer="")
    return Judge(TwoSwitches()).verdict(outcome)


def test_success_needs_every_sub_goal_the_claim_and_no_side_effect():
    done = INITIAL | {"g/wifi": "1", "g/bluetooth": "1"}
    assert verdict(done).success
    assert not verdict(done, finished=False, claimed=False).success
    assert not verdict(done, claimed=False).success
    assert not verdict(done | {"files/a": "y"}).success
    assert not verdict(INITIAL | {"g/wifi": "1"}).success


def test_progress_is_the_share_of_sub_goals_whatever_else_happened():
    assert verdict(INITIAL).progress == 0.0
    half = verdict(INITIAL | {"g/wifi": "1", "files/b": "new"})
    assert half.progress == 0.5
    assert half.holds == (("g/wifi", True), ("g/bluetooth", False))


def test_side_effects_name_what_changed_from_what_to_what():
    now = {"g/wifi": "1", "g/bluetooth": "0", "files/b": "z" * 200, "clip": "c"}
    assert verdict(now).side_effects == ("files/a: x -> (none)", f"files/b: (none) -> {'z' * 77}...")


def test_many_side_effects_are_counted():
    lines = verdict(INITIAL | {f"files/{number:03}": "n" for number in range(80)}).side_effects
    assert len(lines) == MAX_SIDE_EFFECTS + 1
    assert lines[-1] == "and 30 more"


def test_a_task_that_allows_nothing_allows_nothing():
    class Strict(TwoSwitches):
        def allowed(self) -> Sequence[str]:
            return ()

    assert Judge(Strict()).side_effects(INITIAL, INITIAL | {"g/wifi": "1"}) == ("g/wifi: 0 -> 1",)


def test_the_default_rubric_pays_for_success_only_and_reports_the_rest():
    reward = Rubric().reward(verdict(INITIAL | {"g/wifi": "1"}))
    assert reward.total == 0.0
    assert dict(reward.parts) == {"success": 0.0, "progress": 0.5, "no_side_effects": 1.0}
    assert Rubric().reward(verdict(INITIAL | {"g/wifi": "1", "g/bluetooth": "1"})).total == 1.0


def test_a_rubric_weighs_its_parts():
    rubric = Rubric(parts=(SUCCESS, Part(name="half", weight=0.5, score=PROGRESS.score)))
    assert rubric.reward(verdict(INITIAL | {"g/wifi": "1"})).total == 0.25


def test_two_parts_of_one_name_are_refused():
    with pytest.raises(ValueError, match="same name"):
        Rubric(parts=(SUCCESS, SUCCESS))


def test_a_text_that_begins_like_a_record_is_shown_as_it_is() -> None:
    before, after = {"app/p/note": "{a"}, {"app/p/note": "[b"}
    assert Judge(TwoSwitches()).side_effects(before, {"app/p/note": "{b"}) == ("app/p/note: {a -> {b",)
    assert Judge(TwoSwitches()).side_effects(before, after) == ("app/p/note: {a -> [b",)


@pytest.mark.parametrize("returned", [Check(name="one", holds=True), True, [True]])
def test_what_is_no_tuple_of_checks_is_told_with_its_line(returned: object) -> None:
    class One(TwoSwitches):
        def checks(self, outcome: Outcome) -> Sequence[Check]:
            return returned  # type: ignore[return-value]

    outcome = Outcome(state=INITIAL, initial=INITIAL, finished=True, claimed_success=True, answer="")
    with pytest.raises(TypeError, match=r"test_rewards\.py:\d+: checks returns .*a tuple is wanted"):
        Judge(One()).verdict(outcome)
