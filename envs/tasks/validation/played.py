"""Checks that play: the oracle, nobody at all, and one who plays what won elsewhere without looking."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rlfactory.envs.api.errors import EpisodeOver
from rlfactory.envs.api.types import MAX_CALLS, EpisodeState, SessionOptions, Split, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import OracleEpisode, play
from rlfactory.envs.tasks.registry import WORLDS, TaskRegistry
from rlfactory.envs.tasks.task import Task
from rlfactory.envs.tasks.validation.finding import Level, Rule
from rlfactory.envs.tasks.validation.static import too_often, wins_by_answer

OPTIONS: Final = SessionOptions(with_tree=True, max_pixels=20_000)
SPARE: Final = 1.5
"""The limit of turns, in calls of the oracle."""
IDLE_SEEDS: Final = range(1000, 1020)
UNSEEN: Final = SessionOptions(with_image=False, max_pixels=OPTIONS.max_pixels)
LEARNT: Final = range(3)
HELD_OUT: Final = range(2000, 2008)
MANY_HELD_OUT: Final = range(2000, 2020)
"""Where chance wins often, fewer would say little."""
OTHER_WORLDS: Final = range(2, 27)
"""In which the answer of world 1 is given."""
MAX_BLIND: Final = 0.05
DEVIATIONS: Final = 3.0
"""99.9 %: a hundred templates are asked, and none may be blamed for bad luck."""
LEAST_SECRET_CHARS: Final = 3
"""Of an answer that is looked for in what the agent is shown: shorter ones are there by chance."""


@dataclass(kw_only=True)
class Case:
    """One template, and what was played of it."""

    template: type[Task]
    registry: TaskRegistry
    client: EnvClient
    other: EnvClient
    """Of another service, in another process."""
    chance: float
    """How often one wins who does not look."""
    seen: SessionOptions = OPTIONS
    """What the oracle is shown."""
    records: dict[tuple[Split, int], OracleEpisode] = field(default_factory=dict)

    @property
    def first_split(self) -> Split:
        return self.template.splits[0]

    async def record(self, split: Split, seed: int) -> OracleEpisode:
        """Return the oracle's episode, played once. Raises: InfrastructureError, EnvironmentFault."""
        if (split, seed) not in self.records:
            self.records[split, seed] = await self._play(self.client, split, seed)
        return self.records[split, seed]

    async def _play(self, client: EnvClient, split: Split, seed: int) -> OracleEpisode:
        return await play(client, self.template.name, seed=seed, split=split, options=self.seen, registry=self.registry)

    async def again(self, split: Split, seed: int) -> OracleEpisode:
        return await self._play(self.other, split, seed)

    async def every_record(self) -> list[OracleEpisode]:
        """Return the oracle's episodes that the checks look at."""
        return [await self.record(split, seed) for split in self.template.splits for seed in range(2)]

    async def reward_of(self, moves: Sequence[ToolCall], seed: int) -> float:
        """Return what these moves earn, whatever the screen shows: in few turns, for nobody looks between them."""
        async with self.client.session(
            self.template.name, seed=seed, split=self.first_split, options=UNSEEN
        ) as session:
            for first in range(0, len(moves), MAX_CALLS):
                if session.state is not EpisodeState.RUNNING:
                    break
                try:
                    await session.step(moves[first : first + MAX_CALLS])
                except EpisodeOver:
                    break
            return session.reward.total

    async def wins_of(self, learnt: int, seeds: Iterable[int]) -> int:
        """Return how many episodes the oracle's moves of another win, played without looking."""
        record = await self.record(self.first_split, learnt)
        calls = [call for step in record.steps for call in step.calls]
        moves = [replace(call, id=str(number)) for number, call in enumerate(calls)]
        return sum([await self.reward_of(moves, seed) >= 1.0 for seed in seeds])

    async def wins_of_same_goals(self, seeds: Iterable[int]) -> int:
        """Return how many episodes the moves win, played without looking, that win the same goal in another world."""
        return sum([await self.wins_of(WORLDS + seed, (seed,)) for seed in seeds])

    @property
    def has_worlds(self) -> bool:
        """A goal is asked for in more than one world."""
        return self.template.elsewhere is not Task.elsewhere

    def too_often(self, won: int, played: int) -> bool:
        """Tell whether one who does not look wins more often than chance explains."""
        return too_often(won, played, max(MAX_BLIND, self.chance), deviations=DEVIATIONS)


