"""The episode loop: model text -> tool calls -> environment -> what the model is told next. No verl, no torch.

Blame: a malformed message is the model's mistake, and the model is told what was wrong. A failure of phone, service
or engine makes the episode void: it is played again on a fresh session and, when that fails too, dropped. It never
becomes a reward.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from rlfactory.envs.api.errors import EnvironmentFault, InfrastructureError, JudgeError, LimitExceeded, SessionNotFound
from rlfactory.envs.api.types import (
    CoordinateFrame,
    EpisodeState,
    ImageRef,
    Observation,
    Reward,
    SessionOptions,
    Split,
    StepResult,
    ToolCall,
    ToolSchema,
)
from rlfactory.trainer.dialects import Dialect, Parsed, ParseError
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.episode.conversation import Reply, RowFull

T = TypeVar("T")

VOID = (InfrastructureError, SessionNotFound, LimitExceeded, EnvironmentFault, JudgeError)
"""What makes an episode void instead of failed; `EngineFailed` and `DeadlinePassed` are infrastructure too."""


class EngineFailed(InfrastructureError):
    """The engine gave no answer."""

    reason = "ENGINE"


class DeadlinePassed(InfrastructureError):
    """Engine or environment took longer than allowed."""

    reason = "DEADLINE"


class Session(Protocol):
    """What the loop needs of `rlfactory.envs.client.Session`."""

    @property
    def goal(self) -> str: ...
    @property
    def tools(self) -> tuple[ToolSchema, ...]: ...
    @property
    def observation(self) -> Observation: ...
    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult: ...


class Conversation(Protocol):
    """The model's side of one episode."""

    async def reply(self, messages: Sequence[Message]) -> Reply: ...


