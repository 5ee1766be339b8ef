"""Checks that spoil what the oracle did: controls used after the goal, acts left out or done twice, wrong answers.

Whether something was spoiled is told by the hash of the phone's state, whatever the task allows; then the verdict has
to tell it, too. `benchmarks.trust` tries far more, and looks inside the phone.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from rlfactory.emulators.device.ui import UiNode, from_xml
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import JSON, MAX_CALLS, SessionOptions, ToolCall, ToolStatus
from rlfactory.envs.client import Session
from rlfactory.envs.tasks.text2sql.base import Text2SqlTask
from rlfactory.envs.tasks.validation.finding import Level, Rule
from rlfactory.envs.tasks.validation.played import Case, PlayedCheck

OPTIONS: Final = SessionOptions(with_image=False, with_tree=True)
CONTROLS: Final = 32
"""Used after a goal, at most."""
MUTANTS: Final = 24
"""Of the oracle's acts, at most."""
MAX_DEPTH: Final = 4
"""Taps from an app's first page."""
ALIKE: Final = 2
"""Screens of one layout, and controls of one kind on a screen, that are tried."""
TYPED: Final = "zq"
BACK: Final = "Navigate up"
"""What apps call the button that leads to where one was."""
NOT_THE_APP: Final = ("com.android.systemui", "com.android.inputmethod.latin")


def _phone(action: str, **arguments: JSON) -> ToolCall:
    return ToolCall(id="", name="phone", arguments={"action": action, **arguments})


HOME: Final = _phone("key", key="HOME")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """An episode that was played to its end in as few turns as there may be."""

    state_hash: str
    wins: bool


async def _play(session: Session, calls: Sequence[ToolCall]) -> bool:
    """Carry out calls in as few turns as there may be; tell whether all were."""
    done = True
    for first in range(0, len(calls), MAX_CALLS):
        if session.over:
            return False
        share = [replace(call, id=str(number)) for number, call in enumerate(calls[first : first + MAX_CALLS])]
        results = (await session.step(share)).results
        done = done and all(result.status is ToolStatus.OK for result in results)
    return done


async def _screen_after(origin: Session, calls: Sequence[ToolCall]) -> UiNode:
    (fork,) = await origin.fork(1)
    async with fork as session:
        await _play(session, calls)
        return from_xml(session.observation.tree_xml)


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """What the oracle did, and how an episode is ended from wherever one is."""

    begun: Session
    """Nothing is done in it yet."""
    moves: Sequence[ToolCall]
    """All but the last."""
    finish: ToolCall
    back: Sequence[ToolCall] = ()
    """Calls from the home screen to where one has to be at the end."""

    @property
    def answer(self) -> str:
        return str(self.finish.arguments.get("answer", ""))

    async def ended(self, calls: Sequence[ToolCall], *, answer: str | None = None) -> Ended | None:
        """Do something in a fork of the session, go home, and finish; None: some of it cannot be carried out.

        The state is that on the home screen, for what is open is part of it.
        """
        finish = self.finish
        if answer is not None:
            finish = replace(finish, arguments={**finish.arguments, "answer": answer})
        state_hash, wins = "", False
        home = (HOME,) if self.begun.observation.width_px else ()
        for back in ((), self.back)[: 1 + bool(self.back)]:
            (fork,) = await self.begun.fork(1)
            async with fork as session:
                if not await _play(session, (*calls, *home, *back, finish)):
                    return None
                state_hash, wins = state_hash or session.last_hash, session.reward.total >= 1.0
        return Ended(state_hash=state_hash, wins=wins)


@asynccontextmanager
async def _goal(case: Case) -> AsyncIterator[tuple[Goal, Ended] | None]:
    """Begin an episode that the oracle wins, and tell how it ends; None: the oracle does not win."""
    record = await case.record(case.first_split, 0)
    calls = [call for step in record.steps for call in step.calls]
    if not record.reward.success:
        yield None
        return
    *moves, finish = calls
    opened = [call for call in moves if call.arguments.get("action") == "open_app"]
    async with case.client.session(case.template.name, seed=0, split=case.first_split, options=OPTIONS) as begun:
        for back in ((), opened[-1:]):  # some goals say where to be at the end
            goal = Goal(begun=begun, moves=moves, finish=finish, back=back)
            ended = await goal.ended(moves)
            if ended is not None and ended.wins:
                yield goal, ended
                return
    raise TaskError("the oracle's moves do not win when they are played at once, from the home screen")


# --- after the goal --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """How one gets to a screen, by calls and in words."""

    calls: Sequence[ToolCall]
    words: str
    again: ToolCall | None = None
    """What undoes the last call, where that is a switch or a box to tick."""

    def then(self, node: UiNode, how: str) -> Way:
        point: JSON = list(node.bounds.center)
        calls = [_phone("long_press" if how == "hold" else "tap", coordinate=point)]
        calls += [_phone("type", text=TYPED)] if how == "type" else []
        return Way(
            calls=(*self.calls, *calls),
            words=f"{self.words} > {how} {_label(node)!r}",
            again=calls[0] if node.checkable and how == "tap" else None,
        )


def _label(node: UiNode) -> str:
    words = [part.text or part.description for part in node.walk() if part.text or part.description]
    return (words or [node.resource_id.rpartition("/")[2] or node.class_name])[0]


