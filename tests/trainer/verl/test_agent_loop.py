"""Our agent loop in verl: who gives the reward, what validation counts, and what ends a run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap
from verl.trainer.ppo.metric_utils import process_validation_metrics
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput

from benchmarks.slow_phones import SlowSource, Waiting
from rlfactory.emulators.pool import PoolConfig
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import Split
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import EnvServer, ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.search_qa import SEARCH_QA_TASKS
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer
from rlfactory.trainer.episode.episodes import row_of
from rlfactory.trainer.record.recorder import read_outcomes
from rlfactory.trainer.record.runlog import RunLog
from rlfactory.trainer.verl.agent_loop import PhoneAgentLoop, Places, phones_of
from rlfactory.trainer.verl.credit import FIELD, sampled_spans
from tests.trainer.recipes import composed

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

TASK = "search_qa.birthplace"
FINISH = '<tool_call>\n{"name": "finish", "arguments": {"answer": "nowhere"}}\n</tool_call>'


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer(Corpus(phrases=(), texts=("search for a town",), max_number=9), vocabulary=400)


@pytest.fixture
async def service() -> AsyncIterator[EnvServer]:
    async with serving(ServerConfig(drain_s=0.5), tasks=TaskRegistry(SEARCH_QA_TASKS)) as server:
        yield server


class Engine:
    """Stands where verl's servers are, and gives up at once."""

    def __init__(self, tokenizer: Any) -> None:
        self._ids = [*tokenizer.encode(FINISH, add_special_tokens=False), tokenizer.eos_token_id]

    async def generate(self, **_: Any) -> TokenOutput:
        return TokenOutput(token_ids=self._ids, log_probs=[-0.5] * len(self._ids), extra_fields={"max_global_steps": 1})


async def play(
    service: EnvServer, tokenizer: Any, folder: Path, *overrides: str, task: str = TASK, split: Split = "train"
) -> list[AgentLoopOutput]:
    """Play an episode as verl's worker does."""
    log = RunLog(folder)
    log.create()
    config = composed(
        "search_r1",
        overrides=[
            "data.max_prompt_length=4000",
            "actor_rollout_ref.rollout.max_model_len=9000",
            f"rlfactory.run_folder={folder}",
            f"rlfactory.address='{service.address}'",
            "rlfactory.turn_tokens=400",
            *overrides,
        ],
    )
    loop = PhoneAgentLoop(
        trainer_config=DictConfigWrap(config),
        server_manager=Engine(tokenizer),
        tokenizer=tokenizer,
        processor=None,
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(config.data),
    )
    row = row_of(task=task, seed=7, split=split, index=0, agent="phone")
    return await loop.run({}, **row, uid="u", session_id=0, global_steps=1)


async def test_the_environment_gives_the_reward_unless_a_judge_does(service, tokenizer, tmp_path):
    [own] = await play(service, tokenizer, tmp_path / "own")
    assert own.reward_score is not None
    for key in ("reward_model.enable=true", "custom_reward_function.path=judge.py"):
        [judged] = await play(service, tokenizer, tmp_path / key.partition(".")[0], f"reward.{key}")
        assert judged.reward_score is None, "verl's reward loop asks its judge only for what has no score"
        told = judged.extra_fields["environment"]
        assert (told["total"], told["success"]) == (own.reward_score, False)


async def test_an_episode_is_as_many_rows_as_its_context_makes(service, tokenizer, tmp_path):
    [whole] = await play(service, tokenizer, tmp_path / "one")
    rows = await play(service, tokenizer, tmp_path / "rows", "rlfactory.context.row_turns=1")
    assert len(rows) == whole.num_turns > 1  # the engine says what this dialect cannot read
    assert [row.extra_fields[FIELD]["first"] for row in rows] == list(range(len(rows)))
    assert {row.reward_score for row in rows} == {whole.reward_score}
    for row in rows:  # each knows of all turns: credit is given to the episode
        assert len(sampled_spans(row.response_mask)) == 1
        assert len(row.extra_fields[FIELD]["tokens"]) == row.num_turns == whole.num_turns
    assert sum(sum(row.response_mask) for row in rows) == sum(whole.response_mask)


def test_a_worker_uses_as_many_phones_as_are_its_share():
    shares = {
        (): 64,
        ("actor_rollout_ref.rollout.agent.num_workers=3",): 21,
        ("rlfactory.service.phones=2", "actor_rollout_ref.rollout.agent.num_workers=8"): 1,
        ("rlfactory.service.phones=0",): sys.maxsize,
        ("rlfactory.service=null", "rlfactory.address=127.0.0.1:1"): sys.maxsize,
    }
    assert {asked: phones_of(composed("tiny_phone", overrides=list(asked))) for asked in shares} == shares


async def test_on_a_cluster_as_many_episodes_are_played_as_all_nodes_have_phones():
    config = composed("tiny_phone", overrides=["rlfactory.service.ray=true", "ray_kwargs.ray_init.address=auto"])
    config.actor_rollout_ref.rollout.agent.num_workers = 2

    def node() -> AbstractAsyncContextManager[EnvServer]:
        tasks = TaskRegistry((Waiting,))
        return serving(ServerConfig(drain_s=0.1), phones=SlowSource(0.0), pool=PoolConfig(phones=3), tasks=tasks)

    async with node() as one, node() as other:
        async with EnvClient([one.address, other.address]) as client:
            assert phones_of(config, of_all_nodes=client.phones) == 3, "half of both, on a trainer of one node"
        async with EnvClient([one.address]) as client:
            assert phones_of(config, of_all_nodes=client.phones) == 1
        assert phones_of(config, of_all_nodes=client.phones) == sys.maxsize, "no service is left: playing says so"


async def test_places_become_more_while_some_wait():
    places, most, inside = Places(), 1, asyncio.Semaphore(0)

    async def play(over: asyncio.Event) -> None:
        async with places.one(lambda: most):
            inside.release()
            await over.wait()

    overs = [asyncio.Event() for _ in range(4)]
    players = [asyncio.create_task(play(over)) for over in overs]
    await inside.acquire()
    assert inside.locked(), "one place"
    most = 2
    overs[0].set()
    await players[0]
    await inside.acquire()
    await inside.acquire()
    assert inside.locked(), "two places"
    for over in overs:
        over.set()
    await asyncio.gather(*players)


async def test_a_dropped_episode_is_no_failure_in_verls_validation(service, tokenizer, tmp_path):
    [output] = await play(service, tokenizer, tmp_path, split="validation")
    lost = output.extra_fields["reward_extra_info"]
    info = [lost | {"success": 1.0}, lost]
    # Three episodes of a task were asked for, and one was dropped.
    metrics = process_validation_metrics(
        [TASK, TASK],
        ["a", "b"],
        {name: [each[name] for each in info] for name in info[0]},
        expected_acc_counts={(TASK, uid): 1 for uid in ("a", "b", "dropped")},
    )
    assert metrics[TASK]["success"]["mean@1"] == 0.5


async def test_a_mistake_of_the_configuration_is_told_to_the_run(service, tokenizer, tmp_path):
    for overrides, task, words in (
        (["data.max_prompt_length=5"], TASK, "5 are budgeted"),
        ([], "search_qa.birthplac", "close: search_qa.birthplace"),
    ):
        with pytest.raises(TaskError, match=words):
            await play(service, tokenizer, tmp_path, *overrides, task=task)
        assert words in RunLog(tmp_path).mistake()
        assert not list(read_outcomes(tmp_path)), "it is no failure of the engine, and not played again"
    RunLog(tmp_path).create()
    assert RunLog(tmp_path).mistake() == "", "a run that is resumed begins without it"
