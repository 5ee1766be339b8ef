"""Verdicts mean what they say: a slice of what `python -m benchmarks.trust` tries in full."""

from __future__ import annotations

import pytest

from benchmarks.trust import alternatives, damage, mutants
from benchmarks.trust.check import Size
from benchmarks.trust.plans import Act, effect
from benchmarks.trust.things import File, Value
from rlfactory.envs.tasks.suites import default_registry

REGISTRY = default_registry()
GOALS = ("clock.move_alarm", "contacts.change_number", "compound.wifi_off_and_alarm", "notes.append", "files.move")


@pytest.mark.parametrize("name", GOALS)
def test_a_mutant_is_judged_as_its_parameters_say(name: str) -> None:
    tally, faults = mutants.try_goal((name, 0, "train", Size(sample=1)))
    assert faults == []
    assert tally.wrong >= mutants.SAMPLED_PER_GOAL // 2


@pytest.mark.parametrize("name", GOALS)
def test_another_way_that_a_person_would_take_is_accepted(name: str) -> None:
    tried, refused = alternatives.tried((name, 0, "train", Size(sample=1)))
    assert refused == []
    assert tried >= alternatives.CASES_PER_SAMPLE


def test_whatever_a_control_changes_after_the_goal_spoils_the_verdict() -> None:
    found = damage.walk(REGISTRY.draw("contacts.delete", seed=0, split="train"), limit=120)
    assert isinstance(found, damage.Walk), found
    assert found.faults == []
    assert found.tried > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Value(key="global/wifi_on", value="1"), Value(key="global/wifi_on", value="0")),
        (File(path="Documents/a.md", text="x"), File(path="Documents/a.md", text="x y")),
    ],
)
def test_what_takes_the_place_of_something_does_so_once(old: Value | File, new: Value | File) -> None:
    act = Act((old,), (new,))
    assert effect([act]) == effect([act, act]) == effect([Act(come=(new,))])
    assert effect([act]) != effect([Act(gone=(old,))])
    assert effect([act, act.undone]) == effect([])
