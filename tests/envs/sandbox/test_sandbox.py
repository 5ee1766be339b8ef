"""The interpreter of a session, as a process of this machine; tests/docker has it in its container."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.sandbox.config import SandboxConfig, allow_lists
from rlfactory.envs.sandbox.interpreter import MAX_OUTPUT_BYTES
from rlfactory.envs.sandbox.sandboxes import Interpreter, Ran, RunStatus, Sandboxes
from rlfactory.envs.sandbox.tool import PythonTool
from rlfactory.envs.service.services import Services
from rlfactory.envs.tools.tool import CallContext, Rejected, ToolContext, ToolError
from tests.family import family, kill

INTERPRETER = "interpreter.py"


@pytest.fixture
async def sandboxes() -> AsyncIterator[Sandboxes]:
    made = Sandboxes(SandboxConfig(unsafe_local=True, spares=0, max_open=3))
    yield made
    await made.close()


@pytest.fixture
async def python(sandboxes: Sandboxes) -> Interpreter:
    return await sandboxes.open()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a socket that Docker's SDK forgets
async def test_without_docker_code_is_refused_and_the_way_out_is_named():
    sandboxes = Sandboxes(SandboxConfig(engine_url="unix:///nowhere/docker.sock"))
    with pytest.raises(TaskError, match=r"no Docker engine answers .*--unsafe-local"):
        await sandboxes.open()
    await sandboxes.close()
    gc.collect()


async def test_variables_live_on_and_the_last_value_is_shown(python):
    assert await python.run("x = 20\nprint('hello')\nx + 1", timeout_s=10) == Ran(
        status=RunStatus.OK, output="hello\n21\n", kept=True
    )
    assert (await python.run("def f(n):\n  return n * x\nf(2)", timeout_s=10)).output == "40\n"
    assert (await python.run("x = 1;", timeout_s=10)).output == ""
    assert (await python.run("import sys; print('oops', file=sys.stderr)", timeout_s=10)).output == "oops\n"


async def test_a_mistake_is_told_with_its_line_and_costs_nothing(python):
    await python.run("x = 1", timeout_s=10)
    ran = await python.run("y = 2\n1 / 0", timeout_s=10)
    assert (ran.status, ran.kept) == (RunStatus.ERROR, True)
    assert ran.output.splitlines() == [
        "Traceback (most recent call last):",
        '  File "<code>", line 2, in <module>',
        "    1 / 0",
        "ZeroDivisionError: division by zero",
    ]
    assert (await python.run("x + y", timeout_s=10)).output == "3\n"
    assert "SyntaxError" in (await python.run("def", timeout_s=10)).output
    assert "EOFError" in (await python.run("input()", timeout_s=10)).output
    assert (await python.run("raise SystemExit(0)", timeout_s=10)).status is RunStatus.OK


async def test_late_code_is_interrupted_and_its_variables_are_kept(python):
    for _ in range(5):  # a machine that is busy enough gives an interrupted program no time to end
        await python.run("x = 1", timeout_s=10)
        ran = await python.run("while True: pass", timeout_s=0.2)
        if ran.kept:
            break
    assert (ran.status, ran.kept) == (RunStatus.TIMEOUT, True)
    assert "KeyboardInterrupt" in ran.output
    assert (await python.run("x", timeout_s=10)).output == "1\n"


async def test_code_that_will_not_be_interrupted_is_killed(python):
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    assert await python.run(stubborn, timeout_s=0.2) == Ran(status=RunStatus.TIMEOUT, output="", kept=False)
    assert "NameError" in (await python.run("signal", timeout_s=10)).output


async def test_an_interpreter_that_ends_itself_begins_anew(python):
    ran = await python.run("import os\nprint('bye')\nos._exit(3)", timeout_s=10)
    assert (ran.status, ran.kept) == (RunStatus.ENDED, False)
    assert "exit status 3" in ran.output and ran.output.startswith("bye")
    assert (await python.run("1", timeout_s=10)).output == "1\n"


async def test_a_flood_keeps_its_head_and_tail(python):
    ran = await python.run("print('begin')\nfor _ in range(2000): print('x' * 100)\nprint('end')", timeout_s=10)
    assert ran.output.startswith("begin") and ran.output.endswith("end\n")
    assert "bytes cut ...]" in ran.output and len(ran.output) < MAX_OUTPUT_BYTES + 100
    assert "no more can be written" in (await python.run("print('x' * 50_000_000)", timeout_s=10)).output
    assert (await python.run("1", timeout_s=10)).output == "1\n"


async def test_a_sandbox_that_ends_under_its_code_is_told_and_the_tool_opens_another(sandboxes, eventually):
    tool, context = PythonTool(ToolContext(services=Services(sandboxes))), CallContext(timeout_s=20)
    running = asyncio.create_task(tool.call({"code": "import time; time.sleep(60)"}, context))
    await eventually(lambda: tool._interpreter is not None)
    kill(INTERPRETER)
    with pytest.raises(ToolError, match="the sandbox ended: its process ended; its variables are gone"):
        await running
    assert await tool.call({"code": "6 * 7"}, context) == "42"
    await tool.close()


async def test_variables_lost_between_two_calls_void_the_episode(sandboxes, eventually):
    tool, context = PythonTool(ToolContext(services=Services(sandboxes))), CallContext(timeout_s=20)
    assert await tool.call({"code": "x = 5"}, context) == "(no output)"
    kill(INTERPRETER)
    await eventually(lambda: tool._interpreter.ended_idle)
    with pytest.raises(InfrastructureError, match="sandbox has ended, and with it the variables"):
        await tool.call({"code": "x"}, context)
    await tool.close()


async def test_a_spare_sandbox_that_has_ended_is_never_given_out(eventually):
    sandboxes = Sandboxes(SandboxConfig(unsafe_local=True, spares=1))
    python = await sandboxes.open()
    await eventually(lambda: len(family(INTERPRETER)) == 4)  # each a supervisor and what runs code
    (spare,) = [await each for each in sandboxes._spares]
    kill(INTERPRETER)
    await eventually(lambda: spare.ended and python.ended_idle)
    other = await sandboxes.open()
    assert (await other.run("6 * 7", timeout_s=10)).output == "42\n"
    await sandboxes.close()


async def test_the_tool_gives_words_for_each_end(sandboxes):
    services = Services(sandboxes)
    tool, hasty = PythonTool(ToolContext(services=services)), PythonTool(ToolContext(services=services), timeout_s=0.3)
    context = CallContext(timeout_s=20)
    assert await tool.call({"code": "6 * 7"}, context) == "42"
    with pytest.raises(ToolError, match="division by zero"):
        await tool.call({"code": "1 / 0"}, context)
    with pytest.raises(TimeoutError, match=r"stopped after 0\.3 seconds; variables are "):
        await hasty.call({"code": "while True: pass"}, context)
    with pytest.raises(Rejected, match="unknown argument"):
        await tool.call({"source": "1"}, context)
    await asyncio.gather(tool.close(), hasty.close())
    assert family(INTERPRETER) == []


async def test_a_fork_has_the_variables_and_goes_its_own_way(sandboxes):
    services = Services(sandboxes)
    tool, context = PythonTool(ToolContext(services=services)), CallContext(timeout_s=20)
    await tool.call({"code": "x = [1]"}, context)
    twin = tool.fork(ToolContext(services=services))
    assert await twin.call({"code": "x.append(2); x"}, context) == "[1, 2]"
    assert await tool.call({"code": "x"}, context) == "[1]"
    await asyncio.gather(tool.close(), twin.close())


def test_what_a_suite_may_reach_is_read_entry_by_entry():
    lists = allow_lists(["math_code=example.com:443", "math_code=*.example.org:80", "travel=10.0.0.1:1"])
    assert lists == {"math_code": ("example.com:443", "*.example.org:80"), "travel": ("10.0.0.1:1",)}
    config = SandboxConfig(allow=lists)
    assert config.spec("math_code").network and config.spec("math_code").allow == lists["math_code"]
    assert not config.spec("text2sql").network
    for wrong in ("example.com:443", "math_code=example.com", "=example.com:443", "math_code=:443"):
        with pytest.raises(TaskError, match="is not SUITE=HOST:PORT"):
            allow_lists([wrong])


async def test_only_so_many_are_open(sandboxes):
    opened = [await sandboxes.open() for _ in range(3)]
    fourth = asyncio.create_task(sandboxes.open())
    await asyncio.sleep(0)
    assert not fourth.done()
    await sandboxes.release(opened[0])
    await fourth


async def test_cancelling_a_call_ends_its_sandbox(python, eventually, tmp_path):
    begun = tmp_path / "begun"
    call = asyncio.create_task(python.run(f"open({str(begun)!r}, 'w').close()\nwhile True: pass", timeout_s=60))
    await eventually(begun.exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await eventually(lambda: not family(INTERPRETER))
    assert python.lost


async def test_spares_are_started_ahead_and_end_with_all_others(eventually):
    sandboxes = Sandboxes(SandboxConfig(unsafe_local=True, spares=1))
    await sandboxes.open()
    await eventually(lambda: len(family(INTERPRETER)) == 4)
    await sandboxes.close()
    assert family(INTERPRETER) == []


@pytest.mark.parametrize("how", ["closed", "killed"])
async def test_nothing_is_left_of_code_that_stands_still(how, sandboxes, python):
    folder = Path((await python.run("import os; print(os.getcwd())", timeout_s=10)).output.strip())
    assert await asyncio.to_thread(folder.is_dir)
    supervisor, child = sorted(family(INTERPRETER), key=lambda process: process.pid)
    if how == "killed":
        supervisor.kill()
    else:
        await sandboxes.close()
    _, alive = await asyncio.to_thread(psutil.wait_procs, [supervisor, child], timeout=20)
    assert alive == []
    assert how == "killed" or not await asyncio.to_thread(folder.exists)


FORGED = """
import json, os
with open(f"/proc/{os.getppid()}/fd/1", "w") as out:
    print(json.dumps({"status": "ok", "output": "forged", "kept": True}), file=out)
"""


async def test_what_others_write_on_the_supervisors_output_is_no_answer(python):
    """As whoever runs the tests may: the superuser can write there, others cannot even open it."""
    ran = await python.run(FORGED, timeout_s=20)
    assert "forged" not in ran.output
    assert ran.status is not RunStatus.OK


async def test_code_stands_still_between_two_calls(python):
    """Threads live on with the variables; what runs between calls would run in nobody's time, to nobody's blame."""
    count = """
import itertools, threading, time
seen = []
def beat():
    while True:
        seen.append(time.monotonic())
        time.sleep(0.01)
threading.Thread(target=beat, daemon=True).start()
def until(count):
    while len(seen) < count:
        time.sleep(0.01)
until(3)
"""
    await python.run(count, timeout_s=20)
    await asyncio.sleep(0.5)
    ran = await python.run("until(len(seen) + 3)\nmax(b - a for a, b in itertools.pairwise(seen)) > 0.3", timeout_s=20)
    assert ran.output == "True\n"
