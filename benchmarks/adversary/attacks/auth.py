"""What a stranger without a token can do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from benchmarks.adversary.arena import HONEST, HOSTILE, SUMS, TEXT, Arena, goes_on, metadata
from benchmarks.adversary.attack import attack, require
from benchmarks.adversary.frames import DATA, END_HEADERS, END_STREAM, HEADERS, call_headers, frame, message, sent, wire
from rlfactory.envs.wire.trust import AUTHORIZATION
from rlfactory.envs.wire.v1 import env_pb2 as pb

UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED
METHODS = {
    "ListTasks": pb.ListTasksRequest(),
    "Reset": pb.ResetRequest(task=SUMS),
    "Step": pb.StepRequest(session="x", seq=1),
    "Fork": pb.ForkRequest(session="x", n=1),
    "CloseSession": pb.CloseSessionRequest(session="x"),
    "Renew": pb.RenewRequest(session="x"),
    "Status": pb.StatusRequest(),
}


async def _crowd(arena: Arena, methods: Sequence[str], *, whole: bool, token: str = "") -> str:
    """Begin 5,415 calls over 57 connections; a newcomer with another token must be served beside them."""
    async with contextlib.AsyncExitStack() as stack:
        for number in range(57):
            block = call_headers(methods[number % len(methods)], token)
            rest = message(b"") if whole else b""
            connection = await stack.enter_async_context(wire(arena.address))
            for begin in range(1, 191, 38):  # slowly: a burst would be turned away by gRPC itself
                calls = [frame(HEADERS, END_HEADERS, n, block) for n in range(begin, begin + 38, 2)]
                calls += [frame(DATA, END_STREAM, n, rest) for n in range(begin, begin + 38, 2) if whole]
                await sent(connection, b"".join(calls))
                await asyncio.sleep(0.015)
        await asyncio.sleep(1.0)
        async with arena.client(HONEST) as client:
            for seed in range(3):
                async with client.session(SUMS, seed=seed, options=TEXT) as session:
                    await goes_on(session)
    return "5,415 calls, newcomers served"


@attack("newcomers with a token are served", limit_s=60)
async def health_watchers(arena: Arena) -> str:
    """Watch the service's health over 57 connections with 95 streams each, without a token."""
    return await _crowd(arena, ("grpc.health.v1.Health/Watch",), whole=True)


@attack("newcomers with a token are served", limit_s=60)
async def half_open_calls(arena: Arena) -> str:
    """Begin 5,415 calls without a token, and never send their messages."""
    return await _crowd(arena, ("EnvService/Steps", "EnvService/Reset", "EnvService/Watch"), whole=False)


