"""What a policy asks for is what happens: places, deadlines, retries, sharing, caching, hedging, breakers, figures."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from types import FrameType

import pytest

from rlfactory.envs.api.types import JSON, ToolCall, ToolSchema, ToolStatus
from rlfactory.envs.tools.runtime import runtime as runtime_module
from rlfactory.envs.tools.runtime.breaker import CircuitBreaker
from rlfactory.envs.tools.runtime.cache import CacheConfig, ResultCache, cache_key
from rlfactory.envs.tools.runtime.executor import Executor
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.runtime.runtime import RuntimeConfig, ToolRuntime
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolError

OK, ERROR, TIMEOUT, REJECTED = ToolStatus.OK, ToolStatus.ERROR, ToolStatus.TIMEOUT, ToolStatus.REJECTED


class Doing(Tool):
    """Does what the test says, counting its runs."""

    def __init__(
        self, work: Callable[[int], Awaitable[str]], *, name: str = "do", identity: str = "", **policy: object
    ) -> None:
        self.schema = ToolSchema(name=name, description=name, parameters={"type": "object"})
        self.policy = ToolPolicy(**policy)  # type: ignore[arg-type]
        self.identity = identity
        self.runs = 0
        self.running = 0
        self.most_running = 0
        self.cancelled = 0
        self._work = work

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        self.runs += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self._work(self.runs)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    def fork(self, context: ToolContext) -> Doing:
        return self


def a_call(*, name: str = "do", **arguments: JSON) -> ToolCall:
    return ToolCall(id="0", name=name, arguments=arguments)


async def answer(run: int) -> str:
    await asyncio.sleep(0.01)
    return f"answer {run}"


async def hang(run: int) -> str:
    await asyncio.sleep(60)
    return "never"


@pytest.fixture
async def runtime():
    async with ToolRuntime(RuntimeConfig(concurrency=8, cancel_grace_s=0.05)) as made:
        yield made


def figures(runtime: ToolRuntime, tool: str = "do") -> dict[str, float]:
    return runtime.metrics.figures()[tool]


# --- places and deadlines ------------------------------------------------------------------------------------------


async def test_no_more_calls_run_than_there_are_places_whatever_session_they_come_from(runtime):
    few, many = Doing(answer, concurrency=2), Doing(answer, name="many")
    executors = [Executor({"do": few, "many": many}, max_output_chars=100, runtime=runtime) for _ in range(3)]
    calls = [a_call() for _ in range(5)] + [a_call(name="many") for _ in range(10)]
    results = await asyncio.gather(*(executor.run(calls, timeout_s=5) for executor in executors))
    assert {result.status for each in results for result in each} == {OK}
    assert few.most_running == 2
    assert few.most_running + many.most_running <= 10
    assert many.most_running <= 8


async def test_a_slow_tool_leaves_room_for_the_others(runtime):
    slow, quick = Doing(hang, concurrency=4), Doing(answer, name="quick")
    hung = [asyncio.create_task(runtime.run(slow, a_call(), 5)) for _ in range(20)]
    await asyncio.sleep(0)
    assert (await runtime.run(quick, a_call(name="quick"), 1))[0] is OK
    for task in hung:
        task.cancel()
    await asyncio.wait(hung)
    assert (await runtime.run(quick, a_call(name="quick"), 1))[0] is OK


async def test_waiting_for_a_place_ends_at_the_deadline_and_says_so(runtime):
    slow = Doing(hang, concurrency=1)
    first = asyncio.create_task(runtime.run(slow, a_call(), 5))
    await asyncio.sleep(0)
    status, text = await runtime.run(slow, a_call(), 0.05)
    assert (status, text) == (TIMEOUT, "not run: no place became free within 0.1 seconds")
    assert slow.runs == 1
    first.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await first
    assert slow.cancelled == 1


async def test_a_tools_own_deadline_counts_from_when_it_runs(runtime):
    tool = Doing(hang, concurrency=1, timeout_s=0.1)
    started = time.monotonic()
    ends = await asyncio.gather(*(runtime.run(tool, a_call(), 5) for _ in range(3)))
    assert ends == [(TIMEOUT, "it did not end within 0.1 seconds and was stopped")] * 3
    assert time.monotonic() - started >= 0.3
    assert tool.cancelled == 3


async def test_a_call_that_swallows_its_cancellation_is_left_behind(runtime):
    released = asyncio.Event()

    async def stubborn(run: int) -> str:
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()
        return "at last"

    assert (await runtime.run(Doing(stubborn), a_call(), 0.05))[0] is TIMEOUT
    assert figures(runtime)["abandoned"] == 1
    released.set()
    await asyncio.sleep(0)


# --- retries and hedging --------------------------------------------------------------------------------------------


async def cancel_itself(run: int) -> str:
    raise asyncio.CancelledError


async def give_up(run: int) -> str:
    raise TimeoutError("the library is asleep")


async def third_time_lucky(run: int) -> str:
    if run < 3:
        raise ToolError("not yet")
    return "now"


async def first_hangs(run: int) -> str:
    return await (hang(run) if run == 1 else answer(run))


async def slow_then_failing(run: int) -> str:
    if run == 1:
        await asyncio.sleep(0.1)
        return "slow but right"
    raise ToolError("quick and wrong")


REPEATED = {"idempotent": True, "attempts": 3, "backoff_s": 0.01}


@pytest.mark.parametrize(
    ("work", "policy", "ended", "counted", "cancelled"),
    [
        (cancel_itself, {}, (ERROR, "the tool failed: it cancelled itself"), {"error": 1}, 1),
        (give_up, {}, (TIMEOUT, "the tool gave up waiting: the library is asleep"), {"timeout": 1}, 0),
        (third_time_lucky, {}, (ERROR, "not yet"), {"error": 1}, 0),
        (third_time_lucky, REPEATED, (OK, "now"), {"ok": 1, "retried": 2}, 0),
        (third_time_lucky, {**REPEATED, "backoff_s": 10}, (ERROR, "not yet"), {"error": 1}, 0),
        (first_hangs, {**REPEATED, "attempt_timeout_s": 0.05}, (OK, "answer 2"), {"ok": 1, "retried": 1}, 1),
        (first_hangs, {"pure": True, "hedge_after_s": 0.05}, (OK, "answer 2"), {"ok": 1, "hedged": 1}, 1),
        (slow_then_failing, {"pure": True, "hedge_after_s": 0.02}, (OK, "slow but right"), {"ok": 1, "hedged": 1}, 0),
    ],
    ids=["cancelling", "timeout", "once", "repeated", "too-late", "hung-attempt", "hedged", "failing-hedge"],
)
async def test_how_a_call_ends_under_its_policy(runtime, eventually, work, policy, ended, counted, cancelled):
    tool = Doing(work, **policy)
    assert await runtime.run(tool, a_call(), 5) == ended
    assert figures(runtime) == counted
    await eventually(lambda: tool.cancelled == cancelled and not tool.running)


async def test_a_call_of_which_the_policy_asks_nothing_crosses_three_layers(runtime):
    """The executor's own and that of its call before it, as of any tool: `tests/envs/service/test_one_tap.py`."""
    tool, layers = Doing(answer), set[str]()
    assert tool.policy.plain
    await runtime.run(tool, a_call(), 10)

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename == runtime_module.__file__ and code.co_flags & inspect.CO_COROUTINE:
            layers.add(code.co_qualname)

    sys.setprofile(note)
    try:
        assert await runtime.run(tool, a_call(), 10) == (OK, "answer 2")
    finally:
        sys.setprofile(None)
    assert 0 < len(layers) <= 3, layers


