"""Recorded actions played again, and compared turn by turn: screen, state of the phone, reward, how it ended.

An episode's record carries its seed, options and actions, the digests of each turn, and the answers of tools that were
not deterministic. Where a replay differs first, it says what differs and why that may be.
"""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from PIL import Image, ImageChops

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import ImageRef, ResetResult, SessionOptions, StepResult, ToolCall
from rlfactory.envs.client import EnvClient, Session
from rlfactory.trainer.episode.rollout import Dropped, RolloutConfig, play
from rlfactory.trainer.episode.session import EpisodeSpec, RecordedSession
from rlfactory.trainer.record.evaluate import bounded
from rlfactory.trainer.record.reading import STILL_WORKS
from rlfactory.trainer.record.recorder import seal_of
from rlfactory.trainer.record.runlog import (
    EpisodeRecord,
    ImageLink,
    Origin,
    RunLog,
    TurnRecord,
    restored,
)

FINISH: Final = "finish"


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Where a replay first differs from its record."""

    turn: int
    """The first turn is 1; 0 is the start."""
    what: str
    """seal, goal, call, screen, state, reward or end."""
    recorded: str
    replayed: str
    why: str

    def __str__(self) -> str:
        return f"turn {self.turn}: {self.what} was {self.recorded}, is {self.replayed}: {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """One episode, played again."""

    episode: str
    task: str
    turns: int
    difference: Difference | None = None
    failure: str = ""
    """Why it could not be played; "" if it was."""
    screens: tuple[ImageRef, ...] = field(default=(), repr=False)
    """First screen and that of each turn, where they were asked for."""

    @property
    def equal(self) -> bool:
        return self.difference is None and not self.failure


def answers_of(records: Sequence[EpisodeRecord]) -> Iterator[dict[str, str]]:
    """Yield the recorded answers by the ids that `replay` gives its calls, for `rlfactory serve --answers`."""
    for record in records:
        for number, turn in enumerate(record.turns, 1):
            for index, call in enumerate(turn.calls):
                if call.status is not None and call.name not in ("phone", FINISH):
                    yield {"id": call_id(record, number, index), "status": call.status.value, "text": call.text}


def call_id(record: EpisodeRecord, turn: int, index: int) -> str:
    return f"{record.id}/{turn}/{index}"


async def replay(
    client: EnvClient,
    log: RunLog,
    records: Sequence[EpisodeRecord],
    *,
    concurrency: int = 8,
    keep_screens: bool = False,
    progress: Callable[[Replayed], None] = lambda _: None,
) -> list[Replayed]:
    """Play the records again; one of a task that the service does not have is a failure that says so."""
    offered = {task.name for task in await client.list_tasks()}
    done: list[Replayed] = []

    async def run_one(record: EpisodeRecord) -> None:
        if record.task in offered:
            outcome = await replay_one(client, log, record, keep_screens=keep_screens)
        else:
            failure = f"there is no task {record.task!r} any more; {STILL_WORKS}"
            outcome = Replayed(episode=record.id, task=record.task, turns=0, failure=failure)
        done.append(outcome)
        progress(outcome)

    makers: list[Callable[[], Awaitable[None]]] = [lambda each=each: run_one(each) for each in records]  # type: ignore[misc]
    await bounded(makers, concurrency)
    return done


async def replay_one(client: EnvClient, log: RunLog, record: EpisodeRecord, *, keep_screens: bool = False) -> Replayed:
    """Play one record to its first difference, or to its end."""
    origin = record.origin
    assert origin is not None, "`read_readable` leaves these out"
    options = replace(restored(SessionOptions, origin.options), perturb=origin.perturb, group="")
    spec = EpisodeSpec(id=record.id, task=record.task, seed=record.seed, split=record.split)
    screens: list[ImageRef] = []

    def open_session(spec: EpisodeSpec) -> Session:
        return client.session(spec.task, seed=spec.seed, split=spec.split, options=options)

    async def player(session: RecordedSession) -> Difference | None:
        screens.clear()
        compared = _Comparison(log, record, origin, session.inner.begun)
        keep = screens.append if keep_screens else lambda _: None
        if session.observation.image is not None:
            keep(session.observation.image)
        difference = compared.start()
        for number, turn in enumerate(record.turns, 1):
            if difference is not None or session.over:
                break
            difference = compared.seal(number, turn)
            if difference is None:
                result = await session.step(_calls(record, number, turn))
                if result.observation.image is not None:
                    keep(result.observation.image)
                difference = compared.turn(number, turn, result)
        return difference or compared.end(session)

    try:
        outcome = await play(spec, player, open_session=open_session, config=RolloutConfig(episode_timeout_s=3600.0))
    except TaskError as error:
        return Replayed(episode=record.id, task=record.task, turns=0, failure=str(error))
    if isinstance(outcome, Dropped):
        return Replayed(episode=record.id, task=record.task, turns=0, failure=outcome.failure)
    episode, difference = outcome
    return Replayed(
        episode=record.id,
        task=record.task,
        turns=len(episode.turns),
        difference=difference,
        screens=tuple(screens),
    )


def _calls(record: EpisodeRecord, number: int, turn: TurnRecord) -> list[ToolCall]:
    return [
        ToolCall(id=call_id(record, number, index), name=call.name, arguments=call.arguments)
        for index, call in enumerate(turn.calls)
    ]


class _Comparison:
    """Compares one episode with its record. Each method returns the first difference it finds."""

    def __init__(self, log: RunLog, record: EpisodeRecord, origin: Origin, begun: ResetResult) -> None:
        self._log, self._record, self._origin, self._begun = log, record, origin, begun

    def start(self) -> Difference | None:
        origin, begun = self._origin, self._begun
        return (
            self._differs(0, "goal", self._record.goal, begun.goal)
            or self._differs(0, "state", origin.state_hash, begun.state_hash)
            or self._screen(0, origin.screen, begun.observation.image, self._shown(0))
        )

    def seal(self, number: int, turn: TurnRecord) -> Difference | None:
        """Find actions that are not those that were sealed."""
        seal = seal_of((call.name, call.arguments) for call in turn.calls)
        if seal == turn.seal:
            return None
        why = "its actions were changed after they were recorded"
        return Difference(turn=number, what="seal", recorded=turn.seal, replayed=seal, why=why)

    def turn(self, number: int, turn: TurnRecord, result: StepResult) -> Difference | None:
        """Compare what came of a turn."""
        for call, now in zip(turn.calls, result.results, strict=True):
            found = self._differs(
                number, f"the answer of {call.name}", f"{call.status}: {call.text}", f"{now.status}: {now.text}"
            )
            if found is not None:
                return found
        return (
            self._differs(number, "state", turn.state_hash, result.state_hash)
            or self._screen(number, turn.screen, result.observation.image, self._shown(number))
            or self._differs(
                number,
                "reward",
                f"{turn.reward_total:g} (progress {turn.progress:g})",
                f"{result.reward.total:g} (progress {result.reward.progress:g})",
            )
        )

    def end(self, session: RecordedSession) -> Difference | None:
        """Compare the verdict at the end."""
        record, reward = self._record, session.reward
        number = len(session.turns)
        before = (record.reward_total, record.success, sorted(record.reward_parts.items()), record.side_effects)
        after = (reward.total, reward.success, sorted(reward.parts.items()), reward.side_effects)
        played, ended = f"{len(record.turns)} turns, {record.state}", f"{number} turns, {session.state}"
        return self._differs(number, "end", played, ended) or self._differs(number, "reward", str(before), str(after))

    def _differs(self, turn: int, what: str, recorded: str, replayed: str) -> Difference | None:
        if recorded == replayed:
            return None
        return Difference(turn=turn, what=what, recorded=recorded, replayed=replayed, why=self._why())

    def _screen(self, turn: int, recorded: str, now: ImageRef | None, shown: ImageLink | None) -> Difference | None:
        found = self._differs(turn, "screen", recorded, now.digest if now is not None else "")
        if found is None or now is None or shown is None or shown.digest != recorded:
            return found
        path = self._log.folder / shown.path
        pixels = f"{pixels_that_differ(path.read_bytes(), now.data)}; " if path.exists() else ""
        return replace(found, why=pixels + found.why)

    def _shown(self, turn: int) -> ImageLink | None:
        """Return the recorded screenshot after a turn."""
        turns = self._record.turns
        return turns[turn].image if turn < len(turns) else self._record.final_image

    def _why(self) -> str:
        origin, begun = self._origin, self._begun
        if origin.build != begun.build:
            task = ", the task's code is another" if origin.task_digest != begun.task_digest else ""
            return f"recorded by {origin.build or 'an unknown build'}, replayed by {begun.build}{task}"
        if origin.task_digest != begun.task_digest:
            return "the task's code has changed since"
        return "by the same build, so the record was changed, or something here is not deterministic"


def pixels_that_differ(before: bytes, after: bytes) -> str:
    """Say how much of two pictures differs, and where."""
    with Image.open(io.BytesIO(before)) as first, Image.open(io.BytesIO(after)) as second:
        if first.size != second.size:
            return f"{first.width}x{first.height} became {second.width}x{second.height} px"
        delta = ImageChops.difference(first.convert("RGB"), second.convert("RGB")).convert("L")
    changed = sum(delta.histogram()[1:])
    return f"{100 * changed / (delta.width * delta.height):.1f} % of the pixels differ, inside {delta.getbbox()}"
