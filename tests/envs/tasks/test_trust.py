"""Verdicts mean what they say: a slice of what `python -m benchmarks.trust` tries in full."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.trust import alternatives, damage, mutants
from benchmarks.trust.blind import MAX_BLIND
from benchmarks.trust.check import Size
from benchmarks.trust.plans import Act, effect, plan_of
from benchmarks.trust.stage import Stage
from benchmarks.trust.things import File, Stopwatch, Value
from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.envs.tasks.phone.clock import PauseStopwatch, StartStopwatch
from rlfactory.envs.tasks.phone.wants import same_number
from rlfactory.envs.tasks.registry import WORLDS
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.task import Outcome

REGISTRY = default_registry()
GOALS = ("clock.move_alarm", "contacts.change_number", "compound.wifi_off_and_alarm", "tiny.dialog", "files.move")


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


@pytest.mark.parametrize("name", ["contacts.delete", "steps.turns16_decisions4"])
def test_whatever_a_control_changes_after_the_goal_spoils_the_verdict(name: str) -> None:
    found = damage.walk(REGISTRY.draw(name, seed=0, split="train"), limit=60)
    assert isinstance(found, damage.Walk), found
    assert found.faults == []
    assert found.tried > 0


def test_the_answer_in_another_world_is_seldom_the_right_one() -> None:
    phone, pairs = Phone(PhoneConfig()), 150
    shares = {}
    for template in (each for each in REGISTRY if each.suite == "phone"):
        right = 0
        for seed in range(pairs):
            drawn = (REGISTRY.draw(template.name, seed=seed + n * WORLDS, split=template.splits[0]) for n in (1, 2))
            task, plan = next(drawn), plan_of(next(drawn), phone)
            if plan is None or not plan.answer:
                break
            told = Outcome(state={}, initial={}, finished=True, claimed_success=True, answer=plan.answer)
            right += all(check.holds for check in task.checks(told))
        else:
            shares[template.name] = right / pairs
    assert len(shares) >= 6
    assert {name: share for name, share in shares.items() if share > MAX_BLIND} == {}


def test_who_calls_somebody_after_the_goal_has_not_won() -> None:
    stage = Stage(REGISTRY.draw("contacts.find_number", seed=0, split="train"))
    plan = plan_of(stage.task, stage.phone)
    assert plan is not None and stage.verdict(answer=plan.answer).success
    stage.phone.system.send(Intent(action="android.intent.action.CALL", data="tel:+1 404-555-0132"))
    stage.phone.key("HOME")
    verdict = stage.verdict(answer=plan.answer)
    assert not verdict.success
    assert [effect.partition(":")[0] for effect in verdict.side_effects] == [
        "app/com.android.providers.contacts/calls/1"
    ]


@pytest.mark.parametrize("written", ["- 404-555-0132", "404-555-0132 -", "++404-555-0132", "404-555-0132 xyz"])
def test_a_number_with_something_beside_it_is_not_that_number(written: str) -> None:
    assert not same_number(written, "404-555-0132")
    assert same_number("+1 (404) 555.0132", "404-555-0132")


@pytest.mark.parametrize("already", [False, True])
@pytest.mark.parametrize(("template", "running"), [(StartStopwatch, True), (PauseStopwatch, False)])
def test_a_stopwatch_that_was_reset_has_lost_its_time(
    template: type[StartStopwatch], running: bool, already: bool
) -> None:
    drawn = REGISTRY.draw(template.name, seed=0, split="test")
    assert isinstance(drawn, template)
    stage = Stage(replace(drawn, already=already))
    for reset in (False, True):
        assert stage.play([Act(come=(Stopwatch(running=running, reset=reset),))])
        assert stage.verdict().success is not reset


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
