"""The OpenEnv server, over real sockets: by its own messages, and by OpenEnv's own clients where they are installed."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
import websocket
from PIL import Image

from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.adapters.openenv import WEBSOCKETS, OpenEnvServer
from rlfactory.envs.client import EnvClient

OPENENV_PYTHON = os.environ.get("OPENENV_PYTHON", sys.executable)
"""An interpreter that has `openenv-core`, which wants more of the world than we do (gradio, fastmcp)."""


@asynccontextmanager
async def opened(env: EnvClient, **options: Any) -> AsyncIterator[str]:
    """Serve a adapter in this loop; give its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with OpenEnvServer(env, **options) as adapter:
            server = uvicorn.Server(uvicorn.Config(adapter.app, log_level="warning", ws=WEBSOCKETS))
            task = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                yield f"127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.should_exit = True
                await task


class Player:
    """A client of few words; websocket-client blocks, so it works in threads."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self.socket = socket

    async def say(self, text: str) -> dict[str, Any]:
        await asyncio.to_thread(self.socket.send, text)
        answer: dict[str, Any] = json.loads(await asyncio.to_thread(self.socket.recv))
        return answer

    async def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        return await self.say(json.dumps({"type": kind, "data": data}))


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Player]:
    connection = await asyncio.to_thread(websocket.create_connection, f"ws://{address}/ws", timeout=30)
    try:
        yield Player(connection)
    finally:
        await asyncio.to_thread(connection.close)


async def test_a_connection_plays_an_episode_to_its_end(serve, eventually):
    async with serve() as (service, env), opened(env) as address:
        async with connected(address) as player:
            assert (await player.ask("state"))["data"] == {"step_count": 0}
            begun = await player.ask("reset", task="bench.talk", seed=3, episode_id="mine")
            assert begun["type"] == "observation"
            first = begun["data"]
            assert (first["reward"], first["done"]) == (None, False)
            assert [tool["name"] for tool in first["observation"]["tools"]] == ["free", "shared", "finish"]
            one = await player.ask("step", tool_name="free", arguments={"text": "a"})
            assert one["data"] == {"observation": {"tool_name": "free", "result": "a 1"}, "reward": 0.0, "done": False}
            refused = await player.ask("step", type="call_tool", tool_name="free", arguments={"do": "reject"})
            error = {"error_type": "invalid_args", "message": "no such thing"}
            assert refused["data"]["observation"] == {"tool_name": "free", "error": error}
            listed = await player.ask("step", type="list_tools")
            assert listed["data"]["observation"]["tools"] == first["observation"]["tools"]
            number = first["observation"]["goal"].split()[1].rstrip(".")
            calls = [{"name": "shared"}, {"name": "finish", "arguments": {"answer": number}}]
            last = (await player.ask("step", calls=calls))["data"]
            assert (last["reward"], last["done"]) == (1.0, True)
            assert [each["status"] for each in last["observation"]["results"]] == ["ok", "ok"]
            state = (await player.ask("state"))["data"]
            assert {"episode_id": "mine", "step_count": 3, "seed": 3, "success": True, "reward": 1.0}.items() <= {
                (name, value) for name, value in state.items() if not isinstance(value, (list, dict))
            }
            over = await player.ask("step", tool_name="free")
            assert (over["type"], over["data"]["code"]) == ("error", "SESSION_ERROR")
            assert service.manager.sessions == 1
        await eventually(lambda: service.manager.sessions == 0)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("nonsense", "INVALID_JSON", "Invalid JSON"),
        ("[1]", "VALIDATION_ERROR", "a message is an object"),
        ('{"type": "mcp"}', "UNKNOWN_TYPE", "reset"),
        ('{"type": "step", "data": {"tool_name": "free"}}', "SESSION_ERROR", "reset first"),
        ('{"type": "step", "data": {"tool": "free"}}', "VALIDATION_ERROR", "tool_name"),
        ('{"type": "reset"}', "VALIDATION_ERROR", "has to name a task"),
        ('{"type": "reset", "data": {"task": "bench.tal"}}', "VALIDATION_ERROR", "close: bench.talk"),
        ('{"type": "reset", "data": {"tsk": "bench.talk"}}', "VALIDATION_ERROR", "tsk"),
        ('{"type": "reset", "data": {"seed": -1}}', "VALIDATION_ERROR", "seed"),
    ],
)
async def test_what_makes_no_sense_is_refused_in_words(serve, text, code, words):
    async with serve() as (_, env), opened(env) as address, connected(address) as player:
        answer = await player.say(text)
        assert (answer["type"], answer["data"]["code"]) == ("error", code)
        assert words in answer["data"]["message"]
        begun = await player.ask("reset", task="bench.talk")
        assert begun["type"] == "observation", "the connection lives on"


async def test_a_failure_of_infrastructure_is_an_error_and_no_reward(serve):
    async with serve() as (_, env), opened(env, task="bench.talk") as address, connected(address) as player:
        await player.ask("reset")
        lost = await player.ask("step", tool_name="free", arguments={"do": "lose"})
        assert lost["data"]["code"] == "EXECUTION_ERROR"
        assert lost["data"]["blame"] == "infrastructure"
        assert (await player.ask("step", tool_name="free"))["data"]["code"] == "SESSION_ERROR"
        assert (await player.ask("reset"))["type"] == "observation"


async def test_connections_beyond_the_limit_are_refused(serve):
    async with serve() as (_, env), opened(env, max_sessions=1) as address, connected(address):
        async with connected(address) as second:
            answer = json.loads(await asyncio.to_thread(second.socket.recv))
        assert answer["data"]["code"] == "CAPACITY_REACHED"


async def test_http_plays_episodes_by_their_ids(serve):
    async with (
        serve() as (service, env),
        opened(env, task="bench.talk", max_sessions=2) as address,
        httpx.AsyncClient(base_url=f"http://{address}", timeout=30) as http,
    ):
        assert (await http.get("/health")).json() == {"status": "healthy"}
        assert (await http.get("/metadata")).json()["name"] == "rlfactory bench.talk"
        assert set((await http.get("/schema")).json()) == {"action", "observation", "state"}
        assert (await http.get("/state")).json() == {"step_count": 0}
        assert (await http.post("/step", json={"action": {"tool_name": "free"}})).status_code == 409
        one = (await http.post("/reset", json={"seed": 1, "episode_id": "one"})).json()
        assert one["observation"]["episode_id"] == "one"
        said = await http.post("/step", json={"action": {"tool_name": "free", "arguments": {"text": "x"}}})
        assert said.json()["observation"]["result"] == "x 1"
        two = (await http.post("/reset")).json()["observation"]["episode_id"]
        unclear = await http.post("/step", json={"action": {"tool_name": "free"}})
        assert (unclear.status_code, "say which" in unclear.json()["detail"]) == (422, True)
        assert (await http.get("/state", params={"episode_id": two})).json()["step_count"] == 0
        assert (await http.get("/state", params={"episode_id": "one"})).json()["step_count"] == 1
        assert (await http.post("/reset")).status_code == 503
        assert (await http.post("/reset", json={"episode_id": "one"})).status_code == 200, "it takes its own place"
        assert (await http.post("/step", json={"action": {}, "episode_id": two})).status_code == 422
        bare = await http.post("/step", json={"tool_name": "free"})
        assert (bare.status_code, '{"action": {"tool_name": ' in bare.json()["detail"]) == (422, True)
        lost = await http.post(
            "/step", json={"action": {"tool_name": "free", "arguments": {"do": "lose"}}, "episode_id": two}
        )
        assert (lost.status_code, lost.json()["blame"]) == (503, "infrastructure")
        assert (await http.get("/state", params={"episode_id": two})).status_code == 409
        assert service.manager.sessions >= 1
    assert service.manager.sessions == 0


async def test_an_episode_over_http_that_nobody_asks_for_is_given_up(serve, eventually):
    async with (
        serve() as (service, env),
        opened(env, task="bench.talk", idle_s=0.1) as address,
        httpx.AsyncClient(base_url=f"http://{address}") as http,
    ):
        await http.post("/reset")
        await eventually(lambda: service.manager.sessions == 0)


async def test_a_phone_is_seen_as_a_picture(client_of):
    async with (
        client_of(phones=phone_source(PhonesConfig(phones=1, width_px=270, height_px=600))) as env,
        opened(env, task="settings.wifi_on") as address,
        connected(address) as player,
    ):
        first = (await player.ask("reset", seed=1, max_pixels=100_000, with_tree=True))["data"]["observation"]
        picture = first["image"]
        with Image.open(io.BytesIO(base64.b64decode(picture["data"]))) as image:
            assert image.size == (picture["width"], picture["height"])
        assert picture["width"] * picture["height"] <= 100_000
        assert "<hierarchy" in first["tree_xml"]
        arguments = {"action": "open_app", "app": "Settings"}
        opened_app = (await player.ask("step", tool_name="phone", arguments=arguments))["data"]["observation"]
        assert opened_app["activity"].startswith("com.android.settings/")


COMMAND = ("openenv", "--port", "0", "--json")


@pytest.mark.openenv
async def test_openenvs_own_clients_play(serve, eventually, program):
    probe = await asyncio.create_subprocess_exec(
        OPENENV_PYTHON, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('openenv') is None)"
    )
    if await probe.wait():
        pytest.skip("needs openenv-core; OPENENV_PYTHON names an interpreter that has it")
    async with serve() as (service, _), program(*COMMAND, "--address", service.address) as (adapter, ready):
        line = [OPENENV_PYTHON, str(Path(__file__).with_name("openenv_player.py")), f"http://{ready['address']}"]
        player = await asyncio.create_subprocess_exec(*line, stdout=asyncio.subprocess.PIPE)
        out, _ = await player.communicate()
        await eventually(lambda: service.manager.sessions == 0)
        adapter.send_signal(signal.SIGTERM)
        assert await adapter.wait() == 0
    heard = json.loads(out)
    assert heard["goal"].startswith("Say ")
    assert heard["texts"] == ["free 1", "shared 1"]
    assert heard["episode"] == ["mine", 1]
    assert heard["last"] == [1.0, True]
    assert heard["tools"] == ["free", "shared", "finish"]
    assert heard["said"] == "hello 1"
    assert "no such thing (type: invalid_args)" in heard["refused"]


async def test_the_command_says_where_it_listens_and_ends_its_episodes(serve, eventually, program):
    async with serve() as (service, _):
        async with program(*COMMAND, "--address", service.address, "--task", "bench.talk") as (adapter, ready):
            async with httpx.AsyncClient() as http:
                await http.post(f"http://{ready['address']}/reset")
            assert service.manager.sessions == 1
            adapter.send_signal(signal.SIGINT)
            assert await adapter.wait() == 0
        await eventually(lambda: service.manager.sessions == 0)
