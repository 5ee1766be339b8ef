"""A file of tools: functions, qwen-agent tools, models, environments, MCP servers; and what is wrong in it."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.types import Split, ToolCall, ToolStatus
from rlfactory.envs.service.serve import tools_of_file
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.config import ToolsConfig, load_tools
from rlfactory.envs.tools.registry import default_tools
from rlfactory.envs.tools.runtime.executor import Executor
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, ToolContext
from rlfactory.envs.tools.toolset import open_tools

OK, ERROR, REJECTED, TIMEOUT = ToolStatus.OK, ToolStatus.ERROR, ToolStatus.REJECTED, ToolStatus.TIMEOUT
CONTEXT = ToolContext()
EXAMPLE = str(Path(__file__).parent / "mcp_example.py")

MINE = '''
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()

class Counter:
    """Count."""
    def __init__(self, start: int = 0) -> None:
        self.value = start
    def __call__(self) -> int:
        """Count on."""
        self.value += 1
        return self.value

class Reverse:
    name = "reverse"
    description = "Turn round."
    parameters = [{"name": "text", "type": "string", "required": True}]
    def __init__(self, cfg=None):
        self.cfg = cfg
    def call(self, params, **kwargs):
        import json
        return json.loads(params)["text"][::-1]
'''


class Shouting(Task):
    """Plays with a tool of a file."""

    name = "bench.shouting"
    suite = "bench"
    description = "Shout"
    tools: ClassVar[tuple[str, ...]] = ("loud", "calculator", "finish")
    needs_device = False

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Task:
        return cls()

    @property
    def goal(self) -> str:
        return "Shout."

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return ()

    async def solve(self, ui: UiDriver) -> None:
        await ui.finish()


def written(tmp_path: Path, text: str, name: str = "tools.yaml") -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    path = tmp_path / name
    path.write_text(text)
    return path


async def calls(config: ToolsConfig, *asked: tuple[str, dict[str, Any]]) -> list[tuple[ToolStatus, str]]:
    async with open_tools(config, default_tools()) as toolset:
        tools = {name: toolset.get(name)(CONTEXT) for name, _ in asked}
        executor = Executor(tools, max_output_chars=1000)
        results = await executor.run(
            [ToolCall(id=str(n), name=name, arguments=arguments) for n, (name, arguments) in enumerate(asked)],
            timeout_s=20,
        )
        await asyncio.gather(*(tool.close() for tool in tools.values()))
    return [(result.status, result.text) for result in results]


async def test_a_file_offers_its_tools_beside_ours(tmp_path):
    config = load_tools(
        written(
            tmp_path,
            """
            tools:
              loud: {function: "mine.py:shout", description: Be loud., policy: {pure: true, cache_ttl_s: 60}}
              count: {function: "mine.py:Counter", options: {start: 4}}
              back: {qwen_agent: "mine.py:Reverse"}
            """,
        ),
        environ={},
    )
    assert [entry.name for entry in config.tools] == ["loud", "count", "back"]
    assert config.tools[0].policy == ToolPolicy(pure=True, cache_ttl_s=60)
    assert await calls(
        config,
        ("loud", {"text": "hey"}),
        ("count", {}),
        ("count", {}),
        ("back", {"text": "abc"}),
        ("calculator", {"expression": "6*7"}),
    ) == [(OK, "HEY"), (OK, "5"), (OK, "6"), (OK, "cba"), (OK, "42")]


async def test_json_and_the_form_of_other_mcp_clients(tmp_path):
    content = {"mcpServers": {"example": {"type": "stdio", "command": sys.executable, "args": [EXAMPLE, "${KIND}"]}}}
    config = load_tools(written(tmp_path, json.dumps(content), "tools.json"), environ={"KIND": "stdio"})
    async with open_tools(config, default_tools()) as toolset:
        assert {"add", "calculator", "echo", "finish", "phone"} <= set(toolset)
        assert len(toolset) == len(list(toolset))
        with pytest.raises(UnknownName, match="no tool 'ad'; close: add"):
            toolset.get("ad")
        tool = toolset.get("add")(CONTEXT)
        assert await tool.call({"a": 1, "b": 2}, CallContext(timeout_s=20)) == "3"
    clash = load_tools(
        written(
            tmp_path,
            json.dumps({"tools": {"add": {"function": "mine.py:shout"}}, **content}),
            "tools.json",
        ),
        environ={"KIND": "stdio"},
    )
    with pytest.raises(TaskError, match="another tool 'add'; give it a prefix"):
        await calls(clash)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tools: [", "while parsing"),
        ("- a", "must be a mapping"),
        ("tool: {}", "unknown 'tool'; known: mcpServers, tools"),
        ("tools: {a: {}}", r"tools\.a: one of function, qwen_agent, model, environment must be given"),
        ("tools: {a: {function: 'mine.py:shout', model: {}}}", "and only one"),
        ("tools: {a: {function: shout}}", r"a\.function: must be module:name or file\.py:name"),
        ("tools: {a: {function: 'mine.py:whisper'}}", "no function or class 'whisper'"),
        ("tools: {a: {function: 'nothing.py:x'}}", "cannot import nothing.py"),
        ("tools: {a: {function: 'mine.py:shout', polcy: {}}}", "unknown 'polcy'; known: description, function"),
        ("tools: {a: {function: 'mine.py:shout', policy: {atempts: 2}}}", "unknown 'atempts'; known: attempt_timeout"),
        ("tools: {a: {function: 'mine.py:shout', policy: {attempts: 2}}}", r"a\.policy: attempts is 2, but only"),
        ("tools: {a: {model: {url: 'localhost', model: m}}}", "must begin with http"),
        ("tools: {a: {model: {url: 'http://x'}}}", "missing 1 required keyword-only argument: 'model'"),
        ("mcpServers: {m: {}}", "needs either a command or a url"),
        ("mcpServers: {m: {command: x, args: y}}", r"m\.args: must be a list of texts"),
        ("mcpServers: {m: {url: 'http://x', headers: {A: '${NOT_SET}'}}}", r"headers\.A: .* no variable NOT_SET"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(tmp_path, text, words):
    with pytest.raises(TaskError, match=words):
        load_tools(written(tmp_path, text), environ={})
    with pytest.raises(TaskError, match="No such file"):
        load_tools(tmp_path / "nowhere.yaml", environ={})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tools: {a: {function: 'os:getenv'}}", r"has no type \(.*os.*:\d+\)"),
        ("tools: {phone: {function: 'mine.py:shout'}}", "there is a tool 'phone' already"),
        ("mcpServers: {gone: {command: /nonexistent}}", "MCP server 'gone' cannot be reached"),
    ],
)
async def test_what_cannot_be_opened_is_said(tmp_path, text, words):
    with pytest.raises(TaskError, match=words):
        await calls(load_tools(written(tmp_path, text), environ={}))


async def test_a_service_offers_the_tools_of_its_file(tmp_path, client_of):
    path = written(tmp_path, "tools: {loud: {function: 'mine.py:shout'}}")
    async with (
        tools_of_file(path, {}) as tools,
        client_of(tasks=TaskRegistry((Shouting,)), tools=tools) as client,
        client.session("bench.shouting", seed=1) as session,
    ):
        assert [tool.name for tool in session.tools] == ["loud", "calculator", "finish"]
        result = await session.step([ToolCall(id="0", name="loud", arguments={"text": "hey"})])
        assert result.results[0].text == "HEY"


# --- a model ---------------------------------------------------------------------------------------------------------


def model(tmp_path: Path, url: str, name: str, *, timeout_s: float = 20) -> ToolsConfig:
    given = {"url": f"{url}/v1", "model": name, "system": "Be brief.", "key": "${KEY}"}
    content = {"tools": {"ask": {"model": given, "policy": {"timeout_s": timeout_s}}}}
    return load_tools(written(tmp_path, json.dumps(content), "tools.json"), environ={"KEY": "sesame"})


async def test_a_model_is_asked_as_openai_would_be(tmp_path, chat_stub):
    config = model(tmp_path, chat_stub, "echo")
    (_, heard), empty = await calls(config, ("ask", {"question": "Capital of France?"}), ("ask", {"question": " "}))
    assert empty == (REJECTED, "the question is empty")
    assert json.loads(heard) == {
        "path": "/v1/chat/completions",
        "authorization": "Bearer sesame",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Capital of France?"},
        ],
    }
    assert "sesame" not in repr(config)


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("error", ERROR, "HTTP 500: down"),
        ("not-json", ERROR, "did not answer JSON"),
        ("no-choices", ERROR, "no completion"),
        ("silent", ERROR, "it said nothing"),
        ("blank", ERROR, "it said nothing"),
        ("stall", TIMEOUT, "within 0.5 seconds"),
    ],
)
async def test_a_model_that_fails_or_stalls_is_told_as_that(tmp_path, chat_stub, name, status, words):
    timeout_s = 0.5 if status is TIMEOUT else 20
    ((ended, text),) = await calls(model(tmp_path, chat_stub, name, timeout_s=timeout_s), ("ask", {"question": "?"}))
    assert ended is status
    assert words in text


async def test_a_model_that_is_gone_is_a_failure(tmp_path, unused_tcp_port):
    gone = model(tmp_path, f"http://127.0.0.1:{unused_tcp_port}", "any")
    ((ended, text),) = await calls(gone, ("ask", {"question": "?"}))
    assert ended is ERROR
    assert text.startswith("the model gave no answer: ConnectError")
    assert "http" not in text, "an agent need not know where the model is"


# --- an environment --------------------------------------------------------------------------------------------------


async def test_another_environment_is_played_through_one_tool(tmp_path, serve):
    async with serve() as (server, _):
        given = {"address": server.address, "task": "bench.talk", "seed": 3}
        content = {"tools": {"helper": {"environment": given}}}
        config = load_tools(written(tmp_path, json.dumps(content), "tools.json"), environ={})
        ends = await calls(
            config,
            ("helper", {}),
            ("helper", {"tool": "free", "arguments": {"text": "hello"}}),
            ("helper", {"tool": "free", "arguments": {"do": "reject"}}),
            ("helper", {"tool": "free", "arguments": {"do": "fail"}}),
            ("helper", {"tool": 3}),
            ("helper", {"tool": "finish", "arguments": {"answer": "7"}}),
            ("helper", {"tool": "free"}),
        )
        assert server.manager.sessions == 0
    goal, said, *others = ends
    assert goal[0] is OK
    assert goal[1].startswith("Goal: Say ")
    assert "- free: free" in goal[1]
    assert said == (OK, "hello 1")
    assert others == [
        (REJECTED, "no such thing"),
        (ERROR, "the shop is closed"),
        (REJECTED, "'tool' must be a name, and 'arguments' an object"),
        (OK, "The episode is over.\nThe episode there is finished."),
        (REJECTED, "the episode there is finished; it ended with reward 0"),
    ]
