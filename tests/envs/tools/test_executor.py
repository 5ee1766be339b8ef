"""How the calls of one step run: order, side by side, deadlines, statuses."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.slow_phones import SlowSource
from rlfactory.emulators.device.errors import DeviceLost, DeviceTimeout
from rlfactory.envs.api.coordinates import ScreenSize
from rlfactory.envs.api.types import ToolStatus
from rlfactory.envs.tools.finish import FinishTool
from rlfactory.envs.tools.phone import PhoneTool
from rlfactory.envs.tools.runtime.executor import NOT_RUN, Executor, shorten
from rlfactory.envs.tools.tool import ToolContext, TurnNotes


@pytest.fixture
def notes():
    return TurnNotes()


@pytest.fixture
def executor(bench_tools, notes):
    context = ToolContext(notes=notes)
    return Executor({name: bench_tools.get(name)(context) for name in bench_tools}, max_output_chars=100)


async def test_results_come_in_call_order_whatever_ends_first(executor, call, bench):
    calls = [call("free", do="wait", text="slow", id="a"), call("free", text="quick", id="b")]
    run = asyncio.create_task(executor.run(calls, timeout_s=5))
    await bench.until(lambda: bench.log == ["begin slow", "quick"])
    bench.gate.set()
    assert [(each.call_id, each.status) for each in await run] == [("a", ToolStatus.OK), ("b", ToolStatus.OK)]


async def test_calls_run_side_by_side_unless_they_share_something(executor, call, bench):
    bench.gate.set()
    await executor.run([call("free", do="wait", id=str(index)) for index in range(4)], timeout_s=5)
    assert bench.most_running == 4
    bench.most_running = 0
    await executor.run([call("shared", do="wait", text=str(index), id=str(index)) for index in range(4)], timeout_s=5)
    assert bench.most_running == 1
    assert [line for line in bench.log if line.isdigit()] == ["0", "1", "2", "3"]


async def test_each_kind_of_failure_has_its_status_and_words(executor, call):
    calls = [
        call("free", do="reject", id="0"),
        call("free", do="fail", id="1"),
        call("free", do="crash", id="2"),
        call("fre", id="3"),
    ]
    results = await executor.run(calls, timeout_s=5)
    assert [(each.status.value, each.text) for each in results] == [
        ("rejected", "no such thing"),
        ("error", "the shop is closed"),
        ("error", "the tool failed: ZeroDivisionError: oops"),
        ("rejected", "no tool 'fre'; close: free"),
    ]


async def test_what_waits_behind_a_hung_call_is_not_run(executor, call, bench):
    calls = [call("shared", do="wait", id="0"), call("shared", text="later", id="1")]
    results = await executor.run(calls, timeout_s=0.1)
    assert [each.status for each in results] == [ToolStatus.TIMEOUT, ToolStatus.TIMEOUT]
    assert "not run" in results[1].text
    assert "later" not in bench.log


async def test_finish_waits_for_what_is_before_it_and_cancels_what_is_behind(executor, call, bench, notes):
    calls = [
        call("free", do="wait", text="first", id="0"),
        call("finish", id="1"),
        call("free", text="behind", id="2"),
    ]
    run = asyncio.create_task(executor.run(calls, timeout_s=5))
    await bench.until(lambda: bool(bench.log))
    assert notes.ending is None
    bench.gate.set()
    results = await run
    assert [each.status for each in results] == [ToolStatus.OK, ToolStatus.OK, ToolStatus.CANCELLED]
    assert results[2].text == NOT_RUN
    assert bench.log == ["begin first", "first"]
    assert notes.ending is not None


async def test_infrastructure_failure_cancels_the_other_calls_and_is_raised_as_itself(executor, call, bench):
    with pytest.raises(DeviceLost):
        await executor.run([call("free", do="wait", text="x", id="0"), call("free", do="lose", id="1")], timeout_s=5)
    assert "cancelled x" in bench.log


async def test_cancelling_a_run_cancels_its_calls(executor, call, bench):
    run = asyncio.create_task(
        executor.run([call("free", do="wait", text=str(index), id=str(index)) for index in range(3)], timeout_s=5)
    )
    await bench.until(lambda: len(bench.log) == 3)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert bench.running == 0


async def test_long_output_keeps_head_and_tail(executor, call):
    result = (await executor.run([call("free", text="a" * 200 + "z" * 200)], timeout_s=5))[0]
    assert result.text.startswith("a" * 50 + "\n[... 302 characters cut ...]\n")
    assert result.text.endswith("z 1")


@pytest.mark.parametrize("length", [0, 9, 10, 11, 1000])
def test_shorten_keeps_what_fits(length):
    text = "x" * length
    assert (shorten(text, 10) == text) == (length <= 10)


async def play_for_two_seconds(call, seconds_asked, *, last="phone"):
    """Ask a phone that takes 1.1 s for everything for more than fits, and return what came of it."""
    device = await SlowSource(1.1).start()
    size = ScreenSize(width_px=540, height_px=1200, image_width_px=540, image_height_px=1200)
    context = ToolContext(device=device, screen=lambda: size)
    executor = Executor({"phone": PhoneTool(context), "finish": FinishTool(context)}, max_output_chars=100)
    waits = [call("phone", action="wait", seconds=seconds_asked, id=str(index)) for index in range(2)]
    end = (
        call("finish", status="success", id="2")
        if last == "finish"
        else call("phone", action="key", key="HOME", id="2")
    )
    return await executor.run([*waits, end], timeout_s=2.0)


@pytest.mark.parametrize("last", ["phone", "finish"])
async def test_time_that_a_slow_phone_used_up_is_the_phones_fault(call, last):
    with pytest.raises(DeviceTimeout, match=r"slow-1 is slow: 2\.\d s for 2 actions"):
        await play_for_two_seconds(call, 0.0, last=last)


async def test_time_that_was_asked_for_is_the_callers_own(call):
    results = await play_for_two_seconds(call, 0.5)
    assert [each.status for each in results] == [ToolStatus.OK, ToolStatus.OK, ToolStatus.TIMEOUT]
