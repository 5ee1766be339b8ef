"""What a player needs of a session, and the base of sessions that do more at each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from rlfactory.envs.api.types import Observation, Reward, SessionOptions, StepResult, ToolCall


class PlayableSession(Protocol):
    """What is played on; `rlfactory.envs.client.Session` is one."""

    @property
    def observation(self) -> Observation: ...

    @property
    def reward(self) -> Reward: ...

    @property
    def options(self) -> SessionOptions: ...

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult: ...


S_co = TypeVar("S_co", bound=PlayableSession, covariant=True)


class SessionWrapper(Generic[S_co]):
    """A session that does more at each step: subclasses override `step`."""

    def __init__(self, session: S_co) -> None:
        self.inner = session

    @property
    def observation(self) -> Observation:
        return self.inner.observation

    @property
    def reward(self) -> Reward:
        return self.inner.reward

    @property
    def options(self) -> SessionOptions:
        return self.inner.options

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        return await self.inner.step(calls, timeout_s=timeout_s)
