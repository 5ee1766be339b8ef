"""The door for OpenEnv's clients."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.adversary.arena import HOSTILE, SUMS, Arena
from benchmarks.adversary.attack import Broke, attack, require
from rlfactory.envs.wire.trust_options import TOKEN_VARIABLE


class Socket:
    """One WebSocket, as RFC 6455 has it; text messages only."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, text: str) -> None:
        data = text.encode()
        head = b"\x81" + (
            struct.pack(">B", 0x80 | len(data))
            if len(data) < 126
            else struct.pack(">BH", 0x80 | 126, len(data))
            if len(data) < 65536
            else struct.pack(">BQ", 0x80 | 127, len(data))
        )
        self._writer.write(head + b"\0\0\0\0" + data)
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None: it was closed."""
        text = b""
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                first, second = await self._reader.readexactly(2)
                length = second & 0x7F
                if length == 126:
                    (length,) = struct.unpack(">H", await self._reader.readexactly(2))
                elif length == 127:
                    (length,) = struct.unpack(">Q", await self._reader.readexactly(8))
                data = await self._reader.readexactly(length)
                if first & 0x0F == 8:
                    return None
                if first & 0x0F in (0, 1):
                    text += data
                    if first & 0x80:
                        found: dict[str, Any] = json.loads(text)
                        return found
        return None

    async def ask(self, kind: str, **data: object) -> dict[str, Any] | None:
        await self.send(json.dumps({"type": kind, "data": data}))
        return await self.receive()

    def cut(self) -> None:
        self._writer.transport.abort()


@asynccontextmanager
async def door(arena: Arena, command: str = "openenv", *options: str) -> AsyncIterator[str]:
    """Run a door before the arena's service; give its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rlfactory", command, "--address", arena.address, "--port", "0", "--json", *options),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        env={**os.environ, TOKEN_VARIABLE: HOSTILE},
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            line = await process.stdout.readline()
        yield json.loads(line)["address"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(10):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def web_socket(address: str, headers: Sequence[str] = ()) -> AsyncIterator[Socket | None]:
    """Connect; None: the door refused."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    key = base64.b64encode(os.urandom(16)).decode()
    own = [f"Host: {address}"] if not any(each.startswith("Host:") for each in headers) else []
    lines = ["GET /ws HTTP/1.1", *own, "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}"]
    writer.write("\r\n".join([*lines, "Sec-WebSocket-Version: 13", *headers, "", ""]).encode())
    await writer.drain()
    try:
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
        yield Socket(reader, writer) if b" 101 " in head.split(b"\r\n")[0] else None
    except asyncio.IncompleteReadError:
        yield None
    finally:
        writer.transport.abort()


async def request(address: str, path: str, body: bytes, headers: Sequence[str] = (), *, method: str = "POST") -> int:
    """Make an HTTP request; return its status, 0 if the connection was closed."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    own = [f"Host: {address}"] if not any(each.startswith("Host:") for each in headers) else []
    lines = [f"{method} {path} HTTP/1.1", *own, "Content-Type: application/json", f"Content-Length: {len(body)}"]
    try:
        async with asyncio.timeout(20):
            writer.write("\r\n".join([*lines, "Connection: close", *headers, "", ""]).encode() + body)
            await writer.drain()
            head = await reader.readline()
        return int(head.split()[1]) if head else 0
    except OSError:
        return 0
    finally:
        writer.transport.abort()


CALCULATE = {"tool_name": "calculator", "arguments": {"expression": "6*7"}}


async def _plays(socket: Socket | None) -> None:
    """Raises: Broke: the episode of this connection does not go on."""
    assert socket is not None
    answer = await socket.ask("step", **CALCULATE)
    if answer is None or answer["type"] != "observation" or answer["data"]["observation"].get("result") != "42":
        raise Broke(f"6*7 gave {str(answer)[:120]}")


@attack("refused, over WebSocket and over HTTP")
async def foreign_origin(arena: Arena) -> str:
    """Come from a web page of somebody else's."""
    evil = "Origin: https://evil.example"
    async with door(arena) as address:
        async with web_socket(address, [evil]) as socket:
            require(socket is None, "a WebSocket with a foreign Origin was accepted")
        body = json.dumps({"task": SUMS}).encode()
        status = await request(address, "/reset", body, [evil])
        require(status in (400, 403), f"POST /reset with a foreign Origin: {status}")
        for fine in ((), (f"Origin: http://{address}",)):
            async with web_socket(address, fine) as socket:
                require(socket is not None, f"{fine or 'no Origin'} was refused")
    return "refused; its own origin and none are let in"


@attack("refused: the name is not the door's")
async def rebound_name(arena: Arena) -> str:
    """Come by a name of somebody else's that points to loopback."""
    async with door(arena) as address:
        for host in ("evil.example", "[::1", "127.0.0.1@evil.example"):
            status = await request(address, "/reset", json.dumps({"task": SUMS}).encode(), [f"Host: {host}"])
            require(status in (400, 403, 421), f"the Host {host} was answered {status}")
        async with web_socket(address, ["Host: evil.example"]) as socket:
            require(socket is None, "a WebSocket to a foreign Host was accepted")
    return "refused"


@attack("refused as that client's; six others play on", limit_s=45)
async def oversized_message(arena: Arena) -> str:
    """Send a step with 1.2 MB of arguments beside six other clients."""
    async with door(arena) as address, contextlib.AsyncExitStack() as stack:
        others = [await stack.enter_async_context(web_socket(address)) for _ in range(6)]
        bully = await stack.enter_async_context(web_socket(address))
        for each in (*others, bully):
            assert each is not None
            await each.ask("reset", task=SUMS, seed=1, with_image=False)
        assert bully is not None

        async def pester(socket: Socket | None) -> None:
            for _ in range(30):
                await _plays(socket)
                await asyncio.sleep(0.05)

        playing = [asyncio.create_task(pester(each)) for each in others]
        await asyncio.sleep(0.2)
        for _ in range(3):
            await bully.ask("step", tool_name="calculator", arguments={"expression": "1" * 1_200_000})
        ended = await asyncio.gather(*playing, return_exceptions=True)
        failed = [each for each in ended if each is not None]
        require(not failed, f"{len(failed)} of 6 other clients failed: {failed[0] if failed else ''}")
    return "6 of 6 played on"


@attack("an error each; the connection goes on")
async def garbage_messages(arena: Arena) -> str:
    """Send what is no JSON, no message, nested 100,000 deep, or half a character."""
    words = ("{", "[]", '{"type": 1}', '{"type": "dance"}', "[" * 100_000, '{"type": "step", "data": {"calls": 7}}',
             json.dumps({"type": "reset", "data": {"task": "x" * 100_000}}),
             '{"type": "reset", "data": {"seed": 1e400}}',
             json.dumps({"type": "reset", "data": {"task": SUMS, "seed": 2**70}}),
             '{"type": "reset", "data": {"task": "\\ud800"}}')  # fmt: skip
    async with door(arena) as address, web_socket(address) as socket:
        assert socket is not None
        for word in words:
            await socket.send(word)
            answer = await socket.receive()
            require(answer is not None and answer["type"] == "error", f"{word[:40]}: {str(answer)[:100]}")
        await socket.ask("reset", task=SUMS, seed=1, with_image=False)
        await _plays(socket)
        deep = (
            '{"type": "step", "data": {"tool_name": "calculator", "arguments": {"expression": '
            + "[" * 900
            + "]" * 900
            + "}}}"
        )
        await socket.send(deep)
        answer = await socket.receive()
        data = answer["data"] if answer else {}
        blamed = data.get("blame", "model") in ("model", "client")
        require(blamed, f"nested arguments: {str(answer)[:120]}")
        await _plays(socket)
    return f"{len(words)} refused"


@attack("refused beyond the limit; the first play on")
async def too_many_connections(arena: Arena) -> str:
    """Open 40 connections where there may be eight."""
    async with door(arena, "openenv", "--max-sessions", "8") as address, contextlib.AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(web_socket(address)) for _ in range(40)]
        first = sockets[0]
        assert first is not None
        await first.ask("reset", task=SUMS, seed=1, with_image=False)
        await _plays(first)
        told = 0
        for each in sockets[8:]:
            answer = await each.receive() if each is not None else None
            told += answer is None or answer["data"]["code"] == "CAPACITY_REACHED"
        require(told == 32, f"{32 - told} beyond the limit were let in")
    return "8 in, 32 refused"


@attack("refused, and the door serves on")
async def large_bodies(arena: Arena) -> str:
    """Send 10 bodies of 10 MB over HTTP."""
    async with door(arena) as address:
        statuses = {await request(address, "/reset", b'{"task": "' + b"x" * 10_000_000 + b'"}') for _ in range(10)}
        require(statuses <= {0, 400, 413, 422}, f"answered {statuses}")
        require(await request(address, "/health", b"", method="GET") == 200, "the door is dead")
    return f"answered {sorted(statuses)}"
