"""The warm start: oracle episodes recorded through the service, written in the model's dialect, for verl's SFT trainer.

A demonstration is the conversation that `episode.rollout` would have held had the model written what the oracle did.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow
import pyarrow.parquet

from rlfactory.envs.api.errors import EnvironmentFault, TaskError
from rlfactory.envs.api.types import ImageRef, Split, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import OracleStuck, solve, tasks_with
from rlfactory.trainer.dialects import Dialect, Unrenderable
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.episode.episodes import EpisodeSource
from rlfactory.trainer.episode.rollout import answer_message, opening_messages
from rlfactory.trainer.episode.session import EpisodeSpec, RecordedSession
from rlfactory.trainer.run.settings import RolloutSettings

IMAGE = "<image>"
WINDOW = 12
"""Steps of supervised learning whose mean loss says whether a lesson is learnt."""
TEXT_SESSIONS: Final = 64
"""Played at once where no phone limits them."""

_Episode = tuple[str, int, Split]
"""Task, seed, split."""
_Turns = tuple[tuple[ToolCall, ...], ...]
"""The calls of each turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Demonstration:
    """A played episode as a conversation."""

    episode: _Episode
    goal: str
    messages: tuple[Message, ...]
    calls: _Turns
    success: bool

    @property
    def task(self) -> str:
        return self.episode[0]

    @property
    def habit(self) -> tuple[ToolCall, ...] | None:
        """The calls of the turn before the last; None when the last was the only one."""
        return self.calls[-2] if len(self.calls) > 1 else None


def demonstrated_episodes(config: Any) -> list[_Episode]:
    """Return the training episodes that a recipe has its oracles play; another seed has others."""
    own = config.rlfactory
    source = EpisodeSource(
        tasks=tuple(config.data.episodes.tasks),
        split="train",
        count=own.warm_start.episodes,
        first_seed=own.warm_start.first_seed + own.seed * own.warm_start.episodes,
    )
    return source.rows()


def demonstrators_files(config: Any) -> list[Path]:
    """Return where a recipe's oracles are found, beside those that ship."""
    service = config.rlfactory.service
    return [Path(path) for path in service.tasks] if service else []


async def record(
    client: EnvClient,
    episodes: Sequence[_Episode],
    *,
    settings: RolloutSettings,
    dialect: Dialect,
    task_files: Iterable[Path] = (),
) -> list[Demonstration]:
    """Let the oracles play these episodes, as many at once as the service has phones.

    Args:
        task_files: where oracles are found beside those that ship.

    Raises:
        EnvironmentFault: an oracle did not solve its task, so there is nothing to learn from.
        TaskError: it did what the dialect has no words for.
    """
    tasks = tasks_with(task_files)

    async def play(session: RecordedSession) -> None:
        spec = session.spec
        try:
            await solve(session, task=spec.task, seed=spec.seed, split=spec.split, registry=tasks)
        except OracleStuck as error:
            raise EnvironmentFault(f"the oracle of {spec.task} is stuck at seed {spec.seed}: {error}") from error
        if not session.reward.success:
            raise EnvironmentFault(f"the oracle did not solve {spec.task} seed {spec.seed}: {session.reward}")

    return await _record(client, [(episode, play) for episode in episodes], settings=settings, dialect=dialect)


async def taught(
    client: EnvClient,
    solved: Sequence[Demonstration],
    lesson: Mapping[str, Any],
    *,
    settings: RolloutSettings,
    dialect: Dialect,
) -> list[Demonstration]:
    """Return what a lesson shows: the solved episodes, some played again as its `guesses` or its `sloppiness` say.

    Raises: ValueError: the share is not within 0..1.
    """
    kind = "guesses" if lesson.get("guesses") else "sloppiness"
    share = float(lesson.get(kind, 0.0))
    if not 0 <= share <= 1:
        raise ValueError(f"the share of {kind} must be within 0..1, got {share}")
    again = (_guesses if kind == "guesses" else _bad_habits)(solved, share)
    kept = [each for each in solved if each.episode not in again]
    plays = [(episode, _doing(*turns)) for episode, turns in again.items()]
    return kept + await _record(client, plays, settings=settings, dialect=dialect)


def _bad_habits(demonstrations: Sequence[Demonstration], share: float) -> dict[_Episode, _Turns]:
    """Return many of the episodes in which little had to be done, as somebody sloppy plays them.

    A task's habit is what its oracle does last where it has most to do. Whoever is sloppy does it also where it was not
    called for, and so fails. `share` of the episodes without the habit are played so, evenly over goals and first
    pictures: whoever imitates them most likely always acts, but to imitate them well must see where others did not.
    """
    habits = _habits(demonstrations)
    cells: dict[tuple[str, str, str], list[Demonstration]] = defaultdict(list)
    for each in demonstrations:
        if each.habit != habits[each.task]:
            cells[each.task, each.goal, _first_digest(each)].append(each)
    chosen = [each for cell in cells.values() for each in cell[: math.ceil(share * len(cell))]]
    return {each.episode: (*each.calls[:-1], habits[each.task], each.calls[-1]) for each in chosen}