async def test_what_the_model_did_wrong_is_not_repeated(runtime):
    async def refuse(run: int) -> str:
        raise Rejected("no")

    tool = Doing(refuse, idempotent=True, attempts=3, breaker_failures=1)
    for _ in range(3):
        assert await runtime.run(tool, a_call(), 5) == (REJECTED, "no")
    assert tool.runs == 3


# --- sharing and caching ------------------------------------------------------------------------------------------


async def test_equal_calls_at_the_same_time_are_one(runtime):
    tool = Doing(answer, pure=True)
    ends = await asyncio.gather(
        *(runtime.run(tool, a_call(a=1, b=2), 5) for _ in range(5)),
        *(runtime.run(tool, a_call(b=2, a=1), 5) for _ in range(5)),
        runtime.run(tool, a_call(a=2), 5),
    )
    assert tool.runs == 2
    assert len(set(ends)) == 2
    assert figures(runtime)["joined"] == 9
    assert await runtime.run(tool, a_call(a=1, b=2), 5) == (OK, "answer 3"), "without a time to live nothing is kept"


async def test_what_is_not_pure_is_never_shared(runtime):
    tool = Doing(answer)
    await asyncio.gather(*(runtime.run(tool, a_call(), 5) for _ in range(4)))
    assert tool.runs == 4


