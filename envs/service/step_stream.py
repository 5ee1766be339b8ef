"""The server's side of `Steps`: the steps of many sessions, over one stream.

Outcomes that are ready at the same time travel in one message. That is what makes a stream cheap: a call of gRPC costs
more than most steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.wire.faults import to_bytes
from rlfactory.envs.wire.v1 import env_pb2 as pb

LEAST_OUTCOMES: Final = 16
"""That one message takes, if there are so many, and a quarter of those that wait where that is more. All at once would
save little, and sessions that travel together wait for each other from then on; too few, and they queue up here."""
MAX_MESSAGE_BYTES: Final = 8 << 20
"""Of pictures and trees in one message; a single outcome may be larger."""

Answer = Callable[[pb.StepRequest], Awaitable[pb.StepResponse | bytes]]
"""Carries out a step: its response, or its failure as a serialized google.rpc.Status."""


class StepStream:
    """One stream of steps. Steps under way are bounded: beyond that, nothing more is read."""

    def __init__(self, answer: Answer, *, max_under_way: int) -> None:
        self._answer = answer
        self._places = asyncio.Semaphore(max_under_way)
        self._under_way: dict[int, asyncio.Task[None]] = {}
        """By number, without those that the client has given up."""
        self._outcomes: list[pb.StepOutcome] = []
        self._changed = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None

    def end(self) -> None:
        """Begin no more steps; the stream ends when those under way have ended."""
        if self._reading is not None:
            self._reading.cancel()

    async def serve(self, requests: AsyncIterator[pb.StepsRequest], write: Callable[[Any], Awaitable[None]]) -> None:
        """Carry out what is asked for until the client asks no more; cancelled, the steps under way are given up."""
        self._reading = asyncio.create_task(self._read(requests), name="steps: read")
        self._reading.add_done_callback(lambda _: self._changed.set())
        try:
            while self._under_way or self._outcomes or not self._reading.done():
                await self._changed.wait()
                self._changed.clear()
                while self._outcomes:
                    await write(pb.StepsResponse(outcomes=self._next_batch()))
        finally:
            self._reading.cancel()
            for number in tuple(self._under_way):
                self._give_up(number)

    async def _read(self, requests: AsyncIterator[pb.StepsRequest]) -> None:
        async for request in requests:
            for number in request.given_up:
                self._give_up(number)
            for each in request.steps:
                await self._places.acquire()
                task = asyncio.create_task(self._step(each.number, each.step), name="step of a stream")
                self._under_way[each.number] = task
                task.add_done_callback(partial(self._ended, each.number))

    def _give_up(self, number: int) -> None:
        task = self._under_way.pop(number, None)
        if task is not None:
            task.cancel()

    async def _step(self, number: int, request: pb.StepRequest) -> None:
        outcome = await self._answer(request)
        if isinstance(outcome, bytes):
            self._outcomes.append(pb.StepOutcome(number=number, status=outcome))
        else:
            self._outcomes.append(pb.StepOutcome(number=number, response=outcome))

    def _ended(self, number: int, task: asyncio.Task[None]) -> None:
        self._places.release()
        self._changed.set()
        wanted = self._under_way.pop(number, None) is not None
        if wanted and task.cancelled():
            status = to_bytes(InfrastructureError("the step was cancelled in the service"))
            self._outcomes.append(pb.StepOutcome(number=number, status=status))

    def _next_batch(self) -> list[pb.StepOutcome]:
        """Take outcomes that make one message of bounded size, at least one."""
        size, count = 0, 0
        for outcome in self._outcomes[: max(LEAST_OUTCOMES, len(self._outcomes) // 4)]:
            observation = outcome.response.observation
            size += len(observation.image.data) + len(observation.tree_xml)
            if count and size > MAX_MESSAGE_BYTES:
                break
            count += 1
        batch, self._outcomes = self._outcomes[:count], self._outcomes[count:]
        return batch
