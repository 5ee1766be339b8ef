"""Below the calls: connections, frames, sizes."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import socket
import struct
import time

import grpc

from benchmarks.adversary.arena import HONEST, HOSTILE, SUMS, TEXT, Arena, call, goes_on, metadata, until
from benchmarks.adversary.attack import attack, require
from benchmarks.adversary.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PING,
    RST_STREAM,
    call_headers,
    frame,
    message,
    sent,
    settings,
    wire,
)
from rlfactory.envs.api.errors import InfrastructureError, RLFactoryError
from rlfactory.envs.wire.v1 import env_pb2 as pb

BIG = 1_150_000


async def _serves(arena: Arena) -> None:
    """Raises: Broke: a newcomer of another tenant is not served."""
    async with arena.client(HONEST) as client, client.session(SUMS, seed=9, options=TEXT) as session:
        await goes_on(session)


@attack("newcomers are served beside them")
async def silent_connections(arena: Arena) -> str:
    """Open 300 connections and say nothing."""
    host, _, port = arena.address.rpartition(":")
    opened = [await asyncio.open_connection(host, int(port)) for _ in range(300)]
    try:
        await _serves(arena)
        await asyncio.sleep(1.0)
        return "300 silent connections, a newcomer served"
    finally:
        for _, writer in opened:
            writer.transport.abort()


@attack("newcomers are served within 15 s", limit_s=60)
async def silent_crowd(arena: Arena) -> str:
    """Open 5,000 connections, more than there may be, and say nothing."""
    host, _, port = arena.address.rpartition(":")
    opened = [socket.socket() for _ in range(5000)]
    try:
        for number, each in enumerate(opened):
            each.setblocking(False)
            each.connect_ex((host, int(port)))
            if not number % 50:
                await asyncio.sleep(0.01)
        begun_s = time.monotonic()
        async with asyncio.timeout(15 * arena.slowness):
            while True:
                with contextlib.suppress(InfrastructureError):
                    await _serves(arena)
                    break
        return f"a newcomer served after {time.monotonic() - begun_s:.1f} s"
    finally:
        for each in opened:
            each.close()


@attack("the connection is refused or ignored")
async def other_languages(arena: Arena) -> str:
    """Speak HTTP/1.1, TLS, Redis and noise on the port, 100 times each."""
    host, _, port = arena.address.rpartition(":")
    words = (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500),
             b"*1\r\n$4\r\nPING\r\n", os.urandom(4096))  # fmt: skip
    for word in words * 100:
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(word)
        with contextlib.suppress(OSError):
            await writer.drain()
        writer.transport.abort()
    await _serves(arena)
    return "400 connections refused"


@attack("the connection is closed, or its streams are bounded")
async def rapid_reset(arena: Arena) -> str:
    """Open and reset 5,000 calls on one connection (CVE-2023-44487)."""
    block = call_headers("EnvService/Status", HOSTILE)
    async with wire(arena.address) as connection:
        await asyncio.sleep(0.1)
        for begin in range(1, 10_001, 500):
            data = b"".join(
                frame(HEADERS, END_HEADERS, stream, block) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
                for stream in range(begin, begin + 500, 2)
            )
            if not await sent(connection, data):
                return f"hung up on after {begin // 2} calls"
        await _serves(arena)
    return "5,000 calls opened and reset, a newcomer served"


@attack("the connection is closed")
async def endless_headers(arena: Arena) -> str:
    """Send the headers of one call in CONTINUATION frames without end, 16 MB of them."""
    piece = frame(CONTINUATION, 0, 1, call_headers("x/y", "", [(f"x-{n}", "v" * 200) for n in range(60)]))
    async with wire(arena.address) as connection:
        await connection.send(frame(HEADERS, 0, 1, call_headers("EnvService/Status", HOSTILE)))
        for count in range(1200):
            if not await sent(connection, piece):
                return f"hung up on after {count * len(piece) >> 10} KB"
        require(await connection.wait_for(GOAWAY) or connection.closed, "16 MB of headers were taken")
    return "hung up on"


@attack("refused, and the memory is given back")
async def large_metadata(arena: Arena) -> str:
    """Make 50 calls with 200 KB of metadata each."""
    codes = set()
    async with arena.stub(options=(("grpc.max_metadata_size", 1 << 20),)) as stub:
        for _ in range(50):
            try:
                await stub.Status(pb.StatusRequest(), metadata=(*metadata(), ("x-much", "v" * 200_000)), timeout=5)
            except grpc.aio.AioRpcError as error:
                codes.add(error.code())
            else:
                codes.add(grpc.StatusCode.OK)
    require(codes == {grpc.StatusCode.RESOURCE_EXHAUSTED}, f"answered {codes}")
    return "refused as RESOURCE_EXHAUSTED"


@attack("the connection is closed, or answered in turn")
async def ping_flood(arena: Arena) -> str:
    """Send 50,000 pings on one connection, and read no answer."""
    async with wire(arena.address) as connection:
        await asyncio.sleep(0.1)
        for _ in range(100):
            if not await sent(connection, frame(PING, 0, 0, b"12345678") * 500):
                return "hung up on"
        await _serves(arena)
    return "50,000 pings, a newcomer served"


@attack("the connection is closed, or obeyed in turn")
async def settings_flood(arena: Arena) -> str:
    """Change the settings of a connection 50,000 times."""
    async with wire(arena.address) as connection:
        for _ in range(100):
            if not await sent(connection, settings([(INITIAL_WINDOW_SIZE, 0), (INITIAL_WINDOW_SIZE, 65535)]) * 500):
                return "hung up on"
        await _serves(arena)
    return "50,000 settings, a newcomer served"


@attack("memory stays")
async def closed_window(arena: Arena) -> str:
    """Ask for all tasks 4,000 times over 40 connections whose windows are closed."""
    block = call_headers("EnvService/ListTasks", HOSTILE)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(40):
            connection = await stack.enter_async_context(wire(arena.address, [(INITIAL_WINDOW_SIZE, 0)]))
            data = b"".join(
                frame(HEADERS, END_HEADERS, n, block) + frame(DATA, END_STREAM, n, message(b""))
                for n in range(1, 200, 2)
            )
            await sent(connection, data)
        await asyncio.sleep(2.0)
        await _serves(arena)
        return "4,000 unread answers, a newcomer served"


@attack("refused as the call's own failure; twelve siblings play on")
async def oversized_step(arena: Arena) -> str:
    """Send a step with 1.1 MB of arguments on the stream that twelve other episodes share."""
    async with arena.client() as client, contextlib.AsyncExitStack() as stack:
        siblings = [
            await stack.enter_async_context(client.session(SUMS, seed=n, options=TEXT)) for n in range(12)
        ]  # fmt: skip
        bully = await stack.enter_async_context(client.session(SUMS, seed=99, options=TEXT))
        playing = [asyncio.create_task(each.step([call("nap", key=each.id, seconds=0.6)])) for each in siblings]
        await asyncio.sleep(0.2)
        refusal = ""
        try:
            result = await bully.step([call("calculator", expression="1" * BIG)])
            refusal = f"{result.results[0].status}"
        except RLFactoryError as error:
            refusal = f"{error.reason}"
        played = await asyncio.gather(*playing, return_exceptions=True)
        failed = [each for each in played if isinstance(each, BaseException)]
        require(not failed, f"{len(failed)} of 12 siblings failed: {failed[0] if failed else ''}")
        require(refusal in ("rejected", "LIMIT_EXCEEDED", "BAD_REQUEST"), f"it was answered {refusal}")
        twice = [each.results[0].text for each in played if not isinstance(each, BaseException)]
        require(all(each.endswith(" 1") for each in twice), "a sibling's call was carried out twice")
        for each in siblings:
            await goes_on(each)
    return f"answered {refusal}; 12 of 12 siblings played on"


@attack("RESOURCE_EXHAUSTED, and memory stays")
async def oversized_calls(arena: Arena) -> str:
    """Make 60 calls of Step with 5 MB each."""
    async with arena.stub() as stub:
        for _ in range(60):
            huge = pb.StepRequest(session="x", seq=1, calls=[pb.ToolCall(name="a", arguments_json="1" * 5_000_000)])
            try:
                await stub.Step(huge, metadata=metadata(), timeout=10)
            except grpc.aio.AioRpcError as error:
                require(error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, f"{error.code()}")
    return "60 refused"


@attack("refused before it is unpacked")
async def compressed_bomb(arena: Arena) -> str:
    """Send messages of 1 MB that unpack to 256 MB each, eight of them."""
    bomb = gzip.compress(bytes(256 << 20), 9)
    block = call_headers("EnvService/Status", HOSTILE, [("grpc-encoding", "gzip")])
    body = message(bomb, compressed=True)
    pieces = [body[at : at + 16_000] for at in range(0, len(body), 16_000)]
    async with wire(arena.address) as connection:
        await asyncio.sleep(0.1)
        for stream in range(1, 17, 2):
            await sent(connection, frame(HEADERS, END_HEADERS, stream, block))
            for number, piece in enumerate(pieces):
                flags = END_STREAM if number == len(pieces) - 1 else 0
                if not await sent(connection, frame(DATA, flags, stream, piece)):
                    return "hung up on"
        await asyncio.sleep(1.5)
        await _serves(arena)
    return f"8 messages of {len(bomb) >> 10} KB that unpack to 256 MB, a newcomer served"


@attack("newcomers are served beside them")
async def slow_words(arena: Arena) -> str:
    """Open 100 calls on 20 connections and send their messages a byte at a time."""
    block = call_headers("EnvService/Reset", HOSTILE)
    body = message(b"\x0a\x40" + b"x" * 64)
    async with contextlib.AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(wire(arena.address)) for _ in range(20)]
        for connection in connections:
            await sent(connection, b"".join(frame(HEADERS, END_HEADERS, n, block) for n in (1, 3, 5, 7, 9)))
        for at in range(20):
            for connection in connections:
                await sent(connection, b"".join(frame(DATA, 0, n, body[at : at + 1]) for n in (1, 3, 5, 7, 9)))
            await asyncio.sleep(0.05)
        await _serves(arena)
    return "100 slow calls, a newcomer served"


@attack("what was opened is let go of")
async def vanishing_clients(arena: Arena) -> str:
    """Begin 200 steps that take a minute, and cut the connection each time."""
    async with arena.client() as watcher:
        before = (await watcher.status()).sessions
        for _ in range(10):
            async with arena.client() as client:
                sessions = [await client.reset(SUMS, seed=n, options=TEXT) for n in range(5)]
                steps = [
                    asyncio.create_task(client.step(e.session, 1, [call("nap", key="v", seconds=25)])) for e in sessions
                ]
                await asyncio.sleep(0.1)
                for each in steps:
                    each.cancel()
                await asyncio.gather(*steps, return_exceptions=True)
                for each_session in sessions:
                    await client.close(each_session.session)

        async def gone() -> bool:
            return (await watcher.status()).sessions <= before + 2  # honest ones come and go

        await until(gone, timeout_s=10 * arena.slowness, otherwise="sessions were left behind")
    return "50 sessions let go of"
