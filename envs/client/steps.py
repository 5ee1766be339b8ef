"""The client's side of `Steps`: steps over one stream, each as if it were a call of its own."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import grpc

from rlfactory.envs.wire.convert import load_from_pb
from rlfactory.envs.wire.faults import from_status
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.v1 import env_pb2 as pb

LEAST_STEPS: Final = 16
"""As `rlfactory.envs.service.step_stream.LEAST_OUTCOMES`."""
MAX_MESSAGE_BYTES: Final = 1 << 18
"""Of requests in one message; a single one may be larger. Services take at least a megabyte."""

Metadata = Sequence[tuple[str, str]]


class StepCalls:
    """Stands for the stub of `Step`, for any number of callers at once; connects when it is first needed."""

    def __init__(self, stub: Callable[[], Any], heard: Callable[[Load], None]) -> None:
        """`stub` returns that of the service; `heard` is told what outcomes say of its load."""
        self._stub = stub
        self._heard = heard
        self._stream: _Stream | None = None

    async def __call__(self, request: pb.StepRequest, *, timeout: float, metadata: Metadata) -> pb.StepResponse:
        """Carry out one step.

        Raises:
            RLFactoryError: the service refused it, or it failed.
            grpc.aio.AioRpcError: the service did not answer.
        """
        if self._stream is None or self._stream.ended:
            self._stream = _Stream(self._stub().Steps(metadata=metadata), self._heard)
        return await self._stream.step(request, timeout)

    async def aclose(self) -> None:
        """End the stream; callers that still wait get an error."""
        if self._stream is not None:
            await self._stream.aclose()


class _Stream:
    def __init__(self, call: Any, heard: Callable[[Load], None]) -> None:
        self._call = call
        self._heard = heard
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[pb.StepResponse]] = {}
        self._steps: list[pb.NumberedStep] = []
        self._given_up: list[int] = []
        self._changed = asyncio.Event()
        self._reading = asyncio.create_task(self._read(), name="steps: read")
        self._writing = asyncio.create_task(self._write(), name="steps: write")
        self._reading.add_done_callback(self._end)
        self._writing.add_done_callback(self._end)

    @property
    def ended(self) -> bool:
        return self._reading.done() or self._writing.done()

    async def step(self, request: pb.StepRequest, timeout_s: float) -> pb.StepResponse:
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._steps.append(pb.NumberedStep(number=number, step=request))
        self._changed.set()
        try:
            async with asyncio.timeout(timeout_s):
                response: pb.StepResponse = await answer
        except TimeoutError:
            raise failure(grpc.StatusCode.DEADLINE_EXCEEDED, f"no answer within {timeout_s:.1f} s") from None
        finally:
            if self._waiting.pop(number, None) is not None:
                self._given_up.append(number)
                self._changed.set()
        return response

    async def aclose(self) -> None:
        self._call.cancel()
        await asyncio.wait((self._reading, self._writing))

    async def _read(self) -> None:
        async for response in self._call:
            if response.HasField("load"):
                self._heard(load_from_pb(response.load))
            for outcome in response.outcomes:
                answer = self._waiting.pop(outcome.number, None)
                if answer is None or answer.done():
                    continue
                if outcome.WhichOneof("outcome") == "status":
                    answer.set_exception(from_status(outcome.status))
                else:
                    answer.set_result(outcome.response)

    async def _write(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._steps or self._given_up:
                given_up, self._given_up = self._given_up, []
                await self._call.write(pb.StepsRequest(steps=self._next_batch(), given_up=given_up))

    def _next_batch(self) -> list[pb.NumberedStep]:
        """Take steps that make one message of bounded size, at least one if there are any."""
        size, count = 0, 0
        for step in self._steps[: max(LEAST_STEPS, len(self._steps) // 4)]:
            size += step.ByteSize()
            if count and size > MAX_MESSAGE_BYTES:
                break
            count += 1
        batch, self._steps = self._steps[:count], self._steps[count:]
        return batch

    def _end(self, task: asyncio.Task[None]) -> None:
        """Reading or writing has ended: so does the other, and everybody who waits is told why."""
        self._reading.cancel()
        self._writing.cancel()
        self._call.cancel()
        error = None if task.cancelled() else task.exception()
        code, why, trailing = grpc.StatusCode.UNAVAILABLE, "the stream of steps has ended", None
        if isinstance(error, grpc.aio.AioRpcError):
            code, why, trailing = error.code(), error.details() or why, error.trailing_metadata()
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(failure(code, why, trailing))


def failure(code: grpc.StatusCode, why: str, trailing: grpc.aio.Metadata | None = None) -> grpc.aio.AioRpcError:
    """Return the error of a call that was not answered, as gRPC would raise it."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing or grpc.aio.Metadata(), details=why)