@dataclass(kw_only=True)
class _Walk:
    """The screens and controls that were seen after a goal."""

    rng: random.Random
    screens: Counter[int] = field(default_factory=Counter)

    def next_of(self, ways: list[Way]) -> Way:
        """Take one: a switch where there is one, else any, near or far."""
        chosen = next((way for way in ways if way.again), None) or self.rng.choice(ways)
        ways.remove(chosen)
        return chosen

    def onward(self, tree: UiNode, way: Way) -> list[Way]:
        """Return what there is to do on a screen, in random order; nothing on one more of its kind."""
        nodes = [node for node in tree.walk() if node.package not in NOT_THE_APP and node.description != BACK]
        kinds = Counter[tuple[str, str, str]]()
        kind = hash(frozenset((node.package, node.resource_id, node.class_name) for node in nodes))
        self.screens[kind] += 1
        if self.screens[kind] > ALIKE:
            return []
        self.rng.shuffle(nodes)
        found = []
        for node in nodes:
            is_field = node.class_name.endswith("EditText")
            ways = {"type": is_field, "tap": node.clickable, "hold": node.long_clickable}
            for how in [how for how, there in ways.items() if there and node.enabled and (how == "type") == is_field]:
                kinds[node.resource_id, node.class_name, how] += 1
                if kinds[node.resource_id, node.class_name, how] <= ALIKE:
                    found.append(way.then(node, how))
        return found


async def controls_spoil(case: Case) -> str:
    """Use controls of the task's apps after the goal; whatever they change has to spoil it, and nothing else."""
    if "phone" not in case.template.tools:
        return ""
    async with _goal(case) as found:
        if found is None:
            return ""
        goal, reached = found
        await _play(goal.begun, goal.moves)
        walk = _Walk(rng=random.Random(case.template.name))
        opened = [str(call.arguments["app"]) for call in goal.moves if call.arguments.get("action") == "open_app"]
        ways = [Way(calls=(_phone("wait", seconds=2),), words="waiting")]
        ways += [
            Way(calls=(_phone("open_app", app=app),), words=app)
            for app in dict.fromkeys((*case.template.apps, *opened))
        ]
        for _ in range(CONTROLS):
            if not ways:
                break
            way = walk.next_of(ways)
            ended = await goal.ended(way.calls)
            if ended is None:
                continue
            changed = ended.state_hash != reached.state_hash
            # Where one has to be somewhere at the end, to have gone elsewhere is a reason to lose.
            if changed == ended.wins and (changed or not goal.back):
                return _said(way.words, changed=changed)
            if not changed and len(way.calls) <= MAX_DEPTH:
                ways += walk.onward(await _screen_after(goal.begun, way.calls), way)
            if changed and way.again is not None:
                undone = await goal.ended((*way.calls, way.again))
                if undone is not None and not undone.wins and undone.state_hash == reached.state_hash:
                    return _said(f"{way.words}, twice", changed=False)
    return ""


def _said(words: str, *, changed: bool) -> str:
    if changed:
        return f"after the goal, {words} changes the phone, and the episode is still won"
    return f"after the goal, {words} changes nothing, and the episode is lost"


# --- instead of the goal ---------------------------------------------------------------------------------------------


def _mutants(moves: Sequence[ToolCall]) -> Iterator[tuple[str, Sequence[ToolCall]]]:
    """Yield what the oracle might have done instead, in words and as calls."""
    for number, call in enumerate(moves):
        what = f"call {number + 1} ({', '.join(map(str, call.arguments.values()))})"
        yield f"without {what}", (*moves[:number], *moves[number + 1 :])
        yield f"with {what} twice", (*moves[: number + 1], *moves[number:])


def near_misses(answer: str) -> Iterator[str]:
    """Yield answers that a person would not take for this one; of a structure, none."""
    if re.fullmatch(r"\d+", answer):
        yield from (str(int(answer) + 1), f"-{answer}", f"{answer}0", f"{answer} {int(answer) + 1}")
    elif answer and answer[0] not in "[{":
        yield f"{answer} xyz"


async def mutants_lose(case: Case) -> str:
    """Leave out acts of the oracle, or do them twice; give answers near its own."""
    async with _goal(case) as found:
        if found is None:
            return ""
        goal, reached = found
        # An alias after a query changes nothing; its mutants are those of `queries`.
        near = () if issubclass(case.template, Text2SqlTask) else near_misses(goal.answer)
        for answer in near:
            ended = await goal.ended(goal.moves, answer=answer)
            if ended is not None and ended.wins:
                return f"the answer {answer!r} is taken, where {goal.answer!r} is right"
        mutants = list(_mutants(goal.moves)) if reached.state_hash else []
        random.Random(case.template.name).shuffle(mutants)
        for words, calls in mutants[:MUTANTS]:
            ended = await goal.ended(calls)
            if ended is not None and ended.wins and ended.state_hash != reached.state_hash:
                return f"the oracle's moves of {case.first_split} 0 {words} end in another state, and win"
    return ""


SPOILED: Final[Sequence[tuple[Rule, PlayedCheck]]] = (
    (
        Rule(
            name="damage",
            level=Level.SEMANTIC,
            what="a control used after the goal costs the reward if it changes anything, and else does not",
            mend="let `allowed` name no more than the goal changes",
        ),
        controls_spoil,
    ),
    (
        Rule(
            name="mutants",
            level=Level.SEMANTIC,
            what="acts left out or doubled, and answers nearly right, do not win",
            mend="let `checks` compare all that the goal asks for",
        ),
        mutants_lose,
    ),
)
