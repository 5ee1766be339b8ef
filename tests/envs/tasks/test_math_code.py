"""The suite math_code: its oracle runs code, wrong numbers fail, and without a sandbox it is refused."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import Split, ToolCall
from rlfactory.envs.client.oracle import play
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.sandboxes import Sandboxes
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.math_code import MATH_CODE_TASKS
from rlfactory.envs.tasks.math_code.problems import Draw
from rlfactory.envs.tasks.math_code.tasks import MathTask
from rlfactory.envs.tasks.registry import TaskRegistry

REGISTRY = TaskRegistry(MATH_CODE_TASKS)
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def services(**options: Any) -> Services:
    return Services(Sandboxes(SandboxConfig(**options)))


async def test_oracles_solve_every_task_by_running_code(client_of):
    async with client_of(tasks=REGISTRY, services=services(unsafe_local=True)) as client:
        for task, split in itertools.product(MATH_CODE_TASKS, SPLITS):
            record = await play(client, task.name, seed=1, split=split, registry=REGISTRY)
            assert (record.stuck, record.reward.total) == ("", 1.0)
            assert record.reward.parts == {"success": 1.0, "ran_code": 1.0}


async def test_a_wrong_number_is_no_success(client_of):
    async with (
        client_of(tasks=REGISTRY, services=services(unsafe_local=True)) as client,
        client.session("math_code.count", seed=3) as session,
    ):
        reward = (await session.step([ToolCall(id="0", name="finish", arguments={"answer": "17"})])).reward
        assert (reward.total, reward.success, reward.parts["ran_code"]) == (0.0, False, 0.0)


async def test_without_a_sandbox_the_episode_is_refused_with_a_way_out(client_of):
    async with client_of(tasks=REGISTRY, services=services(image="rlfactory-there-is-none")) as client:
        with pytest.raises(TaskError, match="--unsafe-local"):
            await client.reset("math_code.count", seed=1)


@pytest.mark.parametrize("task", MATH_CODE_TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize("split", SPLITS)
def test_the_oracles_code_finds_the_same_number_in_another_way(task, split):
    assert issubclass(task, MathTask)
    for maker, seed in itertools.product((*task.makers, *task.only_tested), range(2)):
        problem = maker(Draw(random.Random(seed), split))
        *before, last = problem.code.rstrip().split("\n")
        namespace: dict[str, object] = {}
        exec("\n".join(before), namespace)
        assert eval(last, namespace) == problem.answer, problem.text


def test_numbers_of_splits_have_nothing_in_common():
    drawn = {split: {Draw(random.Random(seed), split).number(5, 500) for seed in range(200)} for split in SPLITS}
    assert not drawn["train"] & drawn["test"] and not drawn["train"] & drawn["validation"]
