"""The episode loop: model text -> tool calls -> environment -> what the model is told next. No verl, no torch.

Blame: a malformed message is the model's mistake, and the model is told what was wrong. A failure of phone, service
or engine makes the episode void: it is played again on a fresh session and, when that fails too, dropped. It never
becomes a reward. `play` does this for every player: a model in training, and whatever policy is evaluated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from rlfactory.envs.api import tracing
from rlfactory.envs.api.errors import (
    EnvironmentFault,
    InfrastructureError,
    JudgeError,
    LimitExceeded,
    SessionNotFound,
    TaskError,
)
from rlfactory.envs.api.types import MAX_CALLS, EpisodeState, Observation, ResetResult, Reward, SessionOptions
from rlfactory.trainer.dialects import Dialect, Parsed, ParseError
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.episode.conversation import Reply, RowFull
from rlfactory.trainer.episode.session import (
    Ablation,
    Clock,
    DeadlinePassed,
    EpisodeSpec,
    RecordedSession,
    Turn,
    timed,
)

if TYPE_CHECKING:
    from rlfactory.envs.client import Session

VOID = (InfrastructureError, SessionNotFound, LimitExceeded, EnvironmentFault, JudgeError)
"""What makes an episode void instead of failed; `EngineFailed` and `DeadlinePassed` are infrastructure too."""
RETRY_PAUSE_S = 0.2
"""Before the first retry, growing with each: a service that is replacing a phone needs a moment."""


class EngineFailed(InfrastructureError):
    """The engine gave no answer."""

    reason = "ENGINE"


class Conversation(Protocol):
    """The model's side of one episode."""

    async def reply(self, messages: Sequence[Message]) -> Reply:
        """Tell the model these messages and return its next turn.

        Raises:
            RowFull: there is no room for another turn.
            TaskError: the model will never answer. Whatever else is raised makes the episode void.
        """
        ...


