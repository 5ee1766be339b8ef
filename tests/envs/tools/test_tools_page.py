"""The page on tools tells the truth: its file loads, its task is solved by its oracle, a near miss is not."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.tasks.file import add_tasks
from rlfactory.envs.tasks.registry import TaskRegistry

PAGE = (Path(__file__).parents[3] / "docs" / "tools.md").read_text()


def block(language: str, holding: str) -> str:
    return next(str(code) for code in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if holding in code)


@pytest.fixture
def registry() -> TaskRegistry:
    source = block("python", "class CountFruit")
    assert len(source.splitlines()) < 60
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(source, "docs/tools.md", "exec", dont_inherit=True), names)  # the page's own code
    return TaskRegistry((names["CountFruit"],))


async def test_the_example_is_solved_by_its_oracle_and_by_no_near_miss(registry, client_of):
    async with client_of(tasks=registry) as client:
        for seed in range(5):
            record = await play(client, "shop.count", seed=seed, registry=registry)
            assert (record.stuck, record.reward.success, record.reward.total) == ("", True, 1.1)
        async with client.session("shop.count", seed=0) as session:
            end = await session.step([ToolCall(id="0", name="finish", arguments={"answer": "12"})])
            assert not end.reward.success


def test_the_example_of_a_file_is_one():
    content = yaml.safe_load(block("yaml", "mcpServers"))
    assert set(content) == {"tools", "mcpServers"}


async def test_the_example_as_a_file_is_served_by_the_command(tmp_path, program):
    path = tmp_path / "shop.py"
    path.write_text(block("python", "class CountFruit"))
    registry = TaskRegistry()
    add_tasks(registry, path)
    async with program("serve", "--phones", "0", "--port", "0", "--json", "--tasks", path) as (service, ready):
        async with EnvClient(ready["address"]) as client:
            record = await play(client, "shop.count", seed=1, registry=registry)
            assert record.reward.success
        service.send_signal(signal.SIGTERM)
        assert await service.wait() == 0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = (", "cannot import .*SyntaxError"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("x = 1", "defines no task"),
        ("from rlfactory.envs.tasks.phone.contacts import AddContact", "defines no task"),
    ],
)
def test_a_file_that_is_none_of_tasks_is_refused(tmp_path, source, words):
    path = tmp_path / "mine.py"
    path.write_text(source)
    with pytest.raises(TaskError, match=words):
        add_tasks(TaskRegistry(), path)


def test_a_file_that_is_not_there_or_a_name_that_is_taken_is_refused(tmp_path, registry):
    with pytest.raises(TaskError, match="there is no such file"):
        add_tasks(registry, tmp_path / "no.py")
    path = tmp_path / "shop.py"
    path.write_text(block("python", "class CountFruit"))
    with pytest.raises(TaskError, match=r"shop\.py: .*shop\.count"):
        add_tasks(registry, path)
