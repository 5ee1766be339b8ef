"""What the wire promises of sessions, shown on a real server with text-only tasks."""

from __future__ import annotations

import asyncio
import time

import grpc
import pytest

from rlfactory.envs.api.errors import (
    Blame,
    EnvironmentFault,
    EpisodeOver,
    InfrastructureError,
    LimitExceeded,
    OutOfOrder,
    SessionNotFound,
    TaskError,
    UnknownName,
)
from rlfactory.envs.api.types import EpisodeState, SessionOptions, ToolCall, ToolStatus
from rlfactory.envs.wire import convert
from rlfactory.envs.wire.v1 import env_pb2 as pb


async def test_an_episode_from_reset_to_verdict(serve, call):
    async with serve() as (_, client), client.session("bench.talk", seed=3) as session:
        assert session.goal.startswith("Say ")
        assert [tool.name for tool in session.tools] == ["free", "shared", "finish"]
        result = await session.step([call("free", text="hello")])
        assert result.results[0].text == "hello 1"
        assert (result.state, result.reward.total, result.reward.progress) == (EpisodeState.RUNNING, 0.0, 0.0)
        number = session.goal.removeprefix("Say ").removesuffix(".")
        result = await session.step([call("finish", answer=number)])
        assert session.over
        assert (result.reward.total, result.reward.success, result.reward.progress) == (1.0, True, 1.0)
        assert dict(result.reward.parts) == {"success": 1.0, "progress": 1.0, "no_side_effects": 1.0}


@pytest.mark.parametrize(("number", "status", "progress"), [("wrong", "success", 0.5), ("", "failure", 1.0)])
async def test_a_wrong_answer_or_a_claim_of_failure_earns_nothing_but_progress(serve, call, number, status, progress):
    async with serve() as (_, client), client.session("bench.talk", seed=3) as session:
        number = number or session.goal.removeprefix("Say ").removesuffix(".")
        reward = (await session.step([call("finish", answer=number, status=status)])).reward
        assert (reward.total, reward.success, reward.progress) == (0.0, False, progress)


async def test_task_and_seed_fix_the_goal(serve):
    async with serve() as (_, client):
        goals = [(await client.reset("bench.talk", seed=seed)).goal for seed in (1, 1, 2)]
        assert goals[0] == goals[1] != goals[2]
        test_goal = (await client.reset("bench.talk", seed=1, split="test")).goal
        assert test_goal != goals[0]


async def test_a_seq_is_the_next_or_repeats_the_last_which_does_nothing(serve, call, bench):
    async with serve() as (_, client):
        begun = await client.reset("bench.talk", seed=0)
        for seq in (0, 2, 7):
            with pytest.raises(OutOfOrder, match="the next is 1"):
                await client.step(begun.session, seq, [call("free")])
        first = await client.step(begun.session, 1, [call("free", text="once")])
        again = await client.step(begun.session, 1, [call("free", text="once")])
        assert again == first
        with pytest.raises(OutOfOrder, match="other calls"):
            await client.step(begun.session, 1, [call("free", text="twice")])
        assert bench.log == ["once"]


async def test_a_duplicate_of_a_running_step_waits_for_the_same_result(serve, call, bench):
    async with serve() as (_, client):
        begun = await client.reset("bench.talk", seed=0)
        calls = [call("free", do="wait", text="slow")]
        steps = [asyncio.create_task(client.step(begun.session, 1, calls)) for _ in range(5)]
        await bench.until(lambda: bench.log == ["begin slow"])
        bench.gate.set()
        results = await asyncio.gather(*steps)
        assert all(result == results[0] for result in results)
        assert bench.log == ["begin slow", "slow"]


async def test_the_next_seq_while_a_step_runs_is_out_of_order(serve, call, bench):
    async with serve() as (_, client):
        begun = await client.reset("bench.talk", seed=0)
        step = asyncio.create_task(client.step(begun.session, 1, [call("free", do="wait")]))
        await bench.until(lambda: bool(bench.log))
        with pytest.raises(OutOfOrder, match="still running"):
            await client.step(begun.session, 2, [])
        bench.gate.set()
        await step


