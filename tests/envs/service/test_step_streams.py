"""Steps over one stream: of many sessions side by side, given up one by one, ended by a server that stops."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from rlfactory.envs.api.errors import InfrastructureError, OutOfOrder
from rlfactory.envs.client import ClientConfig, RetryPolicy
from rlfactory.envs.client.client import DEADLINE_SLACK_S
from rlfactory.envs.service import step_stream
from rlfactory.envs.service.step_stream import LargePace, Pace, StepStream, UnderWay, Unwritten
from rlfactory.envs.wire.convert import Answer, calls_to_pb
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.stub import EnvServiceStub
from rlfactory.envs.wire.v1 import env_pb2 as pb

ONCE = ClientConfig(retry=RetryPolicy(attempts=1))


async def test_a_slow_step_keeps_no_other_session_waiting(serve, call, bench):
    async with serve() as (_, client):
        slow, quick = await client.reset("bench.talk", seed=0), await client.reset("bench.talk", seed=1)
        waiting = asyncio.create_task(client.step(slow.session, 1, [call("free", do="wait", text="slow")]))
        await bench.until(lambda: bench.log == ["begin slow"])
        result = await client.step(quick.session, 1, [call("free", text="quick")])
        assert result.results[0].text == "quick 1"
        bench.gate.set()
        assert (await waiting).results[0].text == "slow 1"


async def test_a_failed_step_fails_for_its_caller_alone(serve, call):
    async with serve() as (_, client):
        sessions = [(await client.reset("bench.talk", seed=seed)).session for seed in range(3)]
        ends = await asyncio.gather(
            client.step(sessions[0], 1, [call("free", text="a")]),
            client.step(sessions[1], 7, [call("free", text="b")]),
            client.step(sessions[2], 1, [call("free", do="lose")]),
            return_exceptions=True,
        )
        assert [type(end) for end in ends[1:]] == [OutOfOrder, InfrastructureError]
        assert str(ends[2]).endswith("phone 7 is gone")
        assert not isinstance(ends[0], BaseException)


async def test_a_step_may_be_given_up_while_the_stream_goes_on(serve, call, bench):
    async with serve(orphan_grace_s=0.01) as (_, client):
        left, kept = await client.reset("bench.talk", seed=0), await client.reset("bench.talk", seed=1)
        leaving = asyncio.create_task(client.step(left.session, 1, [call("free", do="wait", text="left")]))
        keeping = asyncio.create_task(client.step(kept.session, 1, [call("free", do="wait", text="kept")]))
        await bench.until(lambda: len(bench.log) == 2)
        leaving.cancel()
        await bench.until(lambda: "cancelled left" in bench.log)
        bench.gate.set()
        assert (await keeping).results[0].text == "kept 1"


async def test_a_step_that_gets_no_answer_in_time_is_infrastructure(serve, call, bench):
    async with serve(client=ONCE) as (_, client):
        begun = await client.reset("bench.talk", seed=0)
        with pytest.raises(InfrastructureError, match="DEADLINE_EXCEEDED: no answer within"):
            await client.step(begun.session, 1, [call("free", do="wait")], timeout_s=0.1 - DEADLINE_SLACK_S)
        bench.gate.set()


async def test_a_server_that_stops_answers_the_steps_it_has_begun(serve, call, bench):
    async with serve(client=ONCE) as (server, client):
        begun, other = await client.reset("bench.talk", seed=0), await client.reset("bench.talk", seed=1)
        step = asyncio.create_task(client.step(begun.session, 1, [call("free", do="wait", text="last")]))
        await bench.until(lambda: bench.log == ["begin last"])
        stopping = asyncio.create_task(server.stop())
        await bench.until(lambda: server.manager.draining)
        bench.gate.set()
        assert (await step).results[0].text == "last 1"
        await stopping
        with pytest.raises(InfrastructureError):
            await client.step(other.session, 1, [call("free", text="late")])


async def test_no_more_steps_are_read_than_a_service_may_have_under_way(serve, call, bench):
    async with serve(max_sessions=2) as (server, client):
        sessions = [(await client.reset("bench.talk", seed=seed)).session for seed in range(2)]
        async with grpc.aio.insecure_channel(server.address) as channel:
            steps = EnvServiceStub(channel).Steps()
            numbered = [
                pb.NumberedStep(
                    number=number,
                    step=pb.StepRequest(
                        session=sessions[number % 2], seq=1, calls=calls_to_pb([call("free", do="wait", text="x")])
                    ),
                )
                for number in range(6)
            ]
            await steps.write(pb.StepsRequest(steps=numbered))
            await bench.until(lambda: len(bench.log) == 2)
            await steps.write(pb.StepsRequest(given_up=[0]))
            bench.gate.set()
            answered: set[int] = set()
            while len(answered) < 6:
                answered |= {outcome.number for outcome in (await steps.read()).outcomes}
        assert bench.most_running == 2


async def test_outcomes_are_spread_over_messages_of_bounded_size(serve, call, bench, monkeypatch):
    monkeypatch.setattr(step_stream, "MAX_MESSAGE_BYTES", -1)
    async with serve() as (_, client):
        sessions = [(await client.reset("bench.talk", seed=seed)).session for seed in range(4)]
        steps = [
            asyncio.create_task(client.step(session, 1, [call("free", do="wait", text=str(number))]))
            for number, session in enumerate(sessions)
        ]
        await bench.until(lambda: len(bench.log) == 4)
        bench.gate.set()
        assert [(await step).results[0].text for step in steps] == ["0 1", "1 1", "2 1", "3 1"]


async def test_an_idle_stream_keeps_nothing_of_what_it_read():
    gone = asyncio.Event()

    class Message(bytes):
        def __del__(self) -> None:
            gone.set()

    sent = Message(pb.StepsRequest(steps=[pb.NumberedStep(number=1)]).SerializeToString())
    messages, waits = [sent], asyncio.Event()
    del sent

    async def receive() -> bytes | None:
        if messages:
            return messages.pop()
        waits.set()
        await asyncio.Event().wait()
        return None

    async def answer(_: pb.StepRequest) -> Answer:
        return Answer.of(b"")

    async def write(_: object) -> None: ...

    stream = StepStream(
        answer,
        max_under_way=4,
        max_request_bytes=1 << 20,
        under_way=UnderWay(1 << 20, 1 << 20),
        unwritten=Unwritten(1 << 20),
        pace=Pace(LargePace()),
        outage_grace_s=0.0,
        load=Load,
    )
    serving = asyncio.create_task(stream.serve(receive, write))
    await waits.wait()
    assert gone.is_set()
    stream.end()
    await serving
