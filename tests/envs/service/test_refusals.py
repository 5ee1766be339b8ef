"""Calls that are refused leave nothing behind, also where the garbage is never collected."""

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable

import grpc
import psutil
import pytest

from benchmarks.adversary.scene import Sums
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.wire.stub import EnvServiceStub
from rlfactory.envs.wire.v1 import env_pb2 as pb

TIMES = 40
SIZE = 900_000
MOST_MB = 20.0
LARGE = pb.ToolCall(name="x", arguments_json=json.dumps({"a": "k" * SIZE}))


async def stepped(stub, session):
    await stub.Step(pb.StepRequest(session=session, seq=9, calls=[LARGE]))


async def streamed(stub, session):
    stream = stub.Steps()
    step = pb.StepRequest(session=session, seq=9, calls=[LARGE])
    await stream.write(pb.StepsRequest(steps=[pb.NumberedStep(number=1, step=step)]))
    assert (await stream.read()).outcomes[0].status.code
    stream.cancel()


async def begun(stub, _):
    await stub.Reset(pb.ResetRequest(task="x" * SIZE))


def memory_mb() -> float:
    return psutil.Process().memory_info().rss / 2**20


@pytest.mark.parametrize("ask", [stepped, streamed, begun])
async def test_refused_calls_leave_nothing_behind(ask: Callable[[object, str], Awaitable[None]]):
    async with (
        serving(ServerConfig(), tasks=TaskRegistry((Sums,))) as server,
        EnvClient(server.address) as client,
        client.session(Sums.name, seed=1, options=SessionOptions(with_image=False)) as session,
        grpc.aio.insecure_channel(server.address) as channel,
    ):

        async def ask_often(times: int) -> None:
            for number in range(times):
                try:
                    await ask(EnvServiceStub(channel), session.id if number % 2 else "nobody")
                except grpc.aio.AioRpcError as error:
                    assert error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION), error

        await ask_often(10)
        gc.collect()
        gc.disable()
        try:
            before_mb = memory_mb()
            await ask_often(TIMES)
            await asyncio.sleep(0)
            assert memory_mb() - before_mb < MOST_MB
        finally:
            gc.enable()
