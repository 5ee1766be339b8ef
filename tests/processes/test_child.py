"""Children end with their parent, killed outright or not, whatever they are at; and when they are told to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE

import psutil
import pytest

from rlfactory.processes.child import Child
from rlfactory.processes.errors import ProcessError, ProgramEnded
from rlfactory.processes.malloc import keep_large_blocks
from tests.family import lives

WATCHES = "from rlfactory.processes.child import when_parent_ends; import os; when_parent_ends(lambda: os._exit(0))"
PARENT = f"""
import asyncio, contextlib, json, sqlite3, sys
import psutil
from rlfactory.emulators.adb.server import start_adb_server
from rlfactory.emulators.sources.hosted import start_worker
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.sandboxes import Sandboxes
from rlfactory.envs.tools.sql.database import SqliteBytes
from rlfactory.envs.tools.sql.workers import SqlWorkers
from rlfactory.processes.child import Child, tied
from rlfactory.trainer.run.local_service import ServiceConfig, local_service

async def main():
    await Child.start(*tied("sleep", "600"), name="sleep")
    await Child.start(sys.executable, "-c", {f"{WATCHES}; import time; time.sleep(600)"!r}, name="watch")
    adb = await start_adb_server(timeout_s=20)
    host = await start_worker()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    database = SqliteBytes(connection.serialize())
    query = asyncio.create_task(SqlWorkers().run(database, endless, timeout_s=600))
    python = await Sandboxes(SandboxConfig(unsafe_local=True, spares=0)).open()
    code = asyncio.create_task(python.run("while True: pass", timeout_s=600))
    async with local_service(ServiceConfig(phones=0)):
        first, busy = {{}}, 0
        while busy < 2:  # until the query and the code are at it: more than any start takes, on however busy a machine
            await asyncio.sleep(0.1)
            family = {{}}
            for each in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
                    family[each.pid] = (each.cpu_times().user, " ".join(each.cmdline()))
            used = {{pid: seconds for pid, (seconds, _) in family.items()}}
            first = used | first
            busy = sum(seconds - first[pid] > 0.5 for pid, seconds in used.items())
        print(json.dumps({{pid: command for pid, (_, command) in family.items()}}), flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_all_children_end_when_their_parent_is_killed_outright(eventually) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, stdout=PIPE)
    assert parent.stdout is not None
    family: dict[str, str] = json.loads(await parent.stdout.readline())
    found = {psutil.Process(int(pid)): command for pid, command in family.items()}
    for words in ("sleep 600", WATCHES, "adb", "wire.host", "sql.worker", "interpreter.py", "rlfactory serve"):
        assert any(words in command for command in found.values()), words
    parent.kill()
    await parent.wait()
    try:
        async with asyncio.timeout(30):
            await eventually(lambda: not any(map(lives, found)))
    finally:
        left = {process: command for process, command in found.items() if lives(process)}
        for process in left:
            process.kill()
        assert left == {}


async def test_lines_go_to_and_fro_until_it_ends() -> None:
    child = await Child.start(sys.executable, "-c", "print(input()[::-1], flush=True); input()", name="echo")
    await child.send(b"abc\n")
    assert await child.receive() == b"cba"
    assert await child.memory_bytes() > 0
    await child.send(b"enough\n")
    with pytest.raises(ProgramEnded, match="its process ended"):
        await child.receive()
    await child.stop(patience_s=0)
    assert child.ended
    assert await child.memory_bytes() == 0
    await child.stop()


async def test_a_line_without_an_end_is_not_waited_for() -> None:
    child = await Child.start(sys.executable, "-c", "while True: print('x' * 100_000, end='')", name="flood")
    with pytest.raises(ProgramEnded, match="too long a line"):
        await child.receive()
    await child.stop(patience_s=0)


async def test_what_does_not_end_with_its_input_is_killed_with_what_it_started(eventually) -> None:
    code = (
        "import pathlib, subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "print(child.pid, flush=True)\n"
        "child.wait()"
    )
    child = await Child.start(sys.executable, "-c", code, name="stubborn")
    grandchild = psutil.Process(int(await child.receive()))
    await child.stop(patience_s=0.05)
    assert child.process.returncode == -signal.SIGKILL
    await eventually(lambda: not lives(grandchild))


async def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(ProcessError, match="/no/program cannot be started: No such file"):
        await Child.start("/no/program", name="nothing")


FAULTS = """
import ctypes, os, resource, sys
from rlfactory.processes.malloc import keep_large_blocks
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
print(keep_large_blocks(os.environ))

def frame():
    block = libc.malloc(10_000_000)
    ctypes.memset(block, 1, 10_000_000)
    libc.free(block)

frame()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    frame()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
async def test_the_memory_of_a_frame_is_kept_for_the_next_one() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", FAULTS, stdout=PIPE)
    told, faults = (await process.communicate())[0].split()
    assert (told, int(faults) < 100) == (b"True", True), f"{int(faults)} pages were fetched anew"


def test_a_users_own_settings_of_malloc_are_kept() -> None:
    assert not keep_large_blocks({**os.environ, "MALLOC_TOP_PAD_": "1024"})
