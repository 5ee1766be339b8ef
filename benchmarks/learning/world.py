"""Episodes of `steps` on real phones, for a learner that is small enough to be trained many times on two cores.

A simulated phone does the same whenever the same is done, so what an action led to is remembered and not played again
on the phone; every step counts, remembered or not. Before a phone goes on from what was remembered, it catches up.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rlfactory.envs.api.session import PlayableSession, SessionWrapper
from rlfactory.envs.api.types import EpisodeState, ImageFormat, Observation, SessionOptions, StepResult, ToolCall
from rlfactory.envs.client import EnvClient, Session
from rlfactory.envs.tasks.phone.steps import STEPS_TASKS, StepsTask
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.ui_driver import UiDriver

REGISTRY: Final = TaskRegistry(STEPS_TASKS)
OPTIONS: Final = SessionOptions(image_format=ImageFormat.PNG, max_pixels=24576)
"""As the tiny model sees."""
SLOPPINESS: Final = 0.75
"""Of the demonstrator: how often it changes what is right already, as in recipe `tiny_phone`."""

Act = tuple[str, str]
"""A call: its tool, and its arguments as text."""


@dataclass(slots=True)
class Moment:
    """A phone between two turns, and what is known to follow."""

    screen: str
    state: str
    progress: float
    over: bool = False
    success: bool = False
    after: dict[int, Moment] = field(default_factory=dict)
    """By the number of the action."""

    @property
    def place(self) -> str:
        return f"{self.state} {self.screen}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A task whose episodes all begin alike."""

    task: str
    seed: int
    words: tuple[str, ...]
    """What the goal asks for, one by one."""
    start: Moment
    max_turns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """One episode as it was played."""

    prompt: Prompt
    moments: tuple[Moment, ...]
    """Before each turn."""
    actions: tuple[int, ...]
    success: bool


Choose = Callable[[Prompt, Moment], int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A turn of a demonstrator."""

    words: tuple[str, ...]
    screen: str
    call: ToolCall


class World:
    """The phones of one service."""

    def __init__(self, client: EnvClient) -> None:
        self._client = client
        self._prompts: dict[tuple[str, int], Prompt] = {}
        self._numbers: dict[Act, int] = {}
        self.calls: list[ToolCall] = []
        """The actions there are, by number: what demonstrators did."""
        self.on_phones = 0
        """Steps that were not remembered."""

    async def prompt(self, task: str, seed: int) -> Prompt:
        if (task, seed) not in self._prompts:
            async with self._client.session(task, seed=seed, options=OPTIONS) as session:
                begun = session.begun
                self._prompts[task, seed] = Prompt(
                    task=task,
                    seed=seed,
                    words=words_of(session.goal),
                    start=Moment(screen=_screen(session.observation), state=begun.state_hash, progress=begun.progress),
                    max_turns=begun.max_turns,
                )
        return self._prompts[task, seed]

    def number(self, call: ToolCall) -> int:
        """Return the number of an action; one that was never seen gets the next."""
        name: Act = (call.name, repr(dict(call.arguments)))
        if name not in self._numbers:
            self._numbers[name] = len(self.calls)
            self.calls.append(call)
        return self._numbers[name]

    async def demonstrate(self, task: str, seed: int, sloppiness: float) -> list[Shown]:
        """Let the oracle play, who so often changes what is right already."""
        drawn = REGISTRY.draw(task, seed=seed, split="train")
        assert isinstance(drawn, StepsTask)
        rng = random.Random(seed)
        believed = tuple(
            not want if rng.random() < sloppiness else start
            for want, start in zip(drawn.wanted, drawn.start, strict=True)
        )
        async with self._client.session(task, seed=seed, options=replace(OPTIONS, with_tree=True)) as session:
            watched = _Watched(session, words_of(session.goal))
            await replace(drawn, start=believed).solve(UiDriver(watched))
        return watched.shown

    async def play(self, prompt: Prompt, choose: Choose, *, begin: Sequence[int] = ()) -> Trace:
        """Play an episode to its end; from where these actions lead, as on a phone forked there."""
        moment, actions, moments = prompt.start, list(begin), []
        for action in begin:
            moments.append(moment)
            moment = moment.after[action]
        session: Session | None = None
        caught_up = 0
        try:
            while not moment.over and len(actions) < prompt.max_turns:
                action = choose(prompt, moment)
                moments.append(moment)
                actions.append(action)
                if action not in moment.after:
                    if session is None:
                        session = self._client.session(prompt.task, seed=prompt.seed, options=OPTIONS)
                        await session.__aenter__()
                    missing = [
                        replace(self.calls[number], id=str(place)) for place, number in enumerate(actions[caught_up:])
                    ]
                    reached = _moment(await session.step(missing))
                    moment.after.setdefault(action, reached)  # a sibling may have come there meanwhile
                    caught_up = len(actions)
                    self.on_phones += 1
                moment = moment.after[action]
        finally:
            if session is not None:
                await session.aclose()
        return Trace(prompt=prompt, moments=tuple(moments), actions=tuple(actions), success=moment.success)


class _Watched(SessionWrapper[PlayableSession]):
    """A demonstrator's session."""

    def __init__(self, session: PlayableSession, words: tuple[str, ...]) -> None:
        super().__init__(session)
        self._words = words
        self.shown: list[Shown] = []

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        [call] = calls
        self.shown.append(Shown(words=self._words, screen=_screen(self.observation), call=call))
        return await super().step(calls, timeout_s=timeout_s)


def words_of(goal: str) -> tuple[str, ...]:
    return tuple(goal.removeprefix("Make sure: ").removesuffix(".").split(", "))


def _screen(seen: Observation) -> str:
    assert seen.image is not None
    return seen.image.digest


def _moment(result: StepResult) -> Moment:
    return Moment(
        screen=_screen(result.observation),
        state=result.state_hash,
        progress=result.reward.progress,
        over=result.state is not EpisodeState.RUNNING,
        success=result.reward.success,
    )
