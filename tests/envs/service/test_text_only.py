"""Tasks without a phone: tools of their own, verdicts that take work, oracles that call tools; all over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest

from rlfactory.envs.api.errors import InfrastructureError, JudgeError
from rlfactory.envs.api.types import JSON, EpisodeState, SessionOptions, ToolCall, ToolSchema, ToolStatus
from rlfactory.envs.client.oracle import play
from rlfactory.envs.rewards.rubric import SUCCESS, Part, Rubric
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Check, Outcome
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.tool import CallContext, Tool, ToolContext, ToolFactory
from tests.envs.conftest import Talk


class Vault(Tool):
    """Knows one number; counts how often it was asked."""

    schema = ToolSchema(name="vault", description="Say the number.", parameters={"type": "object", "properties": {}})

    def __init__(self, number: int, asked: int = 0) -> None:
        self.number = number
        self.asked = asked

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        self.asked += 1
        return f"{self.number}, asked {self.asked} times"

    def fork(self, context: ToolContext) -> Vault:
        return Vault(self.number, self.asked)


class OpenVault(Talk):
    """Ask the vault for its number and say it."""

    name = "bench.vault"
    description = "Say the vault's number"
    max_turns = 3
    tools: ClassVar[tuple[str, ...]] = ("vault", "finish")

    @property
    def goal(self) -> str:
        return "Say the number in the vault."

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {"vault": lambda context: Vault(self.number)}

    async def verify(self, outcome: Outcome, *, services: Services, timeout_s: float) -> Mapping[str, float]:
        match outcome.answer:
            case "stall":
                await asyncio.sleep(60)
            case "judge is down":
                raise JudgeError("the judge said nothing")
        return {"close": float(outcome.answer[:2] == str(self.number)[:2])} if outcome.finished else {}

    def rubric(self) -> Rubric:
        return Rubric(
            parts=(
                SUCCESS,
                Part(name="close", weight=0.5, score=lambda verdict: verdict.outcome.scores.get("close", 0.0)),
                Part(name="calls", weight=0.0, score=lambda verdict: float(len(verdict.outcome.calls))),
            )
        )

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="right", holds=outcome.answer == str(self.number)),)

    async def solve(self, ui: UiDriver) -> None:
        said = await ui.call_all(("vault", {}), ("vault", {}))
        await ui.finish(answer=said[1].split(",")[0])


REGISTRY = TaskRegistry((OpenVault,))


async def test_an_oracle_plays_by_calling_tools(client):
    record = await play(client, "bench.vault", seed=3, registry=REGISTRY)
    assert (record.stuck, record.state, record.state_hash) == ("", EpisodeState.FINISHED, "")
    assert record.reward.success
    assert record.reward.parts == {"success": 1.0, "close": 1.0, "calls": 3.0}
    assert record.reward.total == 1.5
    assert [result.text[-7:] for result in record.steps[0].result.results] == ["1 times", "2 times"]
    assert record.first.image is None


async def test_a_text_only_session_forks_with_its_tools_and_what_was_played(client):
    async with client.session("bench.vault", seed=1) as session:
        assert [tool.name for tool in session.tools] == ["vault", "finish"]
        await session.step([ToolCall(id="0", name="vault", arguments={})])
        async with (await session.fork(1))[0] as twin:
            result = await twin.step([ToolCall(id="0", name="vault", arguments={})])
            assert result.results[0].text.endswith("asked 2 times")
            assert result.reward.parts["calls"] == 2.0
        again = await session.step([ToolCall(id="0", name="vault", arguments={})])
        assert again.results[0].text.endswith("asked 2 times")
        assert again.results[0].status is ToolStatus.OK


async def test_a_wrong_answer_that_looks_right_earns_only_its_part(client):
    async with client.session("bench.vault", seed=1) as session:
        said = (await session.step([ToolCall(id="0", name="vault", arguments={})])).results[0].text.split(",")[0]
        end = await session.step([ToolCall(id="0", name="finish", arguments={"answer": said + "0"})])
    assert (end.reward.success, end.reward.total, end.reward.progress) == (False, 0.5, 0.0)


@pytest.mark.parametrize("answer", ["stall", "judge is down"])
async def test_no_verdict_is_no_reward(client, answer):
    async with client.session("bench.vault", seed=1, options=SessionOptions(step_timeout_s=0.2)) as session:
        finish = ToolCall(id="0", name="finish", arguments={"answer": answer})
        with pytest.raises(JudgeError):
            await session.step([finish])
        with pytest.raises((JudgeError, InfrastructureError)):
            await session.step([finish])
