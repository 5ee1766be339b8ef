"""Our client against the reference servers of the MCP project, where they are on the PATH.

pip install mcp-server-time; npm install -g @modelcontextprotocol/server-everything @modelcontextprotocol/server-memory
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from rlfactory.envs.api.types import ToolCall, ToolStatus
from rlfactory.envs.tools.mcp.client import McpServer, McpUnreachable
from rlfactory.envs.tools.mcp.transport import McpConfig
from rlfactory.envs.tools.runtime.executor import Executor
from rlfactory.envs.tools.tool import ToolContext

pytestmark = pytest.mark.mcp_reference
CONTEXT = ToolContext()


def command(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}")
    return found


def stdio(name: str, *arguments: str, **variables: str) -> McpConfig:
    return McpConfig(name=name, command=command(name), args=arguments, env={"PATH": os.environ["PATH"], **variables})


async def called(server: McpServer, *calls: tuple[str, dict[str, Any]]) -> list[tuple[ToolStatus, str]]:
    tools = {name: factory(CONTEXT) for name, factory in server.factories().items()}
    asked = [ToolCall(id=str(n), name=name, arguments=arguments) for n, (name, arguments) in enumerate(calls)]
    results = await Executor(tools, max_output_chars=2000).run(asked, timeout_s=100)
    return [(result.status, result.text) for result in results]


async def test_the_time_server_in_python():
    async with McpServer(stdio("mcp-server-time", "--local-timezone", "UTC")) as server:
        told = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        right, wrong = await called(
            server, ("convert_time", told), ("convert_time", {**told, "target_timezone": "Mars/Base"})
        )
    assert right[0] is ToolStatus.OK
    assert "T21:00:00+09:00" in right[1]
    assert wrong[0] is ToolStatus.ERROR
    assert "Mars/Base" in wrong[1]


async def test_the_memory_server_in_typescript(tmp_path: Path):
    config = stdio("mcp-server-memory", MEMORY_FILE_PATH=str(tmp_path / "memory.json"))
    async with McpServer(config) as server:
        ada = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
        await called(server, ("create_entities", {"entities": [ada]}))
        [(status, text)] = await called(server, ("search_nodes", {"query": "tea"}))
    assert (status, "Ada" in text) == (ToolStatus.OK, True)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_everything_server_answers_512_calls_in_flight(transport: str):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config, process = stdio("mcp-server-everything", "stdio"), None
    if transport == "http":
        process = await asyncio.create_subprocess_exec(
            *(command("mcp-server-everything"), "streamableHttp"),
            env={"PATH": os.environ["PATH"], "PORT": str(port)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        config = McpConfig(name="everything", url=f"http://127.0.0.1:{port}/mcp")
    try:
        async with await reached(config) as server:
            answers = await called(server, *(("echo", {"message": f"word {n}"}) for n in range(512)))
            assert answers == [(ToolStatus.OK, f"Echo: word {n}") for n in range(512)]
            assert await called(server, ("get-sum", {"a": 2, "b": 40})) == [
                (ToolStatus.OK, "The sum of 2 and 40 is 42.")
            ]
    finally:
        if process is not None:
            process.kill()
            await process.wait()


async def reached(config: McpConfig) -> McpServer:
    """Return a server that can be entered: one over HTTP needs a moment to listen. The test's timeout is the bound."""
    while True:
        try:
            async with McpServer(config):
                return McpServer(config)
        except McpUnreachable:
            await asyncio.sleep(0.2)