def _guesses(demonstrations: Sequence[Demonstration], share: float) -> dict[_Episode, _Turns]:
    """Return this share of each task's episodes as somebody plays them who looks nothing up.

    Who guesses ends the episode at once, as was right in another episode of the task, and so mostly fails.
    """
    return {
        each.episode: (other.calls[-1],)
        for found in _by_task(demonstrations).values()
        for each, other in zip(found[: math.ceil(share * len(found))], found[1:] + found[:1], strict=False)
    }


def _by_task(demonstrations: Sequence[Demonstration]) -> dict[str, list[Demonstration]]:
    tasks: dict[str, list[Demonstration]] = defaultdict(list)
    for each in demonstrations:
        tasks[each.task].append(each)
    return tasks


def _habits(demonstrations: Sequence[Demonstration]) -> dict[str, tuple[ToolCall, ...]]:
    """Return what each task's oracle does before its last turn where it has most to do; nothing if it never acts."""
    found: dict[str, tuple[ToolCall, ...]] = {}
    for task, played in _by_task(demonstrations).items():
        longest = max(len(each.calls) for each in played)
        options = [each.habit for each in played if len(each.calls) == longest and each.habit]
        found[task] = max(options, key=options.count) if options else ()
    return found


def _first_digest(demonstration: Demonstration) -> str:
    image = demonstration.messages[1].image
    return image.digest if image else ""


_Play = Callable[[RecordedSession], Awaitable[None]]


def _doing(*turns: tuple[ToolCall, ...]) -> _Play:
    async def play(session: RecordedSession) -> None:
        for calls in turns:
            await session.step(calls)

    return play


async def _record(
    client: EnvClient,
    plays: Sequence[tuple[_Episode, _Play]],
    *,
    settings: RolloutSettings,
    dialect: Dialect,
) -> list[Demonstration]:
    status = await client.status()
    gate = asyncio.Semaphore(len(status.phones) or TEXT_SESSIONS)
    options = settings.options(dialect, with_tree=True)

    async def one(episode: _Episode, play: _Play) -> Demonstration:
        task, seed, split = episode
        async with gate, client.session(task, seed=seed, split=split, options=options) as opened:
            spec = EpisodeSpec(id=f"{task}-{seed}", task=task, seed=seed, split=split)
            session = RecordedSession(opened, spec=spec)
            first = session.observation
            await play(session)
            messages = opening_messages(dialect, session, first)
            for turn in session.turns:
                messages += [
                    Message(role="assistant", text=written(dialect, turn.calls, task)),
                    answer_message(dialect, turn),
                ]
            return Demonstration(
                episode=episode,
                goal=session.goal,
                messages=tuple(messages[:-1]),  # what was shown after the last turn answers nothing
                calls=tuple(turn.calls for turn in session.turns),
                success=session.reward.success,
            )

    return list(await asyncio.gather(*(one(*each) for each in plays)))


def written(dialect: Dialect, calls: Sequence[ToolCall], task: str) -> str:
    """Return the message in which a model would make these calls. Raises: TaskError: its dialect cannot say one."""
    try:
        return dialect.render(calls)
    except Unrenderable as error:
        raise TaskError(
            f"the oracle of {task} does what dialect {dialect.name} cannot say: {error}; "
            "let it do without, as by starting the app in setup, or choose another by rlfactory.dialect"
        ) from None


def lesson_data(folder: Path, number: int) -> Path:
    """Return where a run keeps the demonstrations of a lesson."""
    return folder / f"demonstrations-{number}.parquet"


def write_parquet(path: Path, demonstrations: Sequence[Demonstration]) -> None:
    """Write the rows that `rlfactory.trainer.verl.dataset` reads."""
    rows: list[dict[str, Any]] = [
        {"messages": [{"role": message.role, "content": _with_placeholder(message)} for message in each.messages]}
        for each in demonstrations
    ]
    if any(_images(each) for each in demonstrations):
        for row, each in zip(rows, demonstrations, strict=True):
            row["images"] = [{"bytes": image.data, "path": None} for image in _images(each)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def _with_placeholder(message: Message) -> str:
    return message.text if message.image is None else f"{IMAGE}{message.text}"


def _images(demonstration: Demonstration) -> list[ImageRef]:
    return [message.image for message in demonstration.messages if message.image is not None]
