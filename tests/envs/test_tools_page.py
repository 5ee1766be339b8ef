"""The page on tools tells the truth: its file loads, its task is solved by its oracle, a near miss is not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from envs.client import EnvClient
from envs.oracle import play
from envs.server import ServerConfig, serving
from envs.tasks.registry import TaskRegistry
from envs.types import ToolCall

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()


def block(language: str, holding: str) -> str:
    return next(str(code) for code in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if holding in code)


@pytest.fixture
def registry() -> TaskRegistry:
    source = block("python", "class CountFruit")
    assert len(source.splitlines()) < 60
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(source, "docs/tools.md", "exec", dont_inherit=True), names)  # the page's own code
    return TaskRegistry((names["CountFruit"],))


async def test_the_example_is_solved_by_its_oracle_and_by_no_near_miss(registry):
    async with serving(ServerConfig(drain_s=0.5), tasks=registry) as server, EnvClient(server.address) as client:
        for seed in range(5):
            record = await play(client, "shop.count", seed=seed, registry=registry)
            assert (record.stuck, record.reward.success, record.reward.total) == ("", True, 1.1)
        async with client.session("shop.count", seed=0) as session:
            end = await session.step([ToolCall(id="0", name="finish", arguments={"answer": "12"})])
            assert not end.reward.success


def test_the_example_of_a_file_is_one():
    content = yaml.safe_load(block("yaml", "mcpServers"))
    assert set(content) == {"tools", "mcpServers"}