OpenSession = Callable[["EpisodeSpec"], AbstractAsyncContextManager[Session]]
C = TypeVar("C", bound=Conversation)


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeSpec:
    """What is to be played."""

    id: str
    task: str
    seed: int
    split: Split
    group: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutConfig:
    """Deadlines in seconds, and how often a void episode is played again."""

    generate_timeout_s: float = 120.0
    reset_timeout_s: float = 120.0
    step_timeout_s: float = 30.0
    episode_timeout_s: float = 600.0
    infra_retries: int = 2

    def __post_init__(self) -> None:
        for name in ("generate_timeout_s", "reset_timeout_s", "step_timeout_s", "episode_timeout_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        if self.infra_retries < 0:
            raise ValueError(f"infra_retries must not be negative, got {self.infra_retries}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One turn as it was played."""

    seen: Observation
    reply: Reply
    parsed: Parsed | None
    parse_error: str
    result: StepResult
    frame: CoordinateFrame
    """Of the coordinates in the calls."""
    generate_s: float
    env_s: float


@dataclass(slots=True)
class Clock:
    """When the episode waited for what: (start, end) by `time.time`, comparable over processes of one host."""

    env: list[tuple[float, float]] = field(default_factory=list)
    generate: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """An episode with a verdict."""

    spec: EpisodeSpec
    goal: str
    turns: tuple[Turn, ...]
    final: Observation
    state: EpisodeState
    reward: Reward
    clock: Clock
    infra_retries: int

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
    *,
    open_session: OpenSession,
    start_conversation: Callable[[], C],
    dialect: Dialect,
    config: RolloutConfig,
) -> tuple[Played, C] | Dropped:
    """Play one episode to its verdict, on fresh sessions as often as the config allows."""
    clock = Clock()
    for attempt in range(config.infra_retries + 1):
        conversation = start_conversation()
        episode = _Episode(spec, conversation, dialect, config, clock, attempt)
        try:
            async with asyncio.timeout(config.episode_timeout_s):
                return await episode.play(open_session), conversation
        except VOID as error:
            failure = f"{type(error).__name__}: {error}"
        except TimeoutError:
            failure = f"DeadlinePassed: the episode took longer than {config.episode_timeout_s:g} s"
    return Dropped(spec=spec, failure=failure, clock=clock, infra_retries=config.infra_retries)


class _Episode:
    """One attempt."""

    def __init__(
        self,
        spec: EpisodeSpec,
        conversation: Conversation,
        dialect: Dialect,
        config: RolloutConfig,
        clock: Clock,
        attempt: int,
    ) -> None:
        self._spec = spec
        self._conversation = conversation
        self._dialect = dialect
        self._config = config
        self._clock = clock
        self._attempt = attempt
        self._turns: list[Turn] = []

    async def play(self, open_session: OpenSession) -> Played:
        manager = open_session(self._spec)
        session = await _timed(self._clock.env, manager.__aenter__(), self._config.reset_timeout_s, "reset")
        try:
            state, reward = await self._turns_of(session)
            return Played(
                spec=self._spec,
                goal=session.goal,
                turns=tuple(self._turns),
                final=session.observation,
                state=state,
                reward=reward,
                clock=self._clock,
                infra_retries=self._attempt,
            )
        finally:
            await manager.__aexit__(None, None, None)

    async def _turns_of(self, session: Session) -> tuple[EpisodeState, Reward]:
        messages = self._opening(session)
        reward = Reward()
        while True:
            started = time.perf_counter()
            try:
                reply = await self._generate(messages)
            except RowFull:
                return EpisodeState.TRUNCATED, reward
            generated = time.perf_counter()
            turn = await self._act(session, reply, generated - started)
            self._turns.append(turn)
            reward = turn.result.reward
            if turn.result.state is not EpisodeState.RUNNING:
                return turn.result.state, reward
            messages = [self._answer(turn)]

    async def _generate(self, messages: Sequence[Message]) -> Reply:
        limit_s = self._config.generate_timeout_s
        try:
            return await _timed(self._clock.generate, self._conversation.reply(messages), limit_s, "generate")
        except (RowFull, *VOID):
            raise
        except Exception as error:
            raise EngineFailed(f"{type(error).__name__}: {error}") from error

    async def _act(self, session: Session, reply: Reply, generate_s: float) -> Turn:
        parsed, problem = self._parse(reply)
        seen = session.observation
        started = time.perf_counter()
        # A malformed message is a turn without a call: nothing is done, and the turn counts.
        calls = parsed.calls if parsed else ()
        limit_s = self._config.step_timeout_s
        result = await _timed(self._clock.env, session.step(calls, timeout_s=limit_s), 2 * limit_s + 10, "step")
        return Turn(
            seen=seen,
            reply=reply,
            parsed=parsed,
            parse_error=problem,
            result=result,
            frame=self._dialect.frame,
            generate_s=generate_s,
            env_s=time.perf_counter() - started,
        )

    def _parse(self, reply: Reply) -> tuple[Parsed | None, str]:
        if not reply.complete:
            return None, f"your message was cut off after {len(reply.token_ids)} tokens; be shorter"
        try:
            written = reply.model_text if self._dialect.special_tokens else reply.text
            return self._dialect.parse(written), ""
        except ParseError as error:
            return None, str(error)

    def _opening(self, session: Session) -> list[Message]:
        image = session.observation.image
        sides = (image.width_px, image.height_px) if image else (0, 0)
        text = self._dialect.first_message(session.goal)
        return [
            Message(role="system", text=self._dialect.system_prompt(session.tools, image_px=sides)),
            _told(session.observation, text, image),
        ]

    def _answer(self, turn: Turn) -> Message:
        seen = turn.result.observation
        if turn.parse_error:
            return _told(seen, self._dialect.error_message(ParseError(turn.parse_error)), seen.image)
        return _told(seen, self._dialect.next_message(turn.result.results), seen.image)


def _told(observation: Observation, text: str, image: ImageRef | None) -> Message:
    return Message(role="user", text="\n".join(part for part in (observation.text, text) if part), image=image)


async def _timed(spans: list[tuple[float, float]], work: Awaitable[T], limit_s: float, what: str) -> T:
    started = time.time()
    try:
        async with asyncio.timeout(limit_s):
            return await work
    except TimeoutError:
        raise DeadlinePassed(f"{what} took longer than {limit_s:g} s") from None
    finally:
        spans.append((started, time.time()))


def session_options(dialect: Dialect, options: SessionOptions) -> SessionOptions:
    """Return the options with the dialect's coordinate frame and image multiple."""
    return replace(options, coordinates=dialect.frame, multiple_px=dialect.multiple_px)
