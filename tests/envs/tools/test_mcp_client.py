"""Tools of a real MCP server over each transport: calls, failures, broken connections, changing lists, many at once."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import socket
import sys
import time
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from httpcore2._async import http11

from rlfactory.envs.api.types import ToolCall, ToolStatus
from rlfactory.envs.tools.mcp.client import McpServer, McpUnreachable
from rlfactory.envs.tools.mcp.transport import McpConfig
from rlfactory.envs.tools.runtime.executor import Executor
from rlfactory.envs.tools.tool import ToolContext

EXAMPLE = str(Path(__file__).parent / "mcp_example.py")
CONTEXT = ToolContext()


def stdio(**more: Any) -> McpConfig:
    return McpConfig(name="example", command=sys.executable, args=(EXAMPLE, "stdio"), **more)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def example(kind: str, port: int) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    """Run the example over HTTP for the block."""
    return listening(port, sys.executable, EXAMPLE, kind, str(port))


@asynccontextmanager
async def listening(
    port: int, *command: str, env: dict[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a server for the block, which begins when it listens."""
    process = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL, env=env)
    try:
        while True:
            assert process.returncode is None
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                break
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def http(port: int, **more: Any) -> McpConfig:
    return McpConfig(name="example", url=f"http://127.0.0.1:{port}/mcp", **more)


def executor(server: McpServer) -> Executor:
    tools = {name: factory(CONTEXT) for name, factory in server.factories().items()}
    return Executor(tools, max_output_chars=1000)


async def one(server: McpServer, name: str, /, timeout_s: float = 20, **arguments: Any) -> tuple[ToolStatus, str]:
    (result,) = await executor(server).run([ToolCall(id="0", name=name, arguments=arguments)], timeout_s=timeout_s)
    return result.status, result.text


async def test_a_server_in_a_process_of_its_own(monkeypatch):
    monkeypatch.setenv("SECRET_OF_OURS", "hush")
    async with McpServer(stdio(env={"GIVEN": "yes"}, prefix="x-")) as server:
        assert "x-fail_loudly" in server.names
        schema = server.factories()["x-add"](CONTEXT).schema
        assert schema.description == "Add two numbers."
        assert schema.parameters["required"] == ["a", "b"]
        assert await one(server, "x-add", a=2, b=3) == (ToolStatus.OK, "5")
        status, text = await one(server, "x-fail_loudly")
        assert status is ToolStatus.ERROR
        assert "the well is dry" in text or "fail.loudly" in text
        assert (await one(server, "x-add", a="two"))[0] in (ToolStatus.REJECTED, ToolStatus.ERROR)
        assert await one(server, "x-variable", name="GIVEN") == (ToolStatus.OK, "yes")
        assert await one(server, "x-variable", name="SECRET_OF_OURS") == (ToolStatus.OK, "(none)")
        assert (await one(server, "x-echo", timeout_s=0.2, text="slow", delay_s=30))[0] is ToolStatus.TIMEOUT
        assert await one(server, "x-echo", text="on") == (ToolStatus.OK, "on")
        assert server.connections == 1


async def test_a_server_that_dies_is_started_again_and_the_call_is_not_repeated():
    async with McpServer(stdio(tools=("die", "pid"))) as server:
        assert server.names == ("pid", "die")
        first = (await one(server, "pid"))[1]
        assert await one(server, "die") == (
            ToolStatus.ERROR,
            "the connection to the tool broke; whether the call was carried out is not known",
        )
        second = (await one(server, "pid"))[1]
        assert first != second
        assert server.connections == 2


async def test_new_tools_reach_new_sessions_on_stdio(eventually):
    async with McpServer(stdio()) as server:
        await one(server, "learn", word="moin")
        await eventually(lambda: "say_moin" in server.names)
        assert await one(server, "say_moin") == (ToolStatus.OK, "moin")


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_behind_an_address_comes_back_after_a_restart(kind, eventually):
    port = free_port()
    config = (
        http(port) if kind == "http" else McpConfig(name="old", url=f"http://127.0.0.1:{port}/sse", transport="sse")
    )
    async with example(kind, port) as process:
        server = McpServer(config)
        async with server:
            assert await one(server, "add", a=2, b=3) == (ToolStatus.OK, "5")
            await one(server, "learn", word="servus")
            await eventually(lambda: "say_servus" in server.names)
            process.kill()
            await process.wait()
            assert (await one(server, "add", a=2, b=3))[0] is ToolStatus.ERROR
            assert "cannot be reached" in (await one(server, "add", a=2, b=3))[1]
            async with example(kind, port):
                assert await one(server, "add", a=4, b=3) == (ToolStatus.OK, "7")
                assert "say_servus" not in server.names


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_512_calls_in_flight_and_none_lost(kind):
    port = free_port()
    calls = [ToolCall(id=str(n), name="echo", arguments={"text": f"word {n}", "delay_s": 0.2}) for n in range(512)]
    if kind == "stdio":
        async with McpServer(stdio()) as server:
            results = await executor(server).run(calls, timeout_s=60)
    else:
        async with example("http", port), McpServer(http(port)) as server:
            results = await executor(server).run(calls, timeout_s=60)
    assert [(result.status, result.text) for result in results] == [(ToolStatus.OK, f"word {n}") for n in range(512)]


