"""A session's tools in verl's own tool agent loop: a scripted model searches, answers, and is paid by the session."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap, _agent_loop_registry
from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
from verl.tools.tool_registry import initialize_tools_from_config
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput

from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import EnvServer, ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.search_qa import SEARCH_QA_TASKS
from rlfactory.envs.tasks.search_qa.made import Chain
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer
from rlfactory.trainer.verl import tools as verl_tools
from rlfactory.trainer.verl.tools import SessionTool, SessionToolLoop, score
from rlfactory.trainer.verl.tools_cli import ask, main, tools_file

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

REGISTRY = TaskRegistry(SEARCH_QA_TASKS)
TASK = "search_qa.birthplace"
TEXT_ONLY = SessionOptions(with_image=False)


@pytest.fixture
async def service() -> AsyncIterator[EnvServer]:
    async with serving(ServerConfig(drain_s=0.5), tasks=REGISTRY) as server:
        yield server


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer(Corpus(phrases=(), texts=("search for a town",), max_number=9), vocabulary=400)


def written(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


class Scripted:
    """Stands where verl's servers are: says what the script says, token by token."""

    def __init__(self, tokenizer: Any, script: Sequence[Callable[[str], str]]) -> None:
        self._tokenizer = tokenizer
        self._script = iter(script)

    async def generate(self, *, prompt_ids: list[int], **_: Any) -> TokenOutput:
        text = next(self._script)(self._tokenizer.decode(prompt_ids))
        ids = [*self._tokenizer.encode(text, add_special_tokens=False), self._tokenizer.eos_token_id]
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids))


async def rows_of(
    server: EnvServer, folder: Path, *, task: str = TASK, options: SessionOptions = TEXT_ONLY
) -> tuple[list[Any], dict[str, Any]]:
    """Return verl's tools, loaded by verl, and a row."""
    async with EnvClient(server.address) as client:
        schemas, rows = await ask(client, [task], split="train", episodes=1, first_seed=7, options=options)
    path = folder / "tools.yaml"
    path.write_text(yaml.safe_dump(tools_file(schemas, address=server.address, options=options)))
    return initialize_tools_from_config(str(path)), rows[0]


async def run(
    loop: type[ToolAgentLoop], tools: list[Any], row: dict[str, Any], tokenizer: Any, script: Sequence[Any]
) -> Any:
    rollout = {
        "prompt_length": 4_000,
        "response_length": 8_000,
        "full_determinism": False,
        "multi_turn": {
            "max_user_turns": 8,
            "max_assistant_turns": 8,
            "max_parallel_calls": 4,
            "max_tool_response_length": 4_000,
            "tool_response_truncate_side": "middle",
            "format": "hermes",
        },
    }
    made = loop(
        trainer_config=DictConfigWrap(OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}})),
        server_manager=Scripted(tokenizer, script),
        tokenizer=tokenizer,
        processor=None,
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(OmegaConf.create({})),
        tools=ToolListWrap(tools),
    )
    extra = row["extra_info"]
    return await made.run({}, raw_prompt=row["prompt"], tools_kwargs=extra["tools_kwargs"], extra_info=extra)


def solution(seed: int = 7) -> tuple[str, str]:
    task = REGISTRY.draw(TASK, seed=seed, split="train")
    assert isinstance(task, Chain)
    return task.start.name, task.golds[0]


async def test_verls_loop_plays_an_episode_and_is_paid_by_the_session(service, tokenizer, tmp_path):
    tools, row = await rows_of(service, tmp_path)
    assert all(isinstance(tool, SessionTool) for tool in tools)
    assert _agent_loop_registry[row["agent_name"]]["_target_"] == "rlfactory.trainer.verl.tools.SessionToolLoop"
    person, town = solution()

    def answer(prompt: str) -> str:
        return written("finish", answer=town if f"Doc 1(Title: {person})" in prompt else "nowhere")

    script = [
        lambda prompt: written("search", query=person),
        answer,
        lambda prompt: pytest.fail("the episode is over"),
    ]
    [output] = await run(SessionToolLoop, tools, row, tokenizer, script)
    assert output.reward_score == 1.0
    assert output.extra_fields["reward_extra_info"] == {"success": 1.0}
    assert sum(output.extra_fields["tool_rewards"]) == 1.0
    assert sum(output.response_mask) == len(output.response_logprobs) - output.response_logprobs.count(0.0)