async def oracle_wins(case: Case) -> str:
    for record in await case.every_record():
        where = f"{record.split} {record.seed}"
        if record.stuck:
            return f"the oracle of {where} is stuck: {record.stuck}"
        if not record.reward.success or record.reward.total < 1.0:
            effects = "; ".join(record.reward.side_effects)
            return f"the oracle of {where} earns {record.reward.total:g}{f' ({effects})' if effects else ''}"
    return ""


async def fits_the_limit(case: Case) -> str:
    calls = max(sum(len(step.calls) for step in record.steps) for record in await case.every_record())
    limit = case.template.max_turns
    return f"{calls} calls of the oracle, {limit} turns" if limit < SPARE * calls else ""


async def plays_alike(case: Case) -> str:
    one, two = await case.record(case.first_split, 0), await case.again(case.first_split, 0)
    for what, first, second in (
        ("the goal", one.goal, two.goal),
        ("the state's hash", one.state_hash, two.state_hash),
        ("the first screen", (one.first.image, one.first.tree_xml), (two.first.image, two.first.tree_xml)),
    ):
        if first != second:
            return f"{what} differs in another process"
    for number, (step, other) in enumerate(zip(one.steps, two.steps, strict=False), 1):
        seen, again = step.result.observation, other.result.observation
        if (seen.image, seen.tree_xml, step.result.reward) != (again.image, again.tree_xml, other.result.reward):
            return f"turn {number} differs in another process"
    return "" if len(one.steps) == len(two.steps) else "the oracle plays another number of turns in another process"


async def rewards_in_range(case: Case) -> str:
    for record in await case.every_record():
        for number, step in enumerate(record.steps, 1):
            reward = step.result.reward
            if not (0.0 <= reward.total <= 1.0 and 0.0 <= reward.progress <= 1.0):
                return f"turn {number} earns {reward.total:g}, its progress is {reward.progress:g}"
            if reward.total >= 1.0 and step is not record.steps[-1]:
                return f"the whole reward is paid in turn {number}, before the end"
    return ""


async def asked_twice(case: Case) -> str:
    async with case.client.session(case.template.name, seed=0, split=case.first_split, options=OPTIONS) as session:
        wait = [ToolCall(id="0", name="phone", arguments={"action": "wait", "seconds": 0})]
        calls = wait if "phone" in case.template.tools else []
        one, two = (await session.step(calls)).reward, (await session.step(calls)).reward
    if one.side_effects or two.side_effects:
        return f"side effects of nothing: {(*one.side_effects, *two.side_effects)[0]}"
    same = (one.progress, one.success) == (two.progress, two.success)
    return "" if same else f"the verdict is {one.progress:g}, then {two.progress:g}, though nothing was done"


async def looks_freely(case: Case) -> str:
    if "phone" not in case.template.tools or not case.template.apps:
        return ""
    async with case.client.session(case.template.name, seed=0, split=case.first_split, options=OPTIONS) as session:
        for app in case.template.apps:
            actions = (
                {"action": "open_app", "app": app},
                {"action": "key", "key": "BACK"},
                {"action": "key", "key": "HOME"},
            )
            calls = [ToolCall(id=str(n), name="phone", arguments=action) for n, action in enumerate(actions)]
            effects = (await session.step(calls)).reward.side_effects
            if effects:
                return f"opening {app} costs the reward: {effects[0]}"
    return ""


def answer_of(record: OracleEpisode) -> str:
    said = [call.arguments.get("answer") for step in record.steps for call in step.calls if call.name == "finish"]
    return str(said[-1] or "") if said else ""


async def keeps_its_secret(case: Case) -> str:
    for record in await case.every_record():
        answer = answer_of(record)
        shown = {
            "the goal": record.goal,
            "the first screen": f"{record.first.tree_xml} {record.first.text}",
            "what its tools say of themselves": " ".join(
                f"{tool.description} {tool.parameters}" for tool in record.tools
            ),
        }
        word = re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)", re.IGNORECASE)  # "red" is not in "required"
        for where, text in shown.items():
            if len(answer) >= LEAST_SECRET_CHARS and word.search(text):
                return f"the answer {answer!r} of {record.split} {record.seed} is in {where}"
    return ""


