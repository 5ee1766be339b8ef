"""Episodes played by the tasks' own solutions, over the public session API.

`solve` plays a session that somebody else holds and records; `play` plays an episode of its own and returns its record.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rlfactory.envs.api.errors import EpisodeOver, RLFactoryError
from rlfactory.envs.api.session import PlayableSession, SessionWrapper
from rlfactory.envs.api.types import (
    EpisodeState,
    Observation,
    Reward,
    SessionOptions,
    Split,
    StepResult,
    ToolCall,
    ToolSchema,
)
from rlfactory.envs.client import EnvClient
from rlfactory.envs.tasks.file import add_installed_tasks, add_tasks
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver
from rlfactory.user_code import line_of, told_with_line

__all__ = ["OracleEpisode", "OracleStuck", "RecordedStep", "UiDriver", "play", "solve", "tasks_with"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedStep:
    """One turn: what the agent called, and what came of it."""

    calls: tuple[ToolCall, ...]
    result: StepResult


@dataclass(frozen=True, kw_only=True, slots=True)
class OracleEpisode:
    """A played episode."""

    task: str
    seed: int
    split: Split
    goal: str
    state_hash: str
    tools: tuple[ToolSchema, ...] = ()
    first: Observation
    steps: tuple[RecordedStep, ...]
    reward: Reward
    state: EpisodeState
    wall_s: float
    stuck: str
    """Why the oracle gave up; "" if it played to its end."""


def tasks_with(files: Iterable[Path]) -> TaskRegistry:
    """Return the tasks that ship with RLFactory, those of installed packages, and those of these files.

    Raises: TaskError: a file cannot be imported, defines no task, or one whose name is taken.
    """
    registry = default_registry()
    add_installed_tasks(registry)
    for path in files:
        add_tasks(registry, path)
    return registry


def names_in(files: Iterable[Path]) -> tuple[str, ...]:
    """Return the names of the tasks that files define. Raises: TaskError: as `tasks_with`."""
    registry = TaskRegistry()
    for path in files:
        add_tasks(registry, path)
    return tuple(task.name for task in registry)


async def solve(
    session: PlayableSession, *, task: str, seed: int, split: Split, registry: TaskRegistry | None = None
) -> None:
    """Play a session of (task, seed, split) by the task's oracle, to its end.

    Args:
        session: begun, with the UI tree (`SessionOptions.with_tree`).
        registry: where the task is found; by default what ships with RLFactory.

    Raises:
        UnknownName: the registry has no such task.
        OracleStuck: the screen does not show what the oracle looks for, the turns ran out, its code failed, or it ended
            without `finish` and so without success.
        InfrastructureError, EnvironmentFault: the episode is void.
    """
    drawn = (registry or default_registry()).draw(task, seed=seed, split=split)
    driver = UiDriver(session)
    try:
        await drawn.solve(driver)
    except EpisodeOver as error:
        raise OracleStuck(f"the oracle of {task} wants another turn: {error}") from error
    except (OracleStuck, RLFactoryError):
        raise
    except Exception as error:
        raise OracleStuck(f"the oracle of {task} failed: {told_with_line(error)}") from error
    if driver.state is not EpisodeState.FINISHED and not driver.reward.success:
        where = line_of(type(drawn).solve)
        raise OracleStuck(f"the oracle of {task} ended without `await ui.finish()`, so it earns nothing ({where})")


async def play(
    client: EnvClient,
    task: str,
    *,
    seed: int,
    split: Split = "train",
    options: SessionOptions | None = None,
    registry: TaskRegistry | None = None,
) -> OracleEpisode:
    """Play one episode by the task's oracle and return its record; an oracle that is stuck is part of the record.

    Raises: InfrastructureError, EnvironmentFault: the episode is void, there is nothing to record.
    """
    started = time.perf_counter()
    options = replace(options or SessionOptions(), with_tree=True)
    async with client.session(task, seed=seed, split=split, options=options) as session:
        first = session.observation
        recorder = _Recorder(session)
        stuck = ""
        try:
            await solve(recorder, task=task, seed=seed, split=split, registry=registry)
        except OracleStuck as error:
            stuck = str(error)
        return OracleEpisode(
            task=task,
            seed=seed,
            split=split,
            goal=session.goal,
            state_hash=session.state_hash,
            tools=session.tools,
            first=first,
            steps=tuple(recorder.steps),
            reward=session.reward,
            state=session.state,
            wall_s=time.perf_counter() - started,
            stuck=stuck,
        )


class _Recorder(SessionWrapper[PlayableSession]):
    """A session that keeps what was played."""

    def __init__(self, session: PlayableSession) -> None:
        super().__init__(session)
        self.steps: list[RecordedStep] = []

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        result = await super().step(calls, timeout_s=timeout_s)
        self.steps.append(RecordedStep(calls=tuple(calls), result=result))
        return result