async def test_verls_own_loop_is_paid_by_the_reward_function(service, tokenizer, tmp_path, eventually):
    tools, row = await rows_of(service, tmp_path)
    person, town = solution()
    script = [
        lambda prompt: written("search", query=person) + written("search", question="what?"),
        lambda prompt: written("finish", answer=town),
        lambda prompt: written("search", query="more"),
        lambda prompt: "Done." if "not run: the episode is finished" in prompt else pytest.fail(prompt),
    ]
    output = await run(ToolAgentLoop, tools, row, tokenizer, script)
    assert score(TASK, "", "", output.extra_fields) == 0.8  # right, with a refused call
    assert output.extra_fields["tool_rewards"][-1] == 0.0
    gc.collect()
    await eventually(lambda: not service.manager.sessions)  # the agent is gone, and its episode with it


async def test_an_episode_whose_service_fails_is_dropped_and_never_scored(service, tokenizer, tmp_path):
    tools, row = await rows_of(service, tmp_path)
    for loop in (SessionToolLoop, ToolAgentLoop):
        row["extra_info"]["tools_kwargs"] = {"search": {"create_kwargs": {"task": "search_qa.gone"}}}
        script = [lambda prompt: written("search", query="x"), lambda prompt: "I give up."]
        output = await run(loop, tools, row, tokenizer, script)
        if loop is SessionToolLoop:
            assert output == []
        else:
            with pytest.raises(InfrastructureError, match="void episode"):
                score(TASK, "", "", output.extra_fields)


async def test_a_tool_without_an_agent_holds_an_episode_for_its_instance(service, tmp_path):
    tools, _ = await rows_of(service, tmp_path)
    search = next(tool for tool in tools if tool.name == "search")
    instance, _ = await search.create(create_kwargs={"task": TASK, "seed": 7})
    for _ in range(2):
        answer, gained, metrics = await search.execute(instance, {"query": solution()[0]})
        assert answer.text.startswith("Doc 1")
        assert (gained, metrics["status"]) == (0.0, "ok")
    assert service.manager.sessions == 1
    assert await search.calc_reward(instance) == 0.0
    await search.release(instance)
    assert service.manager.sessions == 0
    unnamed, _ = await search.create()
    with pytest.raises(TaskError, match="no task"):
        await search.execute(unnamed, {"query": "x"})


async def test_a_phone_shows_its_screens(tmp_path):
    source = phone_source(PhonesConfig(phones=1, width_px=270, height_px=600))
    async with serving(ServerConfig(drain_s=0.5), phones=source) as server:
        tools, _ = await rows_of(server, tmp_path, task="settings.wifi_on", options=SessionOptions(max_pixels=50_000))
        phone = next(tool for tool in tools if tool.name == "phone")
        point = phone.tool_schema.function.parameters.properties["coordinate"]
        assert "minItems" in str(point.description)
        instance, _ = await phone.create(create_kwargs={"task": "settings.wifi_on"})
        seen, _, _ = await phone.execute(instance, {"action": "open_app", "app": "Settings"})
        assert seen.image[0].width * seen.image[0].height <= 50_000
        same, _, _ = await phone.execute(instance, {"action": "wait", "seconds": 0})
        assert same.image is None, "a screen that was shown is not shown again"
        refused, _, metrics = await phone.execute(instance, {"action": "tap"})
        assert refused.text.startswith("rejected: ")
        assert metrics["status"] == "rejected"
        await phone.release(instance)


async def test_the_command_writes_what_verl_reads(service, tmp_path, capsys):
    line = ["--address", service.address, "--task", TASK, "--task", "search_qa.firm_founded", "--episodes", "3"]
    await asyncio.to_thread(main, [str(tmp_path), *line])
    assert "2 tools" in capsys.readouterr().out
    rows = [json.loads(each) for each in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert [row["extra_info"]["tools_kwargs"]["finish"]["create_kwargs"]["seed"] for row in rows] == [0, 0, 1]
    assert rows[0]["prompt"][0]["content"] == REGISTRY.draw(TASK, seed=0, split="train").goal
    with pytest.raises(SystemExit):
        await asyncio.to_thread(main, [str(tmp_path), "--address", service.address, "--task", "search_qa.birthplac"])
    assert "close: search_qa.birthplace" in capsys.readouterr().err


def test_a_tool_without_an_address_is_refused():
    with pytest.raises(ValueError, match=r"config\.address"):
        verl_tools.ToolSettings.from_config({"type": "native"})
