"""An episode's session as its player has it: each turn is kept as it was played, and sight may be taken away.

A player steps it as it would a session, and never learns whether the screenshots it gets are blanked.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.api.session import SessionWrapper
from rlfactory.envs.api.types import (
    CoordinateFrame,
    EpisodeState,
    ImageRef,
    Observation,
    Split,
    StepResult,
    ToolCall,
    ToolSchema,
)
from rlfactory.trainer.episode.conversation import Reply

if TYPE_CHECKING:
    from rlfactory.envs.client import Session

T = TypeVar("T")

BLANK_GREY = 128
STEP_SLACK_S = 10.0
"""Beyond a step's own limit, at which the service ends it: the answer may be lost once and asked for again."""
NOTHING_WRITTEN = Reply(text="", complete=True)


class DeadlinePassed(InfrastructureError):
    """Engine or environment took longer than allowed."""

    reason = "DEADLINE"


class Ablation(StrEnum):
    """What is taken from the player to see whether it needs it."""

    IMAGE = "image"
    """Screenshots become plain grey pictures of the same size."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeSpec:
    """What is to be played."""

    id: str
    task: str
    seed: int
    split: Split
    group: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One turn as it was played; what a model wrote for it is empty where the player is none."""

    seen: Observation
    calls: tuple[ToolCall, ...]
    result: StepResult
    frame: CoordinateFrame
    """Of the coordinates in the calls."""
    env_s: float
    reply: Reply = NOTHING_WRITTEN
    thought: str = ""
    parse_error: str = ""
    generate_s: float = 0.0


@dataclass(slots=True)
class Clock:
    """When the episode waited for what: (start, end) by `time.time`, comparable over processes of one host."""

    env: list[tuple[float, float]] = field(default_factory=list)
    generate: list[tuple[float, float]] = field(default_factory=list)

    @property
    def wall_s(self) -> float:
        spans = [*self.env, *self.generate]
        return max(end for _, end in spans) - min(start for start, _ in spans) if spans else 0.0


async def timed(spans: list[tuple[float, float]], work: Awaitable[T], limit_s: float, what: str) -> T:
    """Await the work and add its span. Raises: DeadlinePassed."""
    started = time.time()
    try:
        async with asyncio.timeout(limit_s):
            return await work
    except TimeoutError:
        raise DeadlinePassed(f"{what} took longer than {limit_s:g} s") from None
    finally:
        spans.append((started, time.time()))


class RecordedSession(SessionWrapper["Session"]):
    """A session that keeps its turns."""

    def __init__(
        self, session: Session, *, spec: EpisodeSpec, clock: Clock | None = None, ablation: Ablation | None = None
    ) -> None:
        super().__init__(session)
        self.spec = spec
        self.clock = clock or Clock()
        self.turns: list[Turn] = []
        self.failure = ""
        """Why the player gave up; "" if it did not."""
        self._ablation = ablation

    @property
    def observation(self) -> Observation:
        """The latest, as the player may see it."""
        observation = self.inner.observation
        if self._ablation is Ablation.IMAGE and observation.image is not None:
            return replace(observation, image=blanked(observation.image))
        return observation

    @property
    def goal(self) -> str:
        return self.inner.goal

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        return self.inner.tools

    @property
    def over(self) -> bool:
        return self.inner.over

    @property
    def state(self) -> EpisodeState:
        """How the episode ended; one that its player leaves while it runs is truncated."""
        return self.inner.state if self.over else EpisodeState.TRUNCATED

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        """Step the session and keep the turn; see `rlfactory.envs.client.Session.step`.

        Raises: DeadlinePassed: the service has not answered `STEP_SLACK_S` after the step's limit.
        """
        seen, limit_s = self.observation, timeout_s or self.options.step_timeout_s
        started = time.perf_counter()
        stepping = self.inner.step(calls, timeout_s=limit_s)
        result = await timed(self.clock.env, stepping, limit_s + STEP_SLACK_S, "step")
        env_s = time.perf_counter() - started
        frame = self.options.coordinates
        self.turns.append(Turn(seen=seen, calls=tuple(calls), result=result, frame=frame, env_s=env_s))
        return result

    def wrote(self, reply: Reply, *, thought: str, parse_error: str, generate_s: float) -> Turn:
        """Add to the last turn what a model wrote for it, and return the turn."""
        self.turns[-1] = replace(
            self.turns[-1], reply=reply, thought=thought, parse_error=parse_error, generate_s=generate_s
        )
        return self.turns[-1]


def blanked(image: ImageRef) -> ImageRef:
    """Return a plain grey picture of the same size and format."""
    from PIL import Image

    buffer = io.BytesIO()
    grey = Image.new("RGB", (image.width_px, image.height_px), (BLANK_GREY,) * 3)
    grey.save(buffer, image.format.value.upper(), quality=80)
    data = buffer.getvalue()
    return replace(image, data=data, digest=hashlib.blake2b(data, digest_size=16).hexdigest())
