"""What clients and models can hold, wait for and repeat: the parts that `benchmarks.adversary` attacks together."""

import asyncio
import time
import weakref

import pytest

from rlfactory.envs.api.errors import LimitExceeded, OutOfOrder, TaskError
from rlfactory.envs.service import idempotency, step_stream
from rlfactory.envs.service.idempotency import AtMostOnce, NamedRequests
from rlfactory.envs.service.limits import share
from rlfactory.envs.service.step_stream import LargePace, Pace, Unwritten
from rlfactory.envs.service.watchdog import HELD_UP_S, Watchdog
from rlfactory.envs.tools.runtime.fair_places import FairPlaces
from rlfactory.envs.tools.sql.statement import bare
from rlfactory.envs.wire.convert import Answer, load_from_pb, outcomes, parsed
from rlfactory.envs.wire.crowds import FIELDS_OF_PIECE, pieces
from rlfactory.envs.wire.faults import to_bytes
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.v1 import env_pb2 as pb


def test_a_fence_that_never_closes_is_read_in_no_time():
    begun_s = time.perf_counter()
    assert bare("```" + "\n" * 19_990 + "x").endswith("x")
    assert time.perf_counter() - begun_s < 0.1
    assert bare("```sql  \nSELECT 1;\n```") == bare("```\nSELECT 1\n```") == "SELECT 1"


async def test_of_those_who_wait_the_one_that_has_used_least_is_next():
    places = FairPlaces(1)
    order: list[str] = []

    async def use(user, seconds=0.0):
        async with places.place(user):
            order.append(user)
            await asyncio.sleep(seconds)

    await use("busy", 0.2)
    await asyncio.gather(*map(use, ("busy", "busy", "new", "new")))
    assert order == ["busy", "busy", "new", "new", "busy"]


async def test_a_tenant_waits_behind_one_that_has_used_less_and_holds_no_more_than_its_part(eventually):
    places = FairPlaces(3, most_of_one=2)
    begun_s = [await places.take("greedy", str(session)) for session in range(2)]
    third = asyncio.create_task(places.take("greedy", "2"))
    await asyncio.sleep(0)
    assert not third.done(), "one place is kept for others"
    mine_s = await places.take("modest")
    later = [asyncio.create_task(places.take("greedy", "0")), asyncio.create_task(places.take("modest"))]
    await asyncio.sleep(0.01)
    places.free(begun_s[0], "greedy", "0")
    await eventually(later[1].done)
    assert not third.done()
    places.free(mine_s, "modest")
    await eventually(third.done)
    assert not later[0].done(), "its session has used more than the other one"
    later[0].cancel()


async def test_answers_wait_until_others_are_written():
    unwritten = Unwritten(100)
    let_in: list[str] = []

    async def answer(name, size):
        if not unwritten.held(size):
            await unwritten.wait(size)
        let_in.append(name)
        unwritten.release(size)

    assert unwritten.held(90)
    waiting = [asyncio.create_task(answer("large", 500)), asyncio.create_task(answer("small", 1))]
    await asyncio.sleep(0)
    assert let_in == []
    waiting[0].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert let_in == ["small"]
    unwritten.release(90)
    await answer("large", 500)
    assert unwritten.bytes == 0


async def test_a_named_request_is_carried_out_once_and_undone_when_nobody_wants_it(eventually):
    done: list[int] = []
    undone: list[int] = []
    gate = asyncio.Event()

    async def work():
        done.append(len(done))
        await gate.wait()
        return done[-1]

    async def undo(result):
        undone.append(result)

    requests = NamedRequests(grace_s=0.01, undo=undo)
    lost = asyncio.create_task(requests.run("tenant", "a", "about", work))
    again = asyncio.create_task(requests.run("tenant", "a", "about", work))
    await asyncio.sleep(0)
    lost.cancel()
    gate.set()
    assert (await again, done) == (0, [0])
    with pytest.raises(OutOfOrder, match="used already"):
        await requests.run("tenant", "a", "another", work)
    requests.drop("tenant", "a")
    await eventually(lambda: undone == [0])


async def test_a_request_that_is_fetched_by_its_repetition_is_not_undone(eventually):
    undone: list[str] = []
    gate = asyncio.Event()

    async def undo(result):
        undone.append(result)

    async def work():
        await gate.wait()
        return "session"

    requests = NamedRequests(grace_s=0.02, undo=undo)
    lost = asyncio.create_task(requests.run("tenant", "a", "about", work))
    await asyncio.sleep(0)
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
    gate.set()
    assert await requests.run("tenant", "a", "about", work) == "session"
    unwanted = asyncio.create_task(requests.run("tenant", "b", "about", work))
    await asyncio.sleep(0)
    unwanted.cancel()
    await eventually(lambda: undone)  # both graces are over, and the first began before the second
    assert await requests.run("tenant", "a", "about", work) == "session"
    assert undone == ["session"]


async def test_work_that_is_cancelled_before_it_began_leaves_its_number_free():
    once: AtMostOnce[bool] = AtMostOnce(grace_s=0)
    begin = asyncio.Event()
    first = asyncio.create_task(once.run(1, "x", begin.wait))
    await asyncio.sleep(0)
    await once.cancel()
    await asyncio.gather(first, return_exceptions=True)
    begin.set()
    assert await once.run(1, "y", begin.wait)


