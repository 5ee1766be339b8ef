"""The warm start: oracle episodes recorded through the service, written in the model's dialect, for verl's SFT trainer.

A demonstration is the conversation that `trainer.rollout` would have held had the model written what the oracle did.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow
import pyarrow.parquet

from envs.client import EnvClient, Session
from envs.errors import EnvironmentFault
from envs.oracle import OracleStuck, solve
from envs.types import ImageRef, Observation, Reward, SessionOptions, Split, StepResult, ToolCall
from trainer.context import Message
from trainer.dialects import Dialect
from trainer.settings import RolloutSettings

IMAGE = "<image>"


@dataclass(frozen=True, kw_only=True, slots=True)
class Demonstration:
    """One solved episode as a conversation."""

    task: str
    goal: str
    messages: tuple[Message, ...]


async def record(
    client: EnvClient, episodes: Sequence[tuple[str, int, Split]], *, settings: RolloutSettings, dialect: Dialect
) -> list[Demonstration]:
    """Let the oracles play these episodes, as many at once as the service has phones.

    Raises: EnvironmentFault: an oracle did not solve its task, so there is nothing to learn from.
    """
    status = await client.status()
    gate = asyncio.Semaphore(max(1, len(status.phones)))

    async def one(task: str, seed: int, split: Split) -> Demonstration:
        options = settings.options(dialect, with_tree=True)
        async with gate, client.session(task, seed=seed, split=split, options=options) as session:
            pen = _Pen(session, dialect)
            try:
                await solve(pen, task=task, seed=seed, split=split)
            except OracleStuck as error:
                raise EnvironmentFault(f"the oracle of {task} is stuck at seed {seed}: {error}") from error
            if not session.reward.success:
                raise EnvironmentFault(f"the oracle did not solve {task} seed {seed}: {session.reward}")
            return Demonstration(task=task, goal=session.goal, messages=pen.conversation)

    return list(await asyncio.gather(*(one(*episode) for episode in episodes)))


class _Pen:
    """A session that writes down what its player does, as a model of a dialect would have written it."""

    def __init__(self, session: Session, dialect: Dialect) -> None:
        image = session.observation.image
        sides = (image.width_px, image.height_px) if image else (0, 0)
        self._session = session
        self._dialect = dialect
        self._messages = [
            Message(role="system", text=dialect.system_prompt(session.tools, image_px=sides)),
            Message(role="user", text=dialect.first_message(session.goal), image=image),
        ]

    @property
    def conversation(self) -> tuple[Message, ...]:
        """Up to the last turn: what was shown after it answers nothing."""
        return tuple(self._messages[:-1])

    @property
    def observation(self) -> Observation:
        return self._session.observation

    @property
    def reward(self) -> Reward:
        return self._session.reward

    @property
    def options(self) -> SessionOptions:
        return self._session.options

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        result = await self._session.step(calls, timeout_s=timeout_s)
        self._messages += [
            Message(role="assistant", text=self._dialect.render(calls)),
            Message(role="user", text=self._dialect.next_message(result.results), image=result.observation.image),
        ]
        return result


def with_shuffled_goals(demonstrations: Sequence[Demonstration], *, dialect: Dialect, seed: int) -> list[Demonstration]:
    """Return the demonstrations with the goals of each task dealt out anew among them.

    What is done then no longer follows from goal and picture together: such demonstrations teach how to act and where,
    but not when. That is left to RL.
    """
    rng = random.Random(seed)
    by_task: dict[str, list[str]] = defaultdict(list)
    for each in demonstrations:
        by_task[each.task].append(each.goal)
    for goals in by_task.values():
        rng.shuffle(goals)
    return [_told(each, by_task[each.task].pop(), dialect) for each in demonstrations]


def _told(demonstration: Demonstration, goal: str, dialect: Dialect) -> Demonstration:
    system, first, *rest = demonstration.messages
    return replace(demonstration, goal=goal, messages=(system, replace(first, text=dialect.first_message(goal)), *rest))


def write_parquet(path: Path, demonstrations: Sequence[Demonstration]) -> None:
    """Write the rows that `trainer.verl_demonstrations` reads."""
    rows = [
        {
            "messages": [{"role": message.role, "content": _with_placeholder(message)} for message in each.messages],
            "images": [{"bytes": image.data, "path": None} for image in _images(each)],
        }
        for each in demonstrations
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def _with_placeholder(message: Message) -> str:
    return message.text if message.image is None else f"{IMAGE}{message.text}"


def _images(demonstration: Demonstration) -> list[ImageRef]:
    return [message.image for message in demonstration.messages if message.image is not None]
