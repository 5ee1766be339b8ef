"""Mutants of what fulfils a goal: an act left out, doubled, done to another thing, with a near-miss value, done and
undone, another goal's, or more than asked. Whether a mutant fulfils the goal follows from the parameters alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from scipy.stats import beta

from benchmarks.trust.check import Check, Finding, Size, in_processes
from benchmarks.trust.plans import Act, Plan, changes, effect, plan_of
from benchmarks.trust.stage import Stage
from benchmarks.trust.things import (
    TABLES,
    Alarm,
    AppData,
    City,
    File,
    Joined,
    Made,
    Paired,
    Person,
    Stopwatch,
    Timer,
)
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry

SUITES: Final = ("phone", "mixed", "tiny")
SEEDS: Final = 3
"""Goals of each template and split."""
SAMPLED_PER_GOAL: Final = 12
CONFIDENCE: Final = 0.95
ALICE: Final = Person(name="Alice Moreno", number="+1 415-555-0132", email="alice.moreno@example.com")
PRIYA: Final = Person(name="Priya Raman", number="+1 415-555-0147")
"""Two of those whom a new phone knows."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """Another way to play a goal."""

    how: str
    acts: tuple[Act, ...]
    answer: str
    right: bool
    """It fulfils the goal."""


def more_than_asked(phone: Phone) -> Iterator[tuple[str, Act]]:
    """Yield acts that no goal asks for and that change this phone, and how each is called."""
    for person in (ALICE, PRIYA):
        for changed in person.near():
            yield f"{person.name} becomes {changed}", Act((person,), (changed,))
        yield f"{person.name} deleted", Act(gone=(person,))
        yield f"{person.name} doubled", Act(come=(person,))
    yield "a contact without number", Act(come=(Person(name="Nobody Known", number=""),))
    yield "an alarm more", Act(come=(Alarm(time="04:44"),))
    yield "an alarm more that is off", Act(come=(Alarm(time="04:44", on=False),))
    yield "a timer more", Act(come=(Timer(seconds=4_440),))
    yield "a stopwatch started", Act(come=(Stopwatch(running=True, laps=5),))
    yield "a city", Act(come=(City(name="Oslo"),))
    yield "a car paired", Act(come=(Paired(name="Car Audio"),))
    yield "a network joined", Act(come=(Joined(ssid="CoffeeHouse Guest"),))
    yield "a network forgotten", Act(gone=(Joined(ssid="AndroidWifi"),))
    for package in ("net.gsantner.markor", "com.google.android.contacts"):
        yield f"the data of {package} cleared", Act(gone=(AppData(package=package),))
    for kind in TABLES:
        yield f"a {kind} made", Act(come=(Made(kind=kind),))
    for path in ("Documents/Markor/extra.md", "Music/extra.txt", "Pictures/extra/"):
        yield f"{path} made", Act(come=(File(path=path, text="x"),))
    for path in ("Music/field_recording.wav", "Pictures/sunset_pier.png"):
        yield f"{path} deleted", Act(gone=(File(path=path),))
    for key, value in (
        ("secure/notification_history_enabled", "1"),
        ("system/volume_ring", "0"),
        ("system/font_scale", "1.3"),
        ("secure/notifications_enabled:net.gsantner.markor", "0"),
        ("global/data_saver_enabled", "1"),
        ("system/ringtone", "Argon"),
    ):
        for act in changes(phone, {key: value}):
            yield f"{key} set to {value}", act


def _variants(plan: Plan) -> Iterator[tuple[str, tuple[Act, ...]]]:
    """Yield other sequences of acts, and what was done to the right one."""
    acts = plan.acts
    if len(acts) > 1:
        yield "as it should be, in another order", tuple(reversed(acts))
    for index, act in enumerate(acts):
        before, after = acts[:index], acts[index + 1 :]
        yield "an act left out", (*before, *after)
        yield "an act doubled", (*before, act, act, *after)
        yield "an act done three times", (*before, act, act, act, *after)
        yield "done and undone", (*acts, act.undone)
        yield "done, undone and done again", (*before, act, act.undone, act, *after)
        if act.gone and act.come:
            yield "only what was to go went", (*before, Act(gone=act.gone), *after)
            yield "only what was to come came", (*before, Act(come=act.come), *after)
        for at, thing in enumerate(act.come):
            for near in thing.near():
                come = (*act.come[:at], near, *act.come[at + 1 :])
                yield f"a near miss: {near}", (*before, replace(act, come=come), *after)
                yield f"a near miss beside it: {near}", (*acts, Act(come=(near,)))
        yield from _on_others(plan, before, act, after)


def _on_others(
    plan: Plan, before: tuple[Act, ...], act: Act, after: tuple[Act, ...]
) -> Iterator[tuple[str, tuple[Act, ...]]]:
    """Yield the act done to bystanders of the same kind, in its place and beside it."""
    for own in act.gone:
        for other in plan.bystanders:
            if type(other) is type(own):
                gone = tuple(other if thing is own else thing for thing in act.gone)
                yield f"done to {other} instead", (*before, replace(act, gone=gone), *after)
                yield f"done to {other}, too", (*before, act, Act(gone=(other,)), *after)
    for other in plan.bystanders:
        if act.come and type(other) is type(act.come[0]):
            yield f"{other} replaced by it", (*before, act, Act(gone=(other,)), *after)


def _with_bystanders(plan: Plan) -> Iterator[tuple[str, tuple[Act, ...]]]:
    """Yield the right acts with something done to bystanders."""
    for other in plan.bystanders:
        yield f"{other} deleted", (*plan.acts, Act(gone=(other,)))
        if other.several:
            yield f"{other} doubled", (*plan.acts, Act(come=(other,)))
        changed = list(other.near())
        for near in changed:
            yield f"{other} becomes {near}", (*plan.acts, Act((other,), (near,)))
        if changed and not plan.by_times:
            there, back = Act((other,), (changed[0],)), Act((changed[0],), (other,))
            yield f"{other} changed and changed back", (*plan.acts, there, back)


def mutants_of(plan: Plan, sibling: Plan | None, phone: Phone) -> Iterator[Mutant]:
    """Yield the mutants of a plan for a phone; `sibling` is that of another goal of its template."""
    wanted = effect(plan.acts)

    def mutant(how: str, acts: tuple[Act, ...], answer: str = plan.answer) -> Mutant:
        return Mutant(how=how, acts=acts, answer=answer, right=effect(acts) == wanted and answer == plan.answer)

    yield mutant("as it should be", plan.acts)
    for how, acts in (*_variants(plan), *_with_bystanders(plan)):
        yield mutant(how, acts)
    for how, act in more_than_asked(phone):
        yield mutant(f"more than asked: {how}", (*plan.acts, act))
    yield mutant("more than asked, and undone", (*plan.acts, Act(come=(PRIYA,)), Act(gone=(PRIYA,))))
    if plan.answer:
        for other in (f"{plan.answer}1", plan.answer[:-1], "", "I do not know"):
            yield mutant(f"the answer {other!r}", plan.acts, other)
    if sibling is not None:
        yield mutant("what another goal asks for", sibling.acts, sibling.answer)
        yield mutant("another goal's, too", (*plan.acts, *sibling.acts))


@dataclass(kw_only=True)
class Tally:
    tried: int = 0
    wrong: int = 0
    right: int = 0
    accepted: int = 0
    """Of the wrong ones."""
    refused: int = 0
    """Of the right ones."""

    @classmethod
    def of(cls, parts: Iterable[Tally]) -> Tally:
        total = cls()
        for part in parts:
            for each in fields(cls):
                setattr(total, each.name, getattr(total, each.name) + getattr(part, each.name))
        return total

    def add(self, mutant: Mutant, *, success: bool) -> None:
        self.tried += 1
        self.right += mutant.right
        self.wrong += not mutant.right
        self.accepted += success and not mutant.right
        self.refused += mutant.right and not success


def try_goal(case: tuple[str, int, Split, Size]) -> tuple[Tally, list[str]]:
    """Try the mutants of one goal (template, seed, split); return the faults found beside the tally."""
    name, seed, split, size = case
    registry, tally, faults = default_registry(), Tally(), list[str]()
    stage = Stage(registry.draw(name, seed=seed, split=split))
    plan = plan_of(stage.task, stage.phone)
    if plan is None:
        return tally, [f"{name}: nobody has written down what fulfils it (benchmarks/trust/plans.py)"]
    sibling = plan_of(registry.draw(name, seed=seed + 1_000, split=split), stage.phone)
    stage.rehearse(plan.acts)
    share = size.of_a_goal(SAMPLED_PER_GOAL)
    for mutant in share.of(list(mutants_of(plan, sibling, stage.phone))):
        if not stage.play(mutant.acts):
            continue
        verdict = stage.verdict(answer=mutant.answer)
        tally.add(mutant, success=verdict.success)
        if verdict.success != mutant.right:
            said = "refused" if mutant.right else "accepted"
            why = [goal for goal, holds in verdict.holds if not holds] + list(verdict.side_effects)
            faults.append(f"{name}: {said}: {mutant.how} {why if mutant.right else ''}")
    return tally, faults


def goals(registry: TaskRegistry, suites: Sequence[str] = SUITES) -> list[tuple[str, int, Split]]:
    """Return (template, seed, split) of what is tried, seed by seed."""
    templates = [task for task in registry if task.suite in suites]
    return [(task.name, seed, split) for seed in range(SEEDS) for task in templates for split in task.splits]


def upper_bound(found: int, tried: int) -> float:
    """Return the upper end of the Clopper-Pearson interval (95 %) of a share."""
    if found >= tried:
        return 1.0
    return round(float(beta.ppf((1 + CONFIDENCE) / 2, found + 1, tried - found)), 6)


def run(size: Size) -> Finding:
    cases = size.share(SAMPLED_PER_GOAL).of(goals(default_registry()))
    found = in_processes(try_goal, [(*case, size) for case in cases])
    tally, faults = Tally.of(each for each, _ in found), [fault for _, faults in found for fault in faults]
    figures = {
        "mutants": tally.tried,
        "false_accepts": tally.accepted,
        "false_rejects": tally.refused,
        "false_accepts_at_most": upper_bound(tally.accepted, tally.wrong),
        "false_rejects_at_most": upper_bound(tally.refused, tally.right),
    }
    return Finding(figures=figures, faults=faults)


CHECK: Final = Check(
    name="mutants",
    what="Of `mutants` of what fulfils a goal, none is taken for right (`false_accepts`) or wrong (`false_rejects`) "
    "that is not; the shares are, with 95 % confidence, at most `..._at_most`.",
    run=run,
)