async def test_a_cancelled_step_is_cancelled_in_the_tool_and_voids_the_episode(serve, call, bench):
    async with serve(orphan_grace_s=0.01) as (_, client):
        begun = await client.reset("bench.talk", seed=0)
        calls = [call("free", do="wait", text="long")]
        step = asyncio.create_task(client.step(begun.session, 1, calls))
        await bench.until(lambda: bool(bench.log))
        step.cancel()
        await bench.until(lambda: bench.log == ["begin long", "cancelled long"])
        with pytest.raises(InfrastructureError, match="cancelled"):
            await client.step(begun.session, 1, calls)
        with pytest.raises(InfrastructureError, match="cancelled"):
            await client.step(begun.session, 2, [])


async def test_the_deadline_of_the_call_reaches_the_tool(serve, call, bench):
    async with serve(orphan_grace_s=0.01) as (_, client):
        begun = await client.reset("bench.talk", seed=0)
        stub = client._hosts.any().stub()
        request = pb.StepRequest(session=begun.session, seq=1, calls=convert.calls_to_pb([call("free", do="wait")]))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Step(request, timeout=1.0)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await bench.until(lambda: bench.log[-1:] == ["cancelled "])


async def test_a_tool_that_hangs_ends_at_the_steps_limit_and_the_episode_goes_on(serve, call, bench):
    options = SessionOptions(step_timeout_s=1.0)
    async with serve() as (_, client), client.session("bench.talk", seed=0, options=options) as session:
        result = await session.step([call("free", do="wait", text="x"), call("shared", text="y", id="1")])
        assert [each.status for each in result.results] == [ToolStatus.TIMEOUT, ToolStatus.OK]
        assert "stopped" in result.results[0].text
        assert "cancelled x" in bench.log
        assert result.results[0].duration_s > 0.5  # less than the limit by what passed before it began
        assert (await session.step([call("free", text="z")])).results[0].status is ToolStatus.OK


async def test_a_lease_that_is_not_renewed_ends_the_session(serve, call, eventually):
    async with serve() as (server, client):
        begun = await client.reset("bench.talk", seed=0, options=SessionOptions(lease_s=0.15))
        await eventually(lambda: server.manager.sessions == 0)
        with pytest.raises(SessionNotFound, match="lease"):
            await client.step(begun.session, 1, [])
        assert server.manager.counters["leases_expired"] == 1


async def test_renewing_keeps_a_session(serve):
    async with serve() as (server, client):
        begun = await client.reset("bench.talk", seed=0, options=SessionOptions(lease_s=1.5))
        while time.time() <= begun.lease_expiry_s:
            assert await client.renew(begun.session) > begun.lease_expiry_s
            await asyncio.sleep(0.05)
        assert server.manager.sessions == 1


async def test_a_running_step_holds_its_lease(serve, call, bench, eventually):
    async with serve() as (server, client):
        begun = await client.reset("bench.talk", seed=0, options=SessionOptions(lease_s=1.0))
        step = asyncio.create_task(client.step(begun.session, 1, [call("free", do="wait", text="w")]))
        await eventually(lambda: time.time() > begun.lease_expiry_s)
        assert server.manager.sessions == 1
        bench.gate.set()
        assert (await step).results[0].status is ToolStatus.OK


async def test_closing_cancels_a_running_step(serve, call, bench):
    async with serve() as (_, client):
        begun = await client.reset("bench.talk", seed=0)
        step = asyncio.create_task(client.step(begun.session, 1, [call("free", do="wait", text="w")]))
        await bench.until(lambda: bool(bench.log))
        await client.close(begun.session)
        assert bench.log == ["begin w", "cancelled w"]
        with pytest.raises(InfrastructureError):
            await step


async def test_nothing_more_after_the_end(serve, call):
    async with serve() as (_, client), client.session("bench.talk", seed=0) as session:
        await session.step([call("finish")])
        with pytest.raises(EpisodeOver, match="finished"):
            await session.step([])
        with pytest.raises(EpisodeOver):
            await session.fork(1)


async def test_a_client_cannot_raise_the_tasks_turn_limit(serve):
    async with serve() as (_, client):
        begun = await client.reset("bench.talk", seed=0, options=SessionOptions(max_turns=99))
        assert begun.max_turns == 5


