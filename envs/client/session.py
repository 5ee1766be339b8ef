"""One episode as its player sees it, over an `EnvClient`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from rlfactory.envs.api.errors import InfrastructureError, RLFactoryError, SessionNotFound
from rlfactory.envs.api.types import (
    EpisodeState,
    Observation,
    ResetResult,
    Reward,
    SessionOptions,
    Split,
    StepResult,
    ToolCall,
    ToolSchema,
)

if TYPE_CHECKING:
    from rlfactory.envs.client import EnvClient


class Session:
    """One episode as its player sees it. Counts seq, renews the lease in the background, closes at the end."""

    def __init__(
        self,
        client: EnvClient,
        *,
        task: str,
        seed: int,
        split: Split,
        options: SessionOptions,
        begun: ResetResult | None = None,
        parent: Session | None = None,
    ) -> None:
        """Use `EnvClient.session` or `Session.fork`."""
        self.task = task
        self.seed = seed
        self.split = split
        self.options = options
        self._client = client
        self._begun = begun
        self._renewal: asyncio.Task[None] | None = None
        self._closed = False
        self.seq: int = parent.seq if parent else 0
        """The seq of the last step."""
        self.reward: Reward = parent.reward if parent else Reward()
        self.last_hash: str = parent.last_hash if parent else ""
        """Of the phone's state after the last step; "" in text-only tasks."""
        self.gained = 0.0
        """What the last step raised the total by."""
        self.state: EpisodeState = parent.state if parent else EpisodeState.RUNNING
        if begun is not None:
            self._take(begun)

    def _take(self, begun: ResetResult) -> None:
        self._begun = begun
        self.observation: Observation = begun.observation
        """The latest."""

    @property
    def begun(self) -> ResetResult:
        """What the session began with. Raises: RuntimeError: it has not begun."""
        if self._begun is None:
            raise RuntimeError("the session has not begun: use `async with`")
        return self._begun

    @property
    def id(self) -> str:
        return self.begun.session

    @property
    def goal(self) -> str:
        return self.begun.goal

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        return self.begun.tools

    @property
    def max_turns(self) -> int:
        return self.begun.max_turns

    @property
    def state_hash(self) -> str:
        return self.begun.state_hash

    @property
    def over(self) -> bool:
        """The episode has ended: `reward` is final."""
        return self.state is not EpisodeState.RUNNING

    async def __aenter__(self) -> Self:
        if self._begun is None:
            self._take(await self._client.reset(self.task, seed=self.seed, split=self.split, options=self.options))
        self._renewal = asyncio.create_task(self._renew(), name=f"renew {self.id}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self.aclose())

    async def aclose(self) -> None:
        """End the session. Idempotent; a service that is gone is no error, for it has no session to keep."""
        self._closed = True
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        if self._begun is not None:
            with contextlib.suppress(InfrastructureError):
                await self._client.close(self.id)

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        """Carry out the calls of one turn; see `EnvClient.step`.

        Raises: InfrastructureError: also when the service has forgotten the session before its lease ran out.
        """
        try:
            result = await self._client.step(
                self.id,
                self.seq + 1,
                calls,
                timeout_s=timeout_s or self.options.step_timeout_s,
                patience_s=self.begun.lease_expiry_s - time.time(),
            )
        except SessionNotFound as error:
            if self._closed or time.time() >= self.begun.lease_expiry_s:
                raise
            raise InfrastructureError(f"the service has forgotten session {self.id}; was it restarted?") from error
        self.seq += 1
        self.gained = result.reward.total - self.reward.total
        self.observation, self.reward, self.state = result.observation, result.reward, result.state
        self.last_hash = result.state_hash
        return result

    async def fork(self, n: int) -> tuple[Session, ...]:
        """Return n sessions in this one's present state, begun; enter or close each. See `EnvClient.fork`."""
        return tuple(
            Session(
                self._client,
                task=self.task,
                seed=self.seed,
                split=self.split,
                options=self.options,
                begun=begun,
                parent=self,
            )
            for begun in await self._client.fork(self.id, n)
        )

    async def _renew(self) -> None:
        """Renew at a third of the lease, through outages, until the session is lost; then the next step says so."""
        while True:
            await asyncio.sleep(max(0.05, (self.begun.lease_expiry_s - time.time()) / 3))
            try:
                expiry_s = await self._client.renew(self.id)
            except InfrastructureError:
                continue
            except RLFactoryError:
                return
            self._begun = replace(self.begun, lease_expiry_s=expiry_s)
