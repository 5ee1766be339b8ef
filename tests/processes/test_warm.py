"""A warm process: programs run in its forks as Python would run them, and end as they would."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from rlfactory.processes.warm import WarmPython, warm_python

PROGRAM = """
import json, os, sys
imported = "statistics" in sys.modules
print(json.dumps([sys.argv[1:], os.getcwd(), os.environ["WORD"], imported, __name__, os.getppid()]), flush=True)
if "wait" in sys.argv:
    sys.stdin.read()
if "fail" in sys.argv:
    sys.exit(7)
"""


@pytest.fixture
async def warm(tmp_path: Path) -> AsyncIterator[WarmPython]:
    """A warm process that has imported `statistics`, for programs called program.py."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "other.py").write_text(PROGRAM)
    begin = "statistics:NormalDist"
    async with warm_python(
        ["statistics"], ["program.py"], begin=begin, environment={"WORD": "imported"}, log_path=tmp_path / "warm.log"
    ) as python:
        yield python


async def start(warm: WarmPython, tmp_path: Path, *words: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, "WORD": "asked"}
    return await asyncio.create_subprocess_exec(
        warm.executable, *words, cwd=tmp_path, env=environment, stdin=pipe, stdout=pipe
    )


async def said(process: asyncio.subprocess.Process) -> list[object]:
    assert process.stdout is not None
    found: list[object] = json.loads(await process.stdout.readline())
    return found


async def test_a_program_runs_in_a_fork_with_what_its_starter_gave_it(warm: WarmPython, tmp_path: Path):
    process = await start(warm, tmp_path, "-u", str(tmp_path / "program.py"), "one", "fail")
    assert await said(process) == [["one", "fail"], str(tmp_path), "asked", True, "__main__", warm.pid]
    assert await process.wait() == 7


async def test_a_program_that_is_not_named_is_run_by_python_itself(warm: WarmPython, tmp_path: Path):
    process = await start(warm, tmp_path, str(tmp_path / "other.py"))
    assert await said(process) == [[], str(tmp_path), "asked", False, "__main__", os.getpid()]
    assert await process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_reaches_the_fork_and_its_end_is_told(warm: WarmPython, tmp_path: Path, number: signal.Signals):
    process = await start(warm, tmp_path, str(tmp_path / "program.py"), "wait")
    await said(process)
    ended = asyncio.create_task(process.wait())
    while not ended.done():  # one that comes just before Python begins to read is seen when the reading is over
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        await asyncio.wait((ended,), timeout=5)
    # Python ends by KeyboardInterrupt where SIGINT is not ignored.
    assert ended.result() in (-number, 1)


async def test_a_fork_ends_with_the_process_that_stands_for_it(warm: WarmPython, tmp_path: Path):
    process = await start(warm, tmp_path, str(tmp_path / "program.py"), "wait")
    await said(process)
    (fork,) = psutil.Process(warm.pid).children()
    process.kill()
    await asyncio.to_thread(psutil.wait_procs, [fork], 10)
    assert not fork.is_running()


async def test_without_the_warm_process_python_runs_the_program(warm: WarmPython, tmp_path: Path):
    psutil.Process(warm.pid).kill()
    await asyncio.to_thread(psutil.wait_procs, [psutil.Process(warm.pid)], 10)
    process = await start(warm, tmp_path, str(tmp_path / "program.py"))
    assert (await said(process))[3] is False
    assert await process.wait() == 0


async def test_nothing_is_left_after_the_block(tmp_path: Path):
    async with warm_python([], [], begin="os:getpid", environment={}, log_path=tmp_path / "log") as python:
        warm = psutil.Process(python.pid)
        assert sys.executable not in python.executable
    assert not warm.is_running()
    assert not os.access(python.executable, os.F_OK)
