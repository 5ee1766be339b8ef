"""Other ways to fulfil a goal that a person would take: other spellings, wordings, detours undone, time that passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from benchmarks.trust.check import Check, Finding, Size, in_processes
from benchmarks.trust.mutants import ALICE, SEEDS, goals
from benchmarks.trust.plans import Act, Plan, plan_of
from benchmarks.trust.stage import Stage
from benchmarks.trust.things import TABLES, Alarm, City, File, Joined, Made, Paired, Person, Thing, Timer, Value
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.rubric import Judge
from rlfactory.envs.tasks.math_code.tasks import MathTask
from rlfactory.envs.tasks.phone.reading import NOTES_FOLDER
from rlfactory.envs.tasks.search_qa.question import TypedQuestion
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.task import Outcome

CASES_PER_SAMPLE: Final = 10
PACKAGES: Final = (
    *("com.android.settings", "com.google.android.contacts", "com.google.android.deskclock"),
    *("net.gsantner.markor", "com.google.android.documentsui"),
)
DETOURS: Final[tuple[Thing, ...]] = (
    Person(name="Nobody Known", number="415-555-0199"),
    Alarm(time="04:44"),
    Timer(seconds=4_440),
    File(path=f"{NOTES_FOLDER}/scrap.md", text="x"),
    File(path="Music/scrap.txt", text="x"),
    File(path="Pictures/scrap/"),
    City(name="Oslo"),
    Paired(name="Car Audio"),
    *(Made(kind=kind) for kind in TABLES),
)
"""Made, and taken away again."""
QUESTIONS: Final = (TypedQuestion, MathTask)
"""What is asked without a phone, and has one answer in words."""
WAITS_S: Final = (60, 600, 3_600, 86_400)


def spellings(thing: Thing) -> Iterator[Thing]:
    """Yield what a person would take for the same thing."""
    match thing:
        case Person():
            area, exchange, line = thing.number.split("-")
            for number in (
                *(f"{area}{exchange}{line}", f"({area}) {exchange}-{line}", f"{area}.{exchange}.{line}"),
                *(f"{area} {exchange} {line}", f"+1 {thing.number}", f"+1{area}{exchange}{line}"),
            ):
                yield replace(thing, number=number)
            yield replace(thing, name=thing.name.lower())
            yield replace(thing, name=thing.name.upper())
        case Alarm(label=label) if label:
            for other in (label.lower(), label.upper(), f"{label} ", f" {label}"):
                yield replace(thing, label=other)
        case File() if thing.path.startswith(NOTES_FOLDER) and not thing.path.endswith("/"):
            text = thing.text.rstrip("\n")
            for other in (
                *(f"{text}\n", f"{text}\n\n", f"{text} ", f"\n{text}", text.replace("\n", "\n\n"), text.lower()),
                *(text.replace("\n", " \n"), text.replace(" ", "  ")),
            ):
                yield replace(thing, text=other)
        case _:
            return


def _kept(old: Thing, new: Thing) -> bool:
    """Tell whether one is the other, moved or switched: then its text or label stays as it was."""
    match old, new:
        case File(), File():
            return old.text == new.text
        case Alarm(), Alarm():
            return old.time == new.time
        case _:
            return False


def _pressed_twice(phone: Phone) -> Iterator[Act]:
    """Yield settings flipped and flipped back."""
    for namespace in ("system", "secure", "global"):
        for name, value in phone.state.settings.items(namespace):
            if value in {"0", "1"} and "airplane" not in name:
                there = Value(key=f"{namespace}/{name}", value="10"[int(value)])
                yield Act((), (there, Value(key=there.key, value=value)))


def wordings(answer: str) -> Iterator[str]:
    """Yield what a person would take for the same answer."""
    for form in ("{}.", " {}\n", "**{}**", '"{}"', "`{}`", "“{}”", "The answer is {}.", "Answer: {}", "It is {}."):
        yield form.format(answer)
    yield answer.lower()
    yield answer.upper()


def ways(plan: Plan, phone: Phone) -> Iterator[tuple[str, tuple[Act, ...]]]:
    """Yield other ways to carry out a plan, as acts."""
    for index, act in enumerate(plan.acts):
        for at, thing in enumerate(act.come):
            if act.gone and _kept(act.gone[0], thing):
                continue
            for other in spellings(thing):
                come = (*act.come[:at], other, *act.come[at + 1 :])
                yield f"spelled {other}", (*plan.acts[:index], replace(act, come=come), *plan.acts[index + 1 :])
    for thing in DETOURS:
        detour = Act(come=(thing,)), Act(gone=(thing,))
        yield f"{thing} made and taken away before", (*detour, *plan.acts)
        yield f"{thing} made and taken away after", (*plan.acts, *detour)
    renamed = replace(ALICE, name="Alicia Moreno")
    yield "a contact renamed and named back", (*plan.acts, Act((ALICE,), (renamed,)), Act((renamed,), (ALICE,)))
    away, home = Joined(ssid="CoffeeHouse Guest"), Joined(ssid="AndroidWifi")
    yield "a network joined and left again", (*plan.acts, Act((), (away,)), Act((away,), (home,)))
    for act in list(_pressed_twice(phone))[::4]:
        yield f"{act.come[1]} changed and changed back", (*plan.acts, act)


def _waits(phone: Phone, seconds: int) -> None:
    """Let time pass as an agent would: a minute at a time."""
    for _ in range(min(seconds // 60, 60)):
        phone.advance(60_000)
    phone.advance(max(0, seconds - 3_600) * 1000)


def tried(case: tuple[str, int, Split, Size]) -> tuple[int, list[str]]:
    """Return how many other ways one goal was fulfilled, and those that were refused."""
    name, seed, split, size = case
    stage = Stage(default_registry().draw(name, seed=seed, split=split))
    phone, refused, count = stage.phone, list[str](), 0
    plan = plan_of(stage.task, phone)
    if plan is None:
        return 0, [f"{name}: nobody has written down what fulfils it (benchmarks/trust/plans.py)"]

    def judge(how: str, answer: str = plan.answer) -> None:
        nonlocal count
        count += 1
        verdict = stage.verdict(answer=answer, foreground=shown)
        if not verdict.success:
            why = [goal for goal, holds in verdict.holds if not holds] + list(verdict.side_effects)
            refused.append(f"{name}: refused: {how}: {why}")

    stage.rehearse(plan.acts)
    shown = phone.foreground
    share = size.of_a_goal(CASES_PER_SAMPLE)
    for how, acts in share.of(list(ways(plan, phone))):
        if stage.play(acts):
            judge(how)
    for seconds in share.of(WAITS_S):
        stage.play(plan.acts)
        _waits(phone, seconds)
        judge(f"{seconds} s passed")
    for package in share.of(PACKAGES):
        stage.play(plan.acts)
        phone.system.open_app(package)
        phone.key("BACK")
        judge(f"{package} opened")
    stage.play(plan.acts)
    for answer in wordings(plan.answer) if plan.answer else ():
        judge(f"the answer {answer!r}", answer)
    return count, refused


def worded(case: tuple[str, int, Split, Size]) -> tuple[int, list[str]]:
    """Return in how many ways one question was answered right, and those that were refused."""
    name, seed, split, size = case
    task = default_registry().draw(name, seed=seed, split=split)
    assert isinstance(task, QUESTIONS)
    right = str(task.answer if isinstance(task, TypedQuestion) else task.problem.answer)
    judge, given = Judge(task), size.of_a_goal(CASES_PER_SAMPLE).of(list(wordings(right)))
    verdicts = [
        judge.verdict(Outcome(state={}, initial={}, finished=True, claimed_success=True, answer=answer, turns=1))
        for answer in given
    ]
    refused = [said for said, verdict in zip(given, verdicts, strict=True) if not verdict.success]
    return len(given), [f"{name}: refused: the answer {said!r}" for said in refused]


def run(size: Size) -> Finding:
    registry, share = default_registry(), size.share(CASES_PER_SAMPLE)
    questions = [task for task in registry if issubclass(task, QUESTIONS)]
    asked = [(task.name, seed, split) for seed in range(SEEDS) for task in questions for split in task.splits]
    found = in_processes(tried, [(*case, size) for case in share.of(goals(registry))])
    found += [worded((*case, size)) for case in share.of(asked)]
    refused = [fault for _, faults in found for fault in faults]
    figures = {"alternatives": sum(number for number, _ in found), "refused": len(refused)}
    return Finding(figures=figures, faults=refused)


CHECK: Final = Check(
    name="alternatives",
    what="Of other ways to fulfil a goal, or to word an answer, that a person would take (`alternatives`), none is "
    "refused (`refused`).",
    run=run,
)