OpenSession = Callable[[EpisodeSpec], AbstractAsyncContextManager["Session"]]
T = TypeVar("T")
C = TypeVar("C", bound=Conversation)


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutConfig:
    """Deadlines in seconds, and how often a void episode is played again."""

    generate_timeout_s: float = 120.0
    reset_timeout_s: float = 120.0
    step_timeout_s: float = 30.0
    """Goes into the options of the sessions that training asks for."""
    episode_timeout_s: float = 600.0
    """Of an episode with all its attempts, so that it bounds a batch."""
    infra_retries: int = 2
    retry_within_s: float = 60.0
    """A void episode is played again only as long after its beginning: what hung costs an episode, not the batch."""

    def __post_init__(self) -> None:
        limits = ("generate_timeout_s", "reset_timeout_s", "step_timeout_s", "episode_timeout_s", "retry_within_s")
        for name in limits:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        if self.infra_retries < 0:
            raise ValueError(f"infra_retries must not be negative, got {self.infra_retries}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """An episode with a verdict."""

    spec: EpisodeSpec
    goal: str
    turns: tuple[Turn, ...]
    final: Observation
    state: EpisodeState
    reward: Reward
    clock: Clock
    infra_retries: int
    options: SessionOptions
    begun: ResetResult
    failure: str = ""
    """Why the player gave up; "" if it did not."""

    @property
    def malformed(self) -> int:
        return sum(bool(turn.parse_error) for turn in self.turns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """An episode that has no verdict, because phone, service or engine failed each time."""

    spec: EpisodeSpec
    failure: str
    clock: Clock
    infra_retries: int


async def play(
    spec: EpisodeSpec,
    player: Callable[[RecordedSession], Awaitable[T]],
    *,
    open_session: OpenSession,
    config: RolloutConfig,
    ablation: Ablation | None = None,
) -> tuple[Episode, T] | Dropped:
    """Play one episode to its verdict, on fresh sessions as often as the config allows.

    Returns: the episode with what its player returned, or why there is no verdict.
    Raises: whatever the player raises that does not make an episode void.
    """
    clock = Clock()
    begun_s = asyncio.get_running_loop().time()
    for attempt in range(config.infra_retries + 1):
        await asyncio.sleep(RETRY_PAUSE_S * attempt)
        try:
            with tracing.root("rl.episode", rl__task__name=spec.task, rl__episode__id=spec.id):
                async with asyncio.timeout_at(begun_s + config.episode_timeout_s):
                    return await _attempt(spec, player, open_session(spec), config, clock, attempt, ablation)
        except VOID as error:
            failure = f"{error.reason}: {error}"
        except TimeoutError:
            failure = f"{DeadlinePassed.reason}: the episode took longer than {config.episode_timeout_s:g} s"
        if asyncio.get_running_loop().time() - begun_s >= min(config.retry_within_s, config.episode_timeout_s):
            break
    return Dropped(spec=spec, failure=failure, clock=clock, infra_retries=attempt)


async def _attempt(
    spec: EpisodeSpec,
    player: Callable[[RecordedSession], Awaitable[T]],
    opening: AbstractAsyncContextManager[Session],
    config: RolloutConfig,
    clock: Clock,
    attempt: int,
    ablation: Ablation | None,
) -> tuple[Episode, T]:
    opened = await timed(clock.env, opening.__aenter__(), config.reset_timeout_s, "reset")
    try:
        session = RecordedSession(opened, spec=spec, clock=clock, ablation=ablation)
        outcome = await player(session)
        episode = Episode(
            spec=spec,
            goal=session.goal,
            turns=tuple(session.turns),
            final=session.observation,
            state=session.state,
            reward=session.reward,
            clock=clock,
            infra_retries=attempt,
            options=opened.options,
            begun=opened.begun,
            failure=session.failure,
        )
        return episode, outcome
    finally:
        await opening.__aexit__(None, None, None)


async def converse(session: RecordedSession, conversation: C, dialect: Dialect, *, generate_timeout_s: float) -> C:
    """Let a model play the session until the episode or its row ends; return its conversation."""
    messages = opening_messages(dialect, session, session.observation)
    while True:
        with tracing.part("rl.turn", rl__turn=len(session.turns)):
            started = time.perf_counter()
            try:
                reply = await _generate(session, conversation, messages, generate_timeout_s)
            except RowFull:
                return conversation
            generate_s = time.perf_counter() - started
            parsed, problem = _parse(dialect, reply)
            # A malformed message is a turn without a call: nothing is done, and the turn counts.
            await session.step(parsed.calls)
        turn = session.wrote(reply, thought=parsed.thought, parse_error=problem, generate_s=generate_s)
        if session.over:
            return conversation
        messages = [answer_message(dialect, turn)]


async def _generate(
    session: RecordedSession, conversation: Conversation, messages: Sequence[Message], limit_s: float
) -> Reply:
    try:
        with tracing.part("generate", gen_ai__operation__name="chat"):
            return await timed(session.clock.generate, conversation.reply(messages), limit_s, "generate")
    except (RowFull, TaskError, *VOID):
        raise
    except Exception as error:
        raise EngineFailed(f"{type(error).__name__}: {error}") from error


def _parse(dialect: Dialect, reply: Reply) -> tuple[Parsed, str]:
    nothing = Parsed(calls=())
    if not reply.complete:
        return nothing, f"your message was cut off after {len(reply.token_ids)} tokens; be shorter"
    try:
        parsed = dialect.parse(reply.model_text if dialect.special_tokens else reply.text)
    except ParseError as error:
        return nothing, str(error)
    if len(parsed.calls) > MAX_CALLS:  # a service would refuse the step, and a model could void what it is losing
        return nothing, f"your message has {len(parsed.calls)} calls; at most {MAX_CALLS} are made in one turn"
    return parsed, ""


def note_of(dialect: Dialect) -> Callable[[Reply], str]:
    """Return what reads a turn's note to its own writer: what stands before its calls."""
    return lambda reply: _parse(dialect, reply)[0].thought


def opening_messages(dialect: Dialect, session: RecordedSession, first: Observation) -> list[Message]:
    """Return what a model is told before its first turn."""
    sides = (first.image.width_px, first.image.height_px) if first.image else (0, 0)
    system = Message(role="system", text=dialect.system_prompt(session.tools, image_px=sides))
    return [system, _told(first, dialect.first_message(session.goal))]


def answer_message(dialect: Dialect, turn: Turn) -> Message:
    """Return what a model is told after a turn."""
    if turn.parse_error:
        return _told(turn.result.observation, dialect.error_message(ParseError(turn.parse_error)))
    return _told(turn.result.observation, dialect.next_message(turn.result.results))


def _told(seen: Observation, text: str) -> Message:
    return Message(role="user", text="\n".join(part for part in (seen.text, text) if part), image=seen.image)


def session_options(dialect: Dialect, options: SessionOptions) -> SessionOptions:
    """Return the options with the dialect's coordinate frame and image multiple."""
    return replace(options, coordinates=dialect.frame, multiple_px=dialect.multiple_px)