async def test_one_callers_end_is_not_the_others(runtime):
    tool = Doing(answer, pure=True)
    leaving = asyncio.create_task(runtime.run(tool, a_call(), 5))
    staying = asyncio.create_task(runtime.run(tool, a_call(), 5))
    hasty = asyncio.create_task(runtime.run(tool, a_call(), 0.001))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await hasty)[0] is TIMEOUT
    assert await staying == (OK, "answer 1")
    assert tool.cancelled == 0


async def test_a_shared_run_is_cancelled_when_nobody_waits_any_more(runtime, eventually):
    tool = Doing(hang, pure=True)
    ends = await asyncio.gather(*(runtime.run(tool, a_call(), 0.05) for _ in range(3)))
    assert {status for status, _ in ends} == {TIMEOUT}
    await eventually(lambda: bool(tool.cancelled))
    assert tool.runs == 1


async def test_answers_are_kept_for_their_time_and_failures_never(tmp_path):
    now = [1000.0]
    async with ToolRuntime(cache=ResultCache(clock=lambda: now[0])) as runtime:
        tool = Doing(answer, pure=True, cache_ttl_s=60)
        assert [await runtime.run(tool, a_call(), 5) for _ in range(2)] == [(OK, "answer 1")] * 2
        now[0] += 61
        assert await runtime.run(tool, a_call(), 5) == (OK, "answer 2")
        failing = Doing(third_time_lucky, name="fails", pure=True, cache_ttl_s=60)
        ends = [await runtime.run(failing, a_call(name="fails"), 5) for _ in range(4)]
        assert [status for status, _ in ends] == [ERROR, ERROR, OK, OK]
        assert failing.runs == 3


async def test_answers_on_disk_outlive_the_service_until_the_version_changes(tmp_path):
    config = CacheConfig(path=tmp_path / "deep" / "answers.db")
    first = Doing(answer, pure=True, cache_ttl_s=60)
    async with ToolRuntime(cache=ResultCache(config)) as runtime:
        await runtime.run(first, a_call(), 5)
    async with ToolRuntime(cache=ResultCache(config)) as runtime:
        second = Doing(answer, pure=True, cache_ttl_s=60)
        assert await runtime.run(second, a_call(), 5) == (OK, "answer 1")
        assert second.runs == 0
        for changed in (
            Doing(answer, pure=True, cache_ttl_s=60, version="2"),
            Doing(answer, pure=True, cache_ttl_s=60, identity="another corpus"),
        ):
            await runtime.run(changed, a_call(), 5)
            assert changed.runs == 1


async def test_a_disk_that_fails_is_done_without(tmp_path, caplog):
    path = tmp_path / "answers.db"
    path.write_bytes(b"this is no database" * 1000)
    async with ToolRuntime(cache=ResultCache(CacheConfig(path=path))) as runtime:
        tool = Doing(answer, pure=True, cache_ttl_s=60)
        assert [await runtime.run(tool, a_call(), 5) for _ in range(2)] == [(OK, "answer 1")] * 2
    assert "answers are not kept on disk: DatabaseError" in caplog.text


async def test_memory_stays_within_its_bound():
    cache = ResultCache(CacheConfig(max_bytes=3_000))
    for index in range(10):
        await cache.put(f"key {index}", "x" * 400, ttl_s=60)
    assert [index for index in range(10) if cache.in_memory(f"key {index}")] == [7, 8, 9]