async def test_a_fork_continues_seq_turns_and_tool_state_and_is_independent(serve, call):
    async with serve() as (server, client), client.session("bench.talk", seed=0) as session:
        await session.step([call("free", text="a")])
        left, right = await session.fork(2)
        async with left, right:
            assert left.goal == session.goal
            assert len({left.id, right.id, session.id}) == 3
            assert (await left.step([call("free", text="b")])).results[0].text == "b 2"
            assert (await left.step([call("free", text="c")])).results[0].text == "c 3"
            assert (await right.step([call("free", text="d")])).results[0].text == "d 2"
            assert (await session.step([call("free", text="e")])).results[0].text == "e 2"
            assert server.manager.sessions == 3
        assert server.manager.sessions == 1


async def test_limits_are_named(serve, call):
    async with serve(max_sessions=2, max_calls_per_step=2, max_fork=2) as (_, client):
        begun = await client.reset("bench.talk", seed=0)
        with pytest.raises(LimitExceeded, match="max_fork"):
            await client.fork(begun.session, 3)
        with pytest.raises(LimitExceeded, match="max_sessions"):
            await client.fork(begun.session, 2)
        await client.reset("bench.talk", seed=1)
        with pytest.raises(LimitExceeded, match="max_sessions") as caught:
            await client.reset("bench.talk", seed=2)
        assert caught.value.retryable
        calls = [call("free", id=str(index)) for index in range(3)]
        with pytest.raises(LimitExceeded, match="max_calls_per_step"):
            await client.step(begun.session, 1, calls)
        assert (await client.step(begun.session, 1, calls[:2])).results[1].status is ToolStatus.OK


async def test_calls_beyond_the_limit_are_not_read_on_the_event_loop(serve):
    calls = [pb.ToolCall(name="free", arguments_json='{"text": [[["x"]]]}') for _ in range(20_000)]
    async with serve() as (server, client):
        begun = await client.reset("bench.talk", seed=0)
        request = pb.StepRequest(session=begun.session, seq=1, calls=calls)
        begun_s = time.process_time()
        with pytest.raises(LimitExceeded, match="20000 calls in one step"):
            await server._service._step(request)
        assert time.process_time() - begun_s < 0.05


async def test_errors_carry_reason_blame_and_words(serve):
    async with serve() as (_, client):
        with pytest.raises(UnknownName, match=r"close: bench\.talk") as caught:
            await client.reset("bench.tolk", seed=0)
        assert (caught.value.reason, caught.value.blame, caught.value.retryable) == (
            "UNKNOWN_NAME",
            Blame.CLIENT,
            False,
        )
        with pytest.raises(TaskError, match="no split 'test'"):
            await client.reset("bench.broken_verdict", seed=0, split="test")
        with pytest.raises(TaskError, match="image_quality"):
            await client.reset("bench.talk", seed=0, options=SessionOptions(image_quality=101))
        with pytest.raises(TaskError, match="ids must differ"):
            begun = await client.reset("bench.talk", seed=0)
            twins = [ToolCall(id="a", name="free", arguments={})] * 2
            await client.step(begun.session, 1, twins)


async def test_a_broken_verdict_is_the_tasks_fault_and_no_reward(serve, call):
    async with serve() as (_, client), client.session("bench.broken_verdict", seed=0) as session:
        with pytest.raises(EnvironmentFault, match="KeyError") as caught:
            await session.step([call("finish")])
        assert caught.value.blame is Blame.ENVIRONMENT


async def test_a_task_that_asks_for_a_tool_that_is_not_there_is_at_fault(serve):
    async with serve() as (_, client):
        with pytest.raises(EnvironmentFault, match="no tool 'fre'; close: free"):
            await client.reset("bench.unknown_tool", seed=0)


async def test_what_a_tool_stands_on_fails_and_the_episode_is_void(serve, call):
    async with serve() as (server, client), client.session("bench.talk", seed=0) as session:
        calls = [call("free", do="lose"), call("shared", do="wait", id="1")]
        with pytest.raises(InfrastructureError, match="phone 7 is gone") as caught:
            await session.step(calls)
        assert caught.value.reason == "DEVICE_LOST"
        assert caught.value.retryable
        with pytest.raises(InfrastructureError):
            await session.step([call("finish")])
        assert server.manager.counters["void_episodes"] == 1
