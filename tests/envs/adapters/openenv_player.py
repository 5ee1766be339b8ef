"""Plays an episode of the bench by OpenEnv's own clients, and prints what they saw: `openenv_player.py URL`."""

from __future__ import annotations

import asyncio
import json
import sys

from openenv.core import GenericEnvClient, MCPToolClient


async def main(url: str) -> None:
    async with GenericEnvClient(base_url=url) as env:
        first = await env.reset(seed=3, task="bench.talk", episode_id="mine")
        calls = [{"name": name, "arguments": {"text": name}} for name in ("free", "shared")]
        both = await env.step({"calls": calls})
        state = await env.state()
        number = state["goal"].split()[1].rstrip(".")
        last = await env.step({"type": "call_tool", "tool_name": "finish", "arguments": {"answer": number}})
    async with MCPToolClient(base_url=url) as env:
        await env.reset(task="bench.talk")
        tools = [tool.name for tool in await env.list_tools(use_cache=False)]
        said = await env.call_tool("free", text="hello")
        try:
            refused = await env.call_tool("free", do="reject")
        except RuntimeError as error:
            refused = str(error)
    seen = {
        "goal": first.observation["goal"],
        "texts": [each["text"] for each in both.observation["results"]],
        "episode": [state["episode_id"], state["step_count"]],
        "last": [last.reward, last.done],
        "tools": tools,
        "said": said,
        "refused": refused,
    }
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1]))