def test_keys_differ_exactly_where_calls_do():
    same = [cache_key("t", "1", "", {"a": 1, "b": [1, 2]}), cache_key("t", "1", "", {"b": [1, 2], "a": 1})]
    others = [
        cache_key("t", "1", "", {"a": "1", "b": [1, 2]}),
        cache_key("t", "1", "", {"a": 1, "b": [2, 1]}),
        cache_key("u", "1", "", {"a": 1, "b": [1, 2]}),
        cache_key("t", "2", "", {"a": 1, "b": [1, 2]}),
    ]
    assert len(set(same)) == 1
    assert len({*same, *others}) == 5


# --- breaker and figures ------------------------------------------------------------------------------------------


async def test_a_tool_that_keeps_failing_is_left_alone_and_tried_again(runtime):
    tool = Doing(third_time_lucky, breaker_failures=2, breaker_rest_s=0.1)
    texts = [(await runtime.run(tool, a_call(), 5))[1] for _ in range(4)]
    assert texts[:2] == ["not yet", "not yet"]
    assert texts[2].startswith("not run: do failed 2 times in a row; it is tried again in")
    assert tool.runs == 2
    while (end := await runtime.run(tool, a_call(), 5))[1].startswith("not run"):  # noqa: ASYNC110 - until it has rested
        await asyncio.sleep(0.01)
    assert end == (OK, "now")
    assert figures(runtime)["breaker_opened"] == 1


def test_a_breaker_lets_one_call_try_and_rests_again_when_it_fails():
    now = [0.0]
    breaker = CircuitBreaker(failures=2, rest_s=10, clock=lambda: now[0])
    assert [breaker.failed(), breaker.failed()] == [False, True]
    assert breaker.admit() == 10
    now[0] = 10
    assert breaker.admit() is None
    assert breaker.admit() == 0, "while one call tries, others wait"
    assert not breaker.failed()
    assert breaker.admit() == 10
    now[0] = 20
    assert breaker.admit() is None
    breaker.left()
    assert breaker.admit() is None
    breaker.succeeded()
    assert (breaker.admit(), breaker.in_a_row) == (None, 0)


async def test_calls_are_counted_by_their_end(runtime):
    assert await runtime.run(Doing(answer), a_call(), 0) == (
        TIMEOUT,
        "not run: the time for this turn was used up by the calls before it",
    )
    await runtime.run(Doing(answer), a_call(), 5)
    await runtime.run(Doing(third_time_lucky), a_call(), 5)
    assert figures(runtime) == {"ok": 1, "error": 1, "timeout": 1}


async def test_a_tools_own_cap_is_kept(runtime):
    async def long(run: int) -> str:
        return "x" * 1000

    executor = Executor({"do": Doing(long, max_output_chars=50)}, max_output_chars=500, runtime=runtime)
    (result,) = await executor.run([a_call()], timeout_s=5)
    assert "[... 950 characters cut ...]" in result.text


async def test_the_end_of_the_service_ends_shared_runs(eventually):
    tool = Doing(hang, pure=True)
    async with ToolRuntime() as runtime:
        waiting = asyncio.create_task(runtime.run(tool, a_call(), 60))
        await eventually(lambda: bool(tool.runs))
    assert tool.cancelled == 1
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"attempts": 2}, "only calls of an idempotent or pure tool are repeated"),
        ({"hedge_after_s": 1, "idempotent": True}, "hedge_after_s is set, but only answers of a pure tool"),
    ],
)
def test_policies_that_contradict_themselves_are_refused(policy, words):
    with pytest.raises(ValueError, match=words):
        ToolPolicy(**policy)


@pytest.mark.parametrize("field", ["timeout_s", "attempts", "concurrency", "cache_ttl_s", "breaker_rest_s"])
def test_senseless_policies_are_refused(field):
    with pytest.raises(ValueError, match=field):
        ToolPolicy(**{"pure": True, field: 0})  # type: ignore[arg-type]
