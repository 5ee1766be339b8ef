"""The door for MCP clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.adversary.arena import HOSTILE, SUMS, Arena, until
from benchmarks.adversary.attack import attack, require
from benchmarks.adversary.attacks.openenv import request
from rlfactory.envs.wire.trust_options import TOKEN_VARIABLE

ACCEPT = "Accept: application/json, text/event-stream"


@asynccontextmanager
async def door(arena: Arena) -> AsyncIterator[str]:
    """Run an MCP door over HTTP before the arena's service; give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rlfactory", "mcp", "--address", arena.address, "--http-port", str(port)),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=DEVNULL,
        env={**os.environ, TOKEN_VARIABLE: HOSTILE},
    )
    address = f"127.0.0.1:{port}"

    async def listens() -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        return True

    try:
        await until(listens, timeout_s=30, otherwise="the door does not open")
        yield address
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(10):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _plays(address: str, tool: str = "calculator", arguments: dict[str, Any] | None = None) -> str:
    """Begin an episode as an MCP client does, and calculate; return what was said."""
    from mcp.client.client import Client

    async with asyncio.timeout(20), Client(f"http://{address}/mcp") as client:
        await client.call_tool("begin", {"task": SUMS, "seed": 1})
        result = await client.call_tool(tool, arguments or {"expression": "6*7"})
        return str(result.content[0].text)  # type: ignore[union-attr]


@attack("refused: the name and the page are not the door's")
async def rebound_name(arena: Arena) -> str:
    """Come by a foreign Host, and from a foreign Origin."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    async with door(arena) as address:
        for header in ("Host: evil.example", "Origin: https://evil.example"):
            status = await request(address, "/mcp", body, [ACCEPT, header])
            require(status in (400, 403, 421), f"{header}: {status}")
    return "refused"


@attack("an error each; the door serves on", limit_s=45)
async def garbage(arena: Arena) -> str:
    """Send what is no JSON-RPC: noise, batches, nesting 100,000 deep, unknown methods, huge ids."""
    words = (
        b"", b"{", b"[]", b"[" * 100_000, os.urandom(1000), b'{"jsonrpc": "1.0"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": 1}',
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 100_000}).encode(),
        json.dumps([{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(5000)]).encode(),
    )  # fmt: skip
    async with door(arena) as address:
        for word in words:
            status = await request(address, "/mcp", word, [ACCEPT])
            require(400 <= status < 500, f"{word[:30]!r}: {status}")
        require(await _plays(address) == "42", "afterwards 6*7 is not 42")
    return f"{len(words)} refused"


@attack("the model's mistake; the episode goes on", limit_s=45)
async def hostile_arguments(arena: Arena) -> str:
    """Call tools with nested, huge and unknown arguments."""
    deep: Any = "x"
    for _ in range(90):
        deep = [deep]
    async with door(arena) as address:
        for tool, arguments in (
            ("calculator", {"expression": deep}), ("calculator", {"expression": "1" * 900_000}), ("nothing", {"a": 1}),
            ("begin", {"task": "no.such"}), ("begin", {"task": SUMS, "seed": -1}),
        ):  # fmt: skip
            said = await _plays(address, tool, arguments)
            require("INFRASTRUCTURE" not in said and "ENVIRONMENT" not in said, f"{tool}: {said[:100]}")
        require(await _plays(address) == "42", "afterwards 6*7 is not 42")
    return "each told as a mistake"


@attack("refused, and the door serves on", limit_s=45)
async def large_bodies(arena: Arena) -> str:
    """Send 10 bodies of 10 MB."""
    async with door(arena) as address:
        body = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "y" * 10_000_000}}
        ).encode()
        statuses = {await request(address, "/mcp", body, [ACCEPT]) for _ in range(10)}
        require(statuses <= {0, 400, 413, 422}, f"answered {statuses}")
        require(await _plays(address) == "42", "afterwards 6*7 is not 42")
    return f"answered {sorted(statuses)}"