class Impatient:
    """A proxy that, once told to, closes the connections there are as soon as another request comes over them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connections: set[asyncio.StreamWriter] = set()
        self._stale: set[asyncio.StreamWriter] = set()
        self.closed = 0
        self.listed = 0
        """How often tools were asked for: at first, and again once the server's own messages are listened to."""

    def tire(self) -> None:
        self._stale |= self._connections

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._port)
        answering = asyncio.create_task(self._answer(inner_reader, writer))
        try:
            while data := await reader.read(1 << 16):
                self.listed += data.count(b'"method":"tools/list"')
                if writer in self._stale and data.startswith((b"POST ", b"GET ")):
                    self.closed += 1
                    break
                inner_writer.write(data)
        finally:
            answering.cancel()
            for each in (inner_writer, writer):
                each.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)


def busy_connections() -> int:
    connections = [each for each in gc.get_objects() if type(each) is http11.AsyncHTTP11Connection]
    return sum(not (each.is_idle() or each.is_closed()) for each in connections)


async def test_a_connection_that_the_server_is_about_to_close_is_not_used_again(monkeypatch, eventually):
    port = free_port()
    async with example("http", port):
        proxy = Impatient(port)
        listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        async with listener, McpServer(http(listener.sockets[0].getsockname()[1])) as server:
            assert await one(server, "add", a=2, b=3) == (ToolStatus.OK, "5")
            # The stream of what the server has to say stays open, and is the last to be busy.
            await eventually(lambda: proxy.listed == 2 and busy_connections() <= 1)
            proxy.tire()
            later = SimpleNamespace(monotonic=lambda: time.monotonic() + 4)  # servers wait for 5 s
            monkeypatch.setattr(http11, "time", later)
            assert await one(server, "add", a=4, b=3) == (ToolStatus.OK, "7")
            assert not proxy.closed


async def test_what_cannot_be_reached_says_why(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import sys; print('no licence file', file=sys.stderr); sys.exit(1)")
    for config, words in (
        (McpConfig(name="a", command="/nonexistent/server"), "No such file"),
        (McpConfig(name="b", command=sys.executable, args=(str(broken),)), "no licence file"),
        (McpConfig(name="c", url=f"http://127.0.0.1:{free_port()}/mcp"), "connect"),
        (McpConfig(name="d", command="sleep", args=("60",), connect_timeout_s=0.3), "within 0.3 seconds"),
    ):
        with pytest.raises(McpUnreachable, match=words):
            async with McpServer(config):
                pass


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"command": "x", "url": "http://x"},
        {"command": "x", "transport": "sse"},
        {"url": "http://x", "transport": "stdio"},
        {"url": "ftp://x"},
        {"url": "http://x", "transport": "smoke"},
    ],
)
def test_senseless_servers_are_refused(given):
    with pytest.raises(ValueError, match=r"MCP server|transport|url"):
        McpConfig(name="x", **given)
    assert "secret" not in repr(McpConfig(name="x", url="http://x", headers={"Authorization": "secret"}))


# --- the reference servers of the MCP project, where they are on the PATH ---------------------------------------------
# pip install mcp-server-time; npm install -g @modelcontextprotocol/server-everything, -memory


def program(name: str) -> str:
    return shutil.which(name) or pytest.skip(f"needs {name}")


def reference(name: str, *arguments: str, **variables: str) -> McpConfig:
    return McpConfig(name=name, command=program(name), args=arguments, env={"PATH": os.environ["PATH"], **variables})


@pytest.mark.mcp_reference
async def test_the_time_server_in_python():
    async with McpServer(reference("mcp-server-time", "--local-timezone", "UTC")) as server:
        told: dict[str, Any] = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        status, text = await one(server, "convert_time", **told)
        assert (status, "T21:00:00+09:00" in text) == (ToolStatus.OK, True)
        status, text = await one(server, "convert_time", **{**told, "target_timezone": "Mars/Base"})
        assert (status, "Mars/Base" in text) == (ToolStatus.ERROR, True)


@pytest.mark.mcp_reference
async def test_the_memory_server_in_typescript(tmp_path):
    async with McpServer(reference("mcp-server-memory", MEMORY_FILE_PATH=str(tmp_path / "memory.json"))) as server:
        ada = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
        await one(server, "create_entities", entities=[ada])
        status, text = await one(server, "search_nodes", query="tea")
    assert (status, "Ada" in text) == (ToolStatus.OK, True)


@pytest.mark.mcp_reference
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_everything_server_answers_512_calls_in_flight(transport):
    port, calls = (
        free_port(),
        [ToolCall(id=str(n), name="echo", arguments={"message": f"word {n}"}) for n in range(512)],
    )
    async with AsyncExitStack() as stack:
        config = reference("mcp-server-everything", "stdio")
        if transport == "http":
            environment = {"PATH": os.environ["PATH"], "PORT": str(port)}
            command = (program("mcp-server-everything"), "streamableHttp")
            await stack.enter_async_context(listening(port, *command, env=environment))
            config = http(port)
        server = await stack.enter_async_context(McpServer(config))
        results = await executor(server).run(calls, timeout_s=100)
        assert [(each.status, each.text) for each in results] == [
            (ToolStatus.OK, f"Echo: word {n}") for n in range(512)
        ]
        assert await one(server, "get-sum", a=2, b=40) == (ToolStatus.OK, "The sum of 2 and 40 is 42.")
