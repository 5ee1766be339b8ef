"""Very much of what is small or allowed one at a time: parts of messages, steps, episodes, characters typed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from benchmarks.adversary.arena import HONEST, SUMS, TEXT, Arena, call, metadata
from benchmarks.adversary.attack import Broke, attack, require
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.wire.v1 import env_pb2 as pb

MANY = 2_000_000
HELD_UP_S = 0.25
"""That one message may hold up the event loop; a second, without a bound."""
SLOWLY_DRAWN = "text2sql.join"
APPS = ("Contacts", "Notes", "Files", "Settings", "Tasks")
TYPED = ("```" + "\n" * 1300, "x" * 4000, "[](" * 1300, "* " * 2000, "\u0301" * 4000, " " * 3999 + "x")


@asynccontextmanager
async def _holding_up_nobody(arena: Arena) -> AsyncIterator[None]:
    """Raises: Broke: the service's event loop was held up during the block."""
    begun_s = time.monotonic()
    yield
    await asyncio.sleep(0.1)  # what is late now is written down
    worst_s = max(arena.service.lags_s(begun_s, time.monotonic()), default=0.0)
    arena.require_soon(worst_s, HELD_UP_S, "a round of the event loop")


@attack("refused unread; nobody else waits", limit_s=40)
async def empty_parts(arena: Arena) -> str:
    """Send messages of two million empty calls, capabilities, extensions and lists of numbers."""
    calls = bytes((pb.StepRequest.CALLS_FIELD_NUMBER << 3 | 2, 0)) * MANY
    options = bytes((pb.Options.EXTENSIONS_FIELD_NUMBER << 3 | 2, 0)) * (MANY // 2)
    reset = pb.ResetRequest(task=SUMS).SerializeToString()
    reset += bytes((pb.ResetRequest.OPTIONS_FIELD_NUMBER << 3 | 2,)) + _varint(len(options)) + options
    needs = bytes((pb.HandshakeRequest.NEEDS_FIELD_NUMBER << 3 | 2, 0)) * MANY
    async with grpc.aio.insecure_channel(arena.address) as channel, _holding_up_nobody(arena):
        for name, data in (("Step", calls), ("Reset", reset), ("Handshake", needs)):
            method = channel.unary_unary(f"/envs.v1.EnvService/{name}")
            try:
                await method(data, metadata=metadata(), timeout=30)
            except grpc.aio.AioRpcError as error:
                require(error.code() is grpc.StatusCode.INVALID_ARGUMENT, f"{name}: {error.code()}")
            else:
                raise Broke(f"{name} was carried out")
    return "three messages of 4 MB refused"


@attack("answered a few at a time; nobody else waits", limit_s=40)
async def empty_steps(arena: Arena) -> str:
    """Send two million empty steps in one message, on four streams."""
    steps = bytes((pb.StepsRequest.STEPS_FIELD_NUMBER << 3 | 2, 0)) * MANY
    async with grpc.aio.insecure_channel(arena.address) as channel, _holding_up_nobody(arena):
        begin = channel.stream_stream("/envs.v1.EnvService/Steps")
        streams = [begin(metadata=metadata()) for _ in range(4)]
        with contextlib.suppress(grpc.aio.AioRpcError):
            await asyncio.gather(*(each.write(steps) for each in streams))
        await asyncio.sleep(1.0)
        for each in streams:
            each.cancel()
    return "the loop came in time"


@attack("BAD_REQUEST; nobody else waits", limit_s=40)
async def endless_perturb(arena: Arena) -> str:
    """Ask for episodes in which 300,000 things happen."""
    async with arena.client() as client, _holding_up_nobody(arena):
        for text in ("popup," * 300_000, "," * 1_500_000, "popup:0.5," * 150_000):
            try:
                await client.reset(SUMS, seed=1, options=SessionOptions(with_image=False, perturb=text))
            except TaskError:
                continue
            raise Broke("an episode was begun")
    return "refused"


@attack("the honest begin episodes all the while", limit_s=60)
async def greedy_resets(arena: Arena) -> str:
    """Ask for 600 episodes at once whose questions take long to draw."""
    async with arena.client() as client, arena.client(HONEST) as honest:
        resets = [asyncio.create_task(client.reset(SLOWLY_DRAWN, seed=seed, options=TEXT)) for seed in range(600)]
        await asyncio.sleep(0.5)
        try:
            for seed in range(3):
                begun_s = time.monotonic()
                begun = await honest.reset(SUMS, seed=seed, options=TEXT)
                arena.require_soon(time.monotonic() - begun_s, 2.0, "an honest reset")
                await honest.close(begun.session)
        finally:
            for each in resets:
                each.cancel()
            for made in await asyncio.gather(*resets, return_exceptions=True):
                if not isinstance(made, BaseException):
                    await client.close(made.session)
    return "three honest episodes begun"


@attack("typed, or refused; nobody else waits", limit_s=90)
async def strange_texts(arena: Arena) -> str:
    """Type 4,000 characters of fences, brackets, accents and spaces into fields of five apps."""
    options = SessionOptions(with_image=True, with_tree=True, lease_s=60.0)
    async with arena.client() as client, _holding_up_nobody(arena):
        for seed, app in enumerate(APPS):
            async with client.session("settings.wifi_on", seed=seed, options=options) as session:
                await session.step([call("phone", action="open_app", app=app)])
                for number, text in enumerate(TYPED):
                    await session.step(
                        [
                            call("phone", 0, action="tap", coordinate=[300 - number, 30]),
                            call("phone", 1, action="type", text=text),
                        ]
                    )
    return f"{len(APPS) * len(TYPED)} texts"


@attack("memory stays", limit_s=40)
async def long_watches(arena: Arena) -> str:
    """Watch 60 sessions whose names have 4 MB."""
    async with arena.stub() as stub:
        watches = [stub.Watch(pb.WatchRequest(session="w" * 4_000_000), metadata=metadata()) for _ in range(60)]
        with contextlib.suppress(grpc.aio.AioRpcError):  # there may be fewer
            for each in watches:
                await each.initial_metadata()
        await asyncio.sleep(0.5)
        for each in watches:
            each.cancel()
    return "60 watched, or refused"


@attack("memory stays", limit_s=40)
async def idle_streams(arena: Arena) -> str:
    """Send a step of nearly 4 MB over each of 60 streams, which then stay open and say no more."""
    large = pb.StepRequest(session="nobody", calls=[pb.ToolCall(arguments_json="a" * 3_900_000)])
    request = pb.StepsRequest(steps=[pb.NumberedStep(number=1, step=large)])
    async with arena.stub() as stub:
        streams = [stub.Steps(metadata=metadata()) for _ in range(60)]
        with contextlib.suppress(grpc.aio.AioRpcError):  # there may be fewer
            for each in streams:
                await each.write(request)
                await each.read()
        await asyncio.sleep(0.5)
        for each in streams:
            each.cancel()
    return "60 refused, or answered"


@attack("each is refused or answered; the honest notice nothing", limit_s=40)
async def sessions_of_nobody(arena: Arena) -> str:
    """Step sessions that do not exist, 20,000 times over eight streams, as fast as it goes."""
    request = pb.StepsRequest(
        steps=[pb.NumberedStep(number=n, step=pb.StepRequest(session="nobody", seq=1)) for n in range(64)]
    )
    answered = 0
    async with grpc.aio.insecure_channel(arena.address) as channel, _holding_up_nobody(arena):
        begin = channel.stream_stream(
            "/envs.v1.EnvService/Steps",
            request_serializer=pb.StepsRequest.SerializeToString,
            response_deserializer=pb.StepsResponse.FromString,
        )

        async def flood() -> None:
            nonlocal answered
            stream = begin(metadata=metadata())
            for _ in range(40):
                await stream.write(request)
            left = 40 * 64
            while left:
                outcomes = (await stream.read()).outcomes
                require(all(each.WhichOneof("outcome") == "status" for each in outcomes), "one was carried out")
                left -= len(outcomes)
                answered += len(outcomes)
            stream.cancel()

        async with asyncio.timeout(30 * arena.slowness):
            await asyncio.gather(*(flood() for _ in range(8)))
    return f"{answered} refused"


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))
