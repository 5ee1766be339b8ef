"""The warm start: oracle episodes recorded through the service, written in the model's dialect, for verl's SFT trainer.

A demonstration is the conversation that `trainer.rollout` would have held had the model written what the oracle did.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
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


def mostly(demonstrations: Sequence[Demonstration], *, goals: str, others: float, seed: int) -> list[Demonstration]:
    """Return those whose goal matches the pattern, and so many of the others that these are the share `others`.

    A policy started on one kind of goal acts as if every goal were of that kind; the rest is left to RL.

    Raises: ValueError: the share is not within [0, 1), or no goal matches.
    """
    if not 0 <= others < 1:
        raise ValueError(f"the share of other goals must be within [0, 1), got {others}")
    wanted = [each for each in demonstrations if re.search(goals, each.goal)]
    if not wanted:
        raise ValueError(f"no goal matches {goals!r}")
    rest = [each for each in demonstrations if not re.search(goals, each.goal)]
    rng = random.Random(seed)
    return wanted + rng.sample(rest, min(len(rest), round(len(wanted) * others / (1 - others))))


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