async def idle_loses(case: Case) -> str:
    ending = (ToolCall(id="0", name="finish", arguments={"status": "success"}),)
    won = sum([await case.reward_of(ending, seed) >= 1.0 for seed in IDLE_SEEDS])
    return f"finishing at once wins {won} of {len(IDLE_SEEDS)}" if case.too_often(won, len(IDLE_SEEDS)) else ""


async def blind_loses(case: Case) -> str:
    """Play what the oracle did for some seeds on others, without looking."""
    seeds = MANY_HELD_OUT if case.chance else HELD_OUT
    # Each on seeds of its own: what is so already in one episode is so for whoever plays it.
    won = [await case.wins_of(learnt, [seed + 100 * learnt for seed in seeds]) for learnt in LEARNT]
    for learnt, wins in zip(LEARNT, won, strict=True):
        if case.too_often(wins, len(seeds)):
            return f"what won with seed {learnt} wins {wins} of {len(seeds)} others unseen"
    played = len(seeds) * len(LEARNT)
    return f"moves of others win {sum(won)} of {played} unseen" if case.too_often(sum(won), played) else ""


async def sightless_loses(case: Case) -> str:
    """Play what the oracle did for the same goals in other worlds, without looking; give its answers in many more."""
    if not case.has_worlds:
        return ""
    seeds = MANY_HELD_OUT if case.chance else HELD_OUT
    won = await case.wins_of_same_goals(seeds)
    if case.too_often(won, len(seeds)):
        return f"the right moves of another world win {won} of {len(seeds)}"
    name, split, won, played = case.template.name, case.first_split, 0, 0
    for seed in seeds:
        if answer := answer_of(await case.record(split, WORLDS + seed)):
            drawn = (case.registry.draw(name, seed=world * WORLDS + seed, split=split) for world in OTHER_WORLDS)
            won, played = won + sum(wins_by_answer(task, answer) for task in drawn), played + len(OTHER_WORLDS)
    is_too_often = played and case.too_often(won, played)
    return f"the right answer of another world is right in {won} of {played}" if is_too_often else ""


PlayedCheck = Callable[[Case], Awaitable[str]]
PLAYED: Final[Sequence[tuple[Rule, PlayedCheck]]] = tuple(
    (Rule(name=name, level=level, what=what, mend=mend), check)
    for name, level, what, mend, check in (
        (
            *("oracle", Level.RUNTIME, "the oracle wins in every split, without side effects"),
            *("mend the oracle, or the verdict", oracle_wins),
        ),
        (
            *("limit", Level.RUNTIME, f"the oracle's calls, one a turn, fit {SPARE:g} times into the turns"),
            *("raise `max_turns`", fits_the_limit),
        ),
        (
            *("plays alike", Level.RUNTIME, "goal, state, screens and rewards are the same in another process"),
            *("take time, order and chance from the seed", plays_alike),
        ),
        (
            *("range", Level.RUNTIME, "rewards and progress are from 0 to 1, and the whole is paid at the end alone"),
            *("weigh the rubric's parts so that they add up to 1", rewards_in_range),
        ),
        (
            *("asked twice", Level.RUNTIME, "a verdict asked for twice is the same"),
            *("let `checks` read the outcome alone", asked_twice),
        ),
        (
            *("looking", Level.RUNTIME, "opening the task's apps costs nothing"),
            *("let the verdict leave out what looking changes", looks_freely),
        ),
        (
            *(
                "secret",
                Level.RUNTIME,
                "the answer is neither in the goal nor on the first screen nor in what tools say",
            ),
            *("ask for what has to be looked up", keeps_its_secret),
        ),
        (
            *("idle", Level.SEMANTIC, "finishing at once wins no more than chance"),
            *("start where something is to be done", idle_loses),
        ),
        (
            *("blind", Level.SEMANTIC, "moves that won on other seeds win no more than chance"),
            *("let start, order or layout depend on the seed", blind_loses),
        ),
        (
            *("sightless", Level.SEMANTIC, "moves that win the same goal in another world win no more than chance"),
            *("let `elsewhere` redraw start, order and layout", sightless_loses),
        ),
    )
)
