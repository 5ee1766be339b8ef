"""The stream of steps, watchers, and who does not read."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from contextlib import AsyncExitStack

import grpc
import psutil

from benchmarks.adversary.arena import HONEST, HOSTILE, SUMS, TEXT, Arena, Service, call, goes_on, metadata, until
from benchmarks.adversary.attack import attack, require
from benchmarks.adversary.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    call_headers,
    frame,
    message,
    sent,
    wire,
)
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.client import EnvClient
from rlfactory.envs.wire.convert import calls_from_pb
from rlfactory.envs.wire.v1 import env_pb2 as pb

NOTHING = pb.StepRequest()


async def _heavy(client: EnvClient) -> str:
    """Begin a session whose first step has a large answer; return its id."""
    begun = await client.reset(SUMS, seed=3, options=TEXT)
    request = _heavy_step(begun.session)
    await client.step(begun.session, 1, calls_from_pb(request.calls))
    return begun.session


def _heavy_step(session: str) -> pb.StepRequest:
    calls = [pb.ToolCall(id=str(n), name="nap", arguments_json='{"key": "h", "chars": 19900}') for n in range(30)]
    return pb.StepRequest(session=session, seq=1, calls=calls)


@attack("memory stays", limit_s=40)
async def unread_steps(arena: Arena) -> str:
    """Repeat a step of 600 KB 2,500 times on a stream, and read nothing."""
    async with arena.client() as client:
        session = await _heavy(client)
        step = _heavy_step(session)
        batch = pb.StepsRequest(steps=[pb.NumberedStep(number=n, step=step) for n in range(50)])
        data = message(batch.SerializeToString())
        async with wire(arena.address, [(INITIAL_WINDOW_SIZE, 0)]) as connection:
            await connection.send(frame(HEADERS, END_HEADERS, 1, call_headers("EnvService/Steps", HOSTILE)))
            for _ in range(min(50, 3_500_000 // len(data))):  # as much as the service's own window takes
                for at in range(0, len(data), 16_000):
                    await connection.send(frame(DATA, 0, 1, data[at : at + 16_000]))
                await asyncio.sleep(0.02)
            await asyncio.sleep(3.0)
            require(not connection.closed, "the service hung up")
        await client.close(session)
    return "the stream was read no further"


@attack("memory stays", limit_s=40)
async def unread_answers(arena: Arena) -> str:
    """Repeat a step of 600 KB by 4,000 calls of Step over 40 connections, and read nothing."""
    async with arena.client() as client, contextlib.AsyncExitStack() as stack:
        session = await _heavy(client)
        block = call_headers("EnvService/Step", HOSTILE)
        body = message(_heavy_step(session).SerializeToString())
        for _ in range(40):
            connection = await stack.enter_async_context(wire(arena.address, [(INITIAL_WINDOW_SIZE, 0)]))
            data = b"".join(
                frame(HEADERS, END_HEADERS, n, block) + frame(DATA, END_STREAM, n, body) for n in range(1, 190, 2)
            )
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(2):
                    await connection.send(data)
        await asyncio.sleep(2.0)
        with contextlib.suppress(RLFactoryError):  # one's own calls may be too many
            await client.close(session)
    return "4,000 unread repeats"


@attack("each number is answered; the stream goes on")
async def equal_numbers(arena: Arena) -> str:
    """Give two steps of a stream the same number, and one the largest there is."""
    async with arena.session() as one, arena.session(seed=2) as two, arena.stub() as stub:
        stream = stub.Steps(metadata=metadata(), timeout=10)
        steps = [
            pb.NumberedStep(number=number, step=pb.StepRequest(session=each.id, seq=1))
            for number, each in ((5, one), (5, two))
        ]
        await stream.write(pb.StepsRequest(steps=steps))
        seen: list[int] = []
        async with asyncio.timeout(5 * arena.slowness):
            while len(seen) < 2:
                seen += [outcome.number for outcome in (await stream.read()).outcomes]
        await stream.write(pb.StepsRequest(steps=[pb.NumberedStep(number=2**64 - 1, step=NOTHING)]))
        async with asyncio.timeout(5 * arena.slowness):
            last = (await stream.read()).outcomes[0]
        require(last.number == 2**64 - 1 and last.WhichOneof("outcome") == "status", "the last was not refused")
        stream.cancel()
    return "both answered"


@attack("INVALID_ARGUMENT, and nothing else ends")
async def garbage(arena: Arena) -> str:
    """Send a stream bytes that are no message, between two steps."""
    async with arena.session() as session, arena.stub() as stub:
        channel_call = stub.Steps(metadata=metadata(), timeout=10)
        await channel_call.write(pb.StepsRequest())
        channel_call.cancel()
        async with grpc.aio.insecure_channel(arena.address) as channel:
            raw = channel.stream_stream("/envs.v1.EnvService/Steps")
            stream = raw(metadata=metadata(), timeout=10)
            await stream.write(b"\xff\xff\xff\xff garbage")
            await stream.done_writing()
            with contextlib.suppress(grpc.aio.AioRpcError):
                while await stream.read() is not grpc.aio.EOF:
                    pass
            code = await stream.code()
        require(code is grpc.StatusCode.INVALID_ARGUMENT, f"the stream ended with {code}")
        await goes_on(session)
    return "refused"


@attack("the stream goes on")
async def given_up_flood(arena: Arena) -> str:
    """Give 200,000 steps up that were never asked for."""
    async with arena.stub() as stub:
        stream = stub.Steps(metadata=metadata(), timeout=20)
        for begin in range(0, 200_000, 20_000):
            await stream.write(pb.StepsRequest(given_up=range(begin, begin + 20_000)))
        await stream.write(pb.StepsRequest(steps=[pb.NumberedStep(number=7, step=NOTHING)]))
        async with asyncio.timeout(10 * arena.slowness):
            answer = await stream.read()
        require(answer.outcomes[0].number == 7, "another was answered")
        stream.cancel()
    return "a step after them was answered"


@attack("newcomers are served")
async def many_streams(arena: Arena) -> str:
    """Hold 900 idle streams of steps open over ten connections, with a token."""
    block = call_headers("EnvService/Steps", HOSTILE)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(10):
            connection = await stack.enter_async_context(wire(arena.address))
            await sent(connection, b"".join(frame(HEADERS, END_HEADERS, n, block) for n in range(1, 181, 2)))
        await asyncio.sleep(1.0)
        async with arena.session() as session:
            await goes_on(session)
    return "900 streams, a newcomer served"


@attack("the honest can watch; memory stays")
async def deaf_watchers(arena: Arena) -> str:
    """Watch all sessions with as many watchers as there may be, and read nothing."""
    block = call_headers("EnvService/Watch", HOSTILE)
    async with contextlib.AsyncExitStack() as stack:
        connection = await stack.enter_async_context(wire(arena.address, [(INITIAL_WINDOW_SIZE, 0)]))
        await sent(
            connection,
            b"".join(frame(HEADERS, END_HEADERS, n, block) + frame(DATA, 1, n, message(b"")) for n in range(1, 161, 2)),
        )
        await asyncio.sleep(1.0)
        async with arena.client(HONEST) as client, client.watch() as events:
            async with asyncio.timeout(10 * arena.slowness):
                await anext(aiter(events))
    return "80 deaf watchers, another one hears"


@attack("it stops within its drain and 3 seconds", limit_s=40)
async def sigterm_beside_watchers(arena: Arena) -> str:
    """Stop a service whose health somebody watches without reading, and whose port is full of half-open calls."""
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service("--phones", "0", "--drain-s", "1", tokens=()))
        connection = await stack.enter_async_context(wire(service.address, [(INITIAL_WINDOW_SIZE, 0)]))
        watch, half = call_headers("grpc.health.v1.Health/Watch"), call_headers("EnvService/Steps")
        await connection.send(frame(HEADERS, END_HEADERS, 1, watch) + frame(DATA, 1, 1, message(b"")))
        await connection.send(frame(HEADERS, END_HEADERS, 3, half))
        await asyncio.sleep(0.5)
        service.terminate()
        require(await service.ended(timeout_s=4.5 * arena.slowness), "it still runs 4.5 s after SIGTERM")
    return "it stopped"


@attack("what runs ends or is refused in time", limit_s=40)
async def sigterm_beside_steps(arena: Arena) -> str:
    """Stop a service in the middle of 16 steps that take a minute."""
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service("--phones", "0", "--drain-s", "1", tokens=()))
        client = await stack.enter_async_context(arena.client("", address=service.address))
        begun = [await client.reset(SUMS, seed=n, options=TEXT) for n in range(16)]
        steps = [asyncio.create_task(client.step(e.session, 1, [call("nap", key="t", seconds=25)])) for e in begun]
        await asyncio.sleep(0.5)
        service.terminate()
        require(await service.ended(timeout_s=5 * arena.slowness), "it still runs 5 s after SIGTERM")
        for each in steps:
            each.cancel()
        await asyncio.gather(*steps, return_exceptions=True)
    return "it stopped"


@attack("the next service begins; nobody of the first one's children is left", limit_s=40)
async def killed_in_the_middle(arena: Arena) -> str:
    """Kill a service that runs SQL and code with SIGKILL."""
    async with Service("--phones", "0", tokens=()) as service:
        async with arena.client("", address=service.address) as client:
            one = await client.reset("text2sql.select", seed=1, options=TEXT)
            two = await client.reset("math_code.count", seed=1, options=TEXT)
            await client.step(one.session, 1, [call("sql", query="SELECT 1")])
            await client.step(two.session, 1, [call("python", code="1")])
            children = psutil.Process(service.pid).children(recursive=True)
            service.kill()
            require(await service.ended(timeout_s=5 * arena.slowness), "SIGKILL did not end it")
        await until(
            lambda: not [each for each in children if each.is_running() and each.status() != psutil.STATUS_ZOMBIE],
            timeout_s=10 * arena.slowness,
            otherwise="workers outlive the service",
        )
    return f"{len(children)} workers ended with it, by {signal.SIGKILL.name}"