def test_outcomes_of_serialized_parts_are_one_message():
    answer = pb.StepResponse(results=[pb.ToolResult(text="x" * 300)]).SerializeToString()
    lease = pb.StepResponse(lease_expiry_s=7.0).SerializeToString()
    failed = Answer.of(to_bytes(LimitExceeded("no")), failed=True)
    load = Load(phones=4, free=3, waiting=2, sessions=1, draining=1)
    read = pb.StepsResponse.FromString(outcomes([(2**40, Answer.of(answer, lease)), (2, failed)], load))
    assert load_from_pb(read.load) == load
    assert [each.number for each in read.outcomes] == [2**40, 2]
    assert (read.outcomes[0].response.lease_expiry_s, len(read.outcomes[0].response.results[0].text)) == (7.0, 300)
    assert read.outcomes[1].status.message == "no"


def test_no_tenant_has_it_all():
    assert [share(512, tenants) for tenants in (1, 2, 4)] == [512, 384, 320]


async def test_the_watchdog_keeps_nothing_alive_of_what_it_saw():
    def hold_up():
        held: AtMostOnce[str] = AtMostOnce(grace_s=1)
        time.sleep(2 * HELD_UP_S)
        return weakref.ref(held)

    async with Watchdog():
        assert hold_up()() is None


def test_large_messages_are_read_in_pieces_and_crowded_ones_not_at_all():
    steps = [pb.NumberedStep(number=n, step=pb.StepRequest(session="s", seq=n)) for n in range(1000)]
    data = pb.StepsRequest(steps=steps, given_up=range(5)).SerializeToString()
    parts = list(pieces(data))
    assert b"".join(parts) == data
    assert max(len(parsed(pb.StepsRequest, part).steps) for part in parts) <= FIELDS_OF_PIECE
    assert b"".join(pieces(data + b"\x0a\xff")) == data + b"\x0a\xff", "what is no field is left to the parser"
    large = pb.StepRequest(calls=[pb.ToolCall(arguments_json="\n" * 100_000)] * 4)
    assert parsed(pb.StepRequest, large.SerializeToString()) == large
    long_numbers = pb.StepsRequest(given_up=range(100_000, 120_000))
    assert parsed(pb.StepsRequest, long_numbers.SerializeToString()) == long_numbers, "a number of three bytes is one"
    many_calls = pb.NumberedStep(step=pb.StepRequest(calls=[pb.ToolCall()] * 40_000))
    for crowded in (pb.StepsRequest(given_up=range(200, 40_000)), pb.StepsRequest(steps=[many_calls])):
        with pytest.raises(TaskError, match="at most"):
            parsed(pb.StepsRequest, crowded.SerializeToString())


async def test_what_one_tenant_has_asked_for_keeps_no_other_from_asking(monkeypatch):
    monkeypatch.setattr(idempotency, "MAX_KEPT", 2)

    async def nothing(_: object = None) -> None: ...

    requests = NamedRequests(grace_s=10, undo=nothing)
    for name in ("a", "b"):
        await requests.run("greedy", name, "about", nothing)
    with pytest.raises(LimitExceeded):
        await requests.run("greedy", "c", "about", nothing)
    await requests.run("modest", "c", "about", nothing)


async def test_what_came_of_a_request_is_forgotten_when_its_client_is_done_with_it():
    done: list[str] = []

    async def work():
        done.append("work")

    async def undo(_): ...

    requests = NamedRequests(grace_s=10, undo=undo)
    await requests.run("tenant", "a", "about", work)
    requests.forget("another", "a")
    await requests.run("tenant", "a", "about", work)
    assert len(done) == 1
    requests.forget("tenant", "a")
    await requests.run("tenant", "a", "about", work)
    assert len(done) == 2


async def test_large_steps_begin_in_rounds_of_their_own():
    pace = Pace(LargePace())
    rounds = 0

    async def count():
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    for _ in range(16):
        await pace.turn()
    assert rounds == 0
    for _ in range(8):
        await pace.turn(100_000, refused=True)
    counting.cancel()
    assert rounds >= 8


async def test_large_steps_of_all_tenants_have_a_part_of_the_time_and_small_ones_do_not_wait_for_them():
    shared = LargePace()
    greedy, modest = Pace(shared), Pace(shared)
    begun: list[str] = []

    async def begin(pace: Pace, who: str) -> None:
        await pace.turn(step_stream.LARGE_BYTES_PER_S // 50)
        begun.append(who)

    begun_s = time.monotonic()
    asked = [asyncio.create_task(begin(greedy, "greedy")) for _ in range(10)]
    await asyncio.sleep(0)
    asked.append(asyncio.create_task(begin(modest, "modest")))
    await greedy.turn()
    await greedy.turn(1 << 20, refused=True)
    assert len(begun) < len(asked)
    await asyncio.gather(*asked)
    assert begun.index("modest") <= 2, "tenants take turns"
    assert time.monotonic() - begun_s >= 10 / 50 - 2 * step_stream.AT_ONCE_S


async def test_many_who_wait_for_a_place_cost_no_time_to_choose_from(eventually):
    places = FairPlaces(1)
    begun_s = await places.take("greedy")
    waiting = [asyncio.create_task(places.take("greedy", str(number % 4))) for number in range(2000)]
    await asyncio.sleep(0)
    begun_cpu_s = time.thread_time()
    for _ in range(100):
        places.free(begun_s, "greedy")
    assert time.thread_time() - begun_cpu_s < 0.1
    await eventually(lambda: sum(each.done() for each in waiting) == 100)
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert not places._waiting
