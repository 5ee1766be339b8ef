"""MCP clients play episodes: over the SDK's own client, in process and by the command."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from rlfactory.envs.adapters.mcp_server import EnvironmentServer
from rlfactory.envs.client import ClientConfig, EnvClient, RetryPolicy

COMMAND = ("-c", "from rlfactory.envs.adapters.cli import app; app()", "mcp")


def text(result) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_begins_plays_and_ends_an_episode(serve, mode):
    async with (
        serve() as (service, env),
        EnvironmentServer(env) as adapter,
        Client(adapter.server, mode=mode) as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["tasks", "begin"]
        assert "bench.talk (bench): Say a number" in text(await client.call_tool("tasks", {"suite": "bench"}))
        early = await client.call_tool("free", {})
        assert early.is_error
        assert "no episode has begun" in text(early)
        begun = text(await client.call_tool("begin", {"task": "bench.talk", "seed": 3}))
        assert begun.startswith("Goal: Say ")
        assert "these tools: free, shared, finish" in begun
        tools = (await client.list_tools(cache_mode="bypass")).tools
        assert [tool.name for tool in tools] == ["tasks", "begin", "free", "shared", "finish"]
        assert text(await client.call_tool("free", {"text": "hello"})) == "hello 1"
        refused = await client.call_tool("free", {"do": "reject"})
        assert (refused.is_error, text(refused)) == (True, "rejected: no such thing")
        number = begun.split("Say ")[1].split(".")[0]
        end = await client.call_tool("finish", {"answer": number})
        assert "The episode is finished. Reward 1, success True." in text(end)
        assert (await client.call_tool("free", {})).is_error
        again = await client.call_tool("begin", {"task": "bench.talk"})
        assert not again.is_error
        assert service.manager.sessions == 1
        for wrong in ({"task": "bench.tal"}, {"task": 3}, {"task": "bench.talk", "seed": -1}):
            assert (await client.call_tool("begin", wrong)).is_error
    assert service.manager.sessions == 0


async def test_the_command_serves_a_client_on_stdio(serve, eventually):
    async with serve() as (service, _):
        command = StdioServerParameters(
            command=sys.executable, args=[*COMMAND, "--address", service.address, "--task", "bench.talk"]
        )
        async with Client(command) as client:
            assert text(await client.call_tool("shared", {"text": "hi"})) == "hi 1"
        await eventually(lambda: not service.manager.sessions)


NODE_CLIENT = """
const {spawn} = require('child_process');
const [command, ...args] = JSON.parse(process.argv[1]);
const server = spawn(command, args, {stdio: ['pipe', 'pipe', 'inherit']});
let rest = '', waiting = new Map(), id = 0;
server.stdout.on('data', data => {
  const lines = (rest + data).split('\\n'); rest = lines.pop();
  for (const m of lines.map(JSON.parse)) { if (waiting.has(m.id)) { waiting.get(m.id)(m); waiting.delete(m.id); } }
});
const send = m => server.stdin.write(JSON.stringify({jsonrpc: '2.0', ...m}) + '\\n');
const ask = (method, params) => new Promise(done => { waiting.set(++id, done); send({id, method, params}); });
(async () => {
  const me = {protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {name: 'node', version: '1'}};
  const hello = await ask('initialize', me);
  send({method: 'notifications/initialized'});
  const tools = await ask('tools/list', {});
  const said = await Promise.all(Array.from({length: 20}, (_, n) =>
    ask('tools/call', {name: n == 19 ? 'finish' : 'shared', arguments: n == 19 ? {} : {text: 'word' + n}})));
  console.log(JSON.stringify({server: hello.result.serverInfo.name, tools: tools.result.tools.map(t => t.name),
    said: said.map(m => m.result.content[0].text)}));
  server.stdin.end();
})();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js: a client in another language")
async def test_a_client_in_another_language(serve):
    async with serve(max_turns=50) as (service, _):
        command = [sys.executable, *COMMAND, "--address", service.address, "--task", "bench.talk"]
        node = await asyncio.create_subprocess_exec(
            "node", "-e", NODE_CLIENT, json.dumps(command), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await node.communicate()
    heard = json.loads(out)
    assert heard["server"] == "rlfactory"
    assert heard["tools"] == ["tasks", "begin", "free", "shared", "finish"]
    assert heard["said"][:4] == [f"word{n} {n + 1}" for n in range(4)]
    assert len(heard["said"]) == 20, "every call is answered, those after the last turn too"
    assert "truncated" in heard["said"][-1]


async def test_over_http_it_says_where_it_listens(serve, program):
    async with (
        serve() as (service, _),
        program("mcp", "--address", service.address, "--task", "bench.talk", "--http-port", 0) as (_, line),
    ):
        (url,) = re.findall(r"on (http://127\.0\.0\.1:\d+/mcp); Ctrl-C stops", line)
        async with Client(url) as client:
            assert "free" in [tool.name for tool in (await client.list_tools()).tools]


async def test_a_service_that_is_gone_is_told(serve):
    async with serve() as (service, _):
        client = EnvClient(service.address, config=ClientConfig(retry=RetryPolicy(patience_s=0.5)))
        await client.__aenter__()
    async with EnvironmentServer(client) as adapter, Client(adapter.server) as player:
        result = await player.call_tool("begin", {"task": "bench.talk"})
        assert result.is_error
        assert "INFRASTRUCTURE" in text(result)
    await client.aclose()