@attack("newcomers with a token are served", limit_s=60)
async def half_open_reflection(arena: Arena) -> str:
    """Begin 5,415 calls of reflection, health checks and methods that do not exist, and never send their messages."""
    methods = ("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "grpc.health.v1.Health/Check", "x.Y/Z")
    return await _crowd(arena, methods, whole=False)


@attack("newcomers of another tenant are served", limit_s=60)
async def half_open_with_token(arena: Arena) -> str:
    """Begin 5,415 calls with a token, and never send their messages."""
    methods = ("EnvService/Steps", "EnvService/Reset", "EnvService/Watch", "EnvService/Step")
    return await _crowd(arena, methods, whole=False, token=HOSTILE)


@attack("UNAUTHENTICATED, every one")
async def every_method(arena: Arena) -> str:
    """Call every method with no token, an empty one, a prefix of one, and one in the wrong place."""
    shown: tuple[tuple[tuple[str, str], ...], ...] = (
        (), ((AUTHORIZATION, ""),), ((AUTHORIZATION, "Bearer "),), ((AUTHORIZATION, f"Bearer {HOSTILE[:-1]}"),),
        ((AUTHORIZATION, HOSTILE),), ((AUTHORIZATION, f"Basic {HOSTILE}"),), (("token", HOSTILE),),
    )  # fmt: skip
    count = 0
    async with arena.stub() as stub:
        for pairs in shown:
            for name, request in METHODS.items():
                try:
                    await getattr(stub, name)(request, metadata=pairs, timeout=5)
                except grpc.aio.AioRpcError as error:
                    require(error.code() is UNAUTHENTICATED, f"{name}: {error.code()}")
                    count += 1
                else:
                    require(False, f"{name} was answered")
            for stream in (
                stub.Watch(pb.WatchRequest(), metadata=pairs, timeout=5),
                stub.Steps(metadata=pairs, timeout=5),
            ):
                try:
                    await stream.read()
                except grpc.aio.AioRpcError as error:
                    require(error.code() is UNAUTHENTICATED, f"a stream: {error.code()}")
                    count += 1
                else:
                    require(False, "a stream was answered")
    return f"{count} calls refused"


@attack("UNAUTHENTICATED; the honest notice nothing")
async def guessed_tokens(arena: Arena) -> str:
    """Guess 3,000 tokens, 100 at a time."""
    async with arena.stub() as stub:

        async def guess(number: int) -> grpc.StatusCode:
            try:
                await stub.Status(pb.StatusRequest(), metadata=metadata(f"guessed-token-{number:08d}"), timeout=10)
            except grpc.aio.AioRpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        codes = set()
        for begin in range(0, 3000, 100):
            codes |= set(await asyncio.gather(*(guess(begin + n) for n in range(100))))
    require(codes == {UNAUTHENTICATED}, f"{codes}")
    return "3,000 guesses refused"


@attack("UNAUTHENTICATED")
async def reflection(arena: Arena) -> str:
    """Ask reflection for what there is."""
    async with grpc.aio.insecure_channel(arena.address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        stream = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="*")]), timeout=5)
        try:
            async for _ in stream:
                require(False, "reflection answers strangers")
        except grpc.aio.AioRpcError as error:
            # gRPC's client says INTERNAL where it still writes as it is refused.
            require(error.code() in (UNAUTHENTICATED, grpc.StatusCode.INTERNAL), f"{error.code()}")
    return "refused"


@attack("refused without being read; memory stays")
async def large_requests(arena: Arena) -> str:
    """Send 300 requests of 1 MB without a token, 30 at a time."""
    request = pb.StepRequest(session="x", seq=1, calls=[pb.ToolCall(name="a", arguments_json="1" * 1_000_000)])
    async with arena.stub() as stub:

        async def one() -> grpc.StatusCode:
            try:
                await stub.Step(request, timeout=20)
            except grpc.aio.AioRpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        codes = set()
        for _ in range(10):
            codes |= set(await asyncio.gather(*(one() for _ in range(30))))
    require(codes == {UNAUTHENTICATED}, f"{codes}")
    return "300 refused"


@attack("the health check goes on, and tells nothing else")
async def health_names(arena: Arena) -> str:
    """Check and watch the health of 2,000 services that do not exist."""
    async with grpc.aio.insecure_channel(arena.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for number in range(1000):
            try:
                await stub.Check(health_pb2.HealthCheckRequest(service=f"{'x' * 500}{number}"), timeout=5)
            except grpc.aio.AioRpcError as error:
                require(error.code() is grpc.StatusCode.NOT_FOUND, f"{error.code()}")
        for number in range(20):
            stream = stub.Watch(health_pb2.HealthCheckRequest(service=f"y{number}"), timeout=5)
            with contextlib.suppress(grpc.aio.AioRpcError):
                await stream.read()
            stream.cancel()
        answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
        require(answer.status == health_pb2.HealthCheckResponse.SERVING, "it does not serve")
    async with arena.session(options=TEXT) as session:
        await goes_on(session)
    return "it serves"


@attack("a line of the log says who was refused, and why")
async def leaves_a_trace(arena: Arena) -> str:
    """Call without a token, and with a wrong one, then read the service's log."""
    async with arena.stub() as stub:
        for pairs in ((), metadata("a-wrong-token-for-the-log")):
            with contextlib.suppress(grpc.aio.AioRpcError):
                await stub.Status(pb.StatusRequest(), metadata=pairs, timeout=5)
    await asyncio.sleep(0.3)
    log = arena.log()
    require("UNAUTHENTICATED" in log, "the log is silent")
    require("a-wrong-token-for-the-log" not in log, "the log holds the token")
    return "the log tells it"
