"""What code of a model can do in its container: nothing to anything else, and the next call works."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.sandboxes import GRACE_S, Interpreter, RunStatus, Sandboxes
from rlfactory.processes.docker.spec import LABEL_KIND, ContainerLimits
from tests.commands import docker, rlfactory_json

pytestmark = pytest.mark.docker

LIMITS = ContainerLimits(memory_mb=256, pids=32, cpus=1.0, tmp_mb=32)
TIMEOUT_S = 5.0


@pytest.fixture
async def sandboxes() -> AsyncIterator[Sandboxes]:
    made = Sandboxes(replace(SandboxConfig(spares=0), limits=LIMITS))
    yield made
    await made.close()


@pytest.fixture
async def python(sandboxes: Sandboxes) -> Interpreter:
    return await sandboxes.open()


NETWORK = """
import socket
reached = []
for host, port in (("1.1.1.1", 53), ("172.17.0.1", 22), ("127.0.0.1", 2375), ("8.8.8.8", 443)):
    try:
        socket.create_connection((host, port), 1)
        reached.append(host)
    except OSError:
        pass
try:
    reached.append(socket.gethostbyname("example.org"))
except OSError:
    pass
names = [name for _, name in socket.if_nameindex() if name != "lo"]
print(reached, names)
"""
ESCAPES = """
import os
done = []
for path in ("/etc/x", "/opt/rlfactory/interpreter.py", "/root/x", "/proc/sys/kernel/core_pattern", "/sys/x", "/x",
             "/proc/sysrq-trigger", "/dev/sda", "/dev/mem"):
    try:
        open(path, "a").write("x")
        done.append(path)
    except OSError:
        pass
for path in ("/var/run/docker.sock", "/run/docker.sock", "/etc/shadow", "/proc/1/mem",
             "/proc/kcore"):
    try:
        done.append((path, open(path, "rb").read(1)))
    except OSError:
        pass
for call in (lambda: os.setuid(0), lambda: os.chroot("/tmp"), lambda: os.mknod("/tmp/d", 0o600 | 0o60000, 1)):
    try:
        call()
        done.append(call)
    except OSError:
        pass
print(done, os.getuid(), sorted(os.environ))
"""
EXECUTABLE = """
import os
with open("tool", "wb") as out:
    out.write(open("/bin/true", "rb").read())
os.chmod("tool", 0o755)
os.execv("./tool", ["tool"])
"""
PRIVILEGES = """
status = open("/proc/self/status").read()
print([line for line in status.splitlines() if line.startswith(("CapEff", "CapBnd", "NoNewPrivs", "Seccomp:"))])
"""


async def test_the_network_the_host_and_the_engine_cannot_be_reached(python):
    assert (await python.run(NETWORK, timeout_s=30)).output == "[] []\n"
    assert (await python.run(ESCAPES, timeout_s=10)).output == (
        "[] 10001 ['HOME', 'LANG', 'OPENBLAS_NUM_THREADS', 'PATH']\n"
    )
    assert "PermissionError" in (await python.run(EXECUTABLE, timeout_s=10)).output
    told = (await python.run(PRIVILEGES, timeout_s=10)).output
    assert "'CapEff:\\t0000000000000000'" in told and "'CapBnd:\\t0000000000000000'" in told
    assert "'NoNewPrivs:\\t1'" in told and "'Seccomp:\\t2'" in told


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", id="fork bomb"),
        pytest.param(
            "import os\nif os.fork() == 0:\n  os.setsid()\n  while True: os.fork()", id="fork bomb left behind"
        ),
        pytest.param("x = []\nwhile True: x.append(bytearray(10_000_000))", id="memory bomb"),
        pytest.param("open('f', 'wb').write(bytes(100_000_000))", id="large file"),
        pytest.param("n = 0\nwhile True:\n  n += 1\n  open(f'f{n}', 'wb').write(bytes(1_000_000))", id="disk filler"),
        pytest.param("n = 0\nwhile True:\n  n += 1\n  open(f'e{n}', 'w').close()", id="inode filler"),
        pytest.param("while True: print('x' * 1000)", id="output flood"),
        pytest.param("import os\nos.kill(-1, 9)", id="kill all"),
        pytest.param("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)", id="kill the supervisor"),
        pytest.param("import os, time\nos.kill(os.getppid(), 19)\ntime.sleep(60)", id="stop the supervisor"),
        pytest.param("import os\nos.kill(os.getpid(), 19)", id="stop oneself"),
        pytest.param("import os, signal\nsignal.alarm(1)\nos.kill(os.getpid(), 11)", id="crash"),
        pytest.param(
            "import signal\nfor n in set(range(1, 65)) - {9, 19, 32, 33}:\n  signal.signal(n, signal.SIG_IGN)\n"
            "while True: pass",
            id="ignore all signals",
        ),
        pytest.param("import os\nos.write(3, b'ok 1\\n')\nwhile True: pass", id="forge an end"),
        pytest.param("import os\nwhile True: os.write(3, b'ok 2\\n')", id="flood with ends"),
        pytest.param("import os\nos.closerange(0, 1000)", id="close everything"),
        pytest.param("import sys\nsys.setrecursionlimit(10**9)\nf = lambda: f()\nf()", id="recursion"),
        pytest.param("import threading\nwhile True: threading.Thread(target=lambda: 9**9**9).start()", id="threads"),
    ],
)
async def test_a_hostile_program_ends_in_time_and_the_next_call_works(sandboxes, python, code):
    started_s = time.monotonic()
    await python.run(code, timeout_s=TIMEOUT_S)
    assert time.monotonic() - started_s < TIMEOUT_S + GRACE_S + 5
    again = await sandboxes.open() if python.lost else python
    ran = await again.run("import os\nos.listdir('/proc') and 6 * 7", timeout_s=10)
    if ran.status is RunStatus.OK:
        assert ran.output.endswith("42\n")
    else:  # what was left behind may have cost this call; it does not cost another one
        fresh = await sandboxes.open() if again.lost else again
        assert (await fresh.run("6 * 7", timeout_s=10)).output == "42\n"


async def test_what_is_left_running_ends_with_its_call(python):
    await python.run("import subprocess\np = subprocess.Popen(['sleep', '1000'])", timeout_s=30)
    assert (await python.run("p.wait(5)", timeout_s=10)).output == "-9\n"


async def test_nothing_is_left_when_sandboxes_close():
    sandboxes = Sandboxes(SandboxConfig(spares=1))
    opened = await asyncio.gather(sandboxes.open(), sandboxes.open())
    assert (await opened[0].run("1", timeout_s=10)).output == "1\n"
    ours = containers()
    assert len(ours) >= 2
    names = {phone["container"] for phone in rlfactory_json("emulators", "ls")["phones"]}
    assert not names & set(docker("ps", "--filter", f"label={LABEL_KIND}=sandbox", "--format", "{{.Names}}").split())
    await sandboxes.close()
    assert not ours & containers()


def containers() -> set[str]:
    return set(docker("ps", "-aq", "--filter", f"label={LABEL_KIND}=sandbox").split())


SUPERVISOR = """
import os, threading, time
denied = []
for name, mode in (("fd/1", "w"), ("fd/0", "r"), ("mem", "rb"), ("oom_score_adj", "w"), ("environ", "r")):
    try:
        open(f"/proc/{os.getppid()}/{name}", mode).read(1)
    except PermissionError:
        denied.append(name)
print(denied)
def late():
    time.sleep(0.3)
    for pid in (os.getppid(), 1):
        os.kill(pid, 9)
threading.Thread(target=late, daemon=True).start()
"""


async def test_code_neither_sees_nor_ends_its_supervisor_not_even_between_calls(python):
    ran = await python.run(SUPERVISOR, timeout_s=TIMEOUT_S)
    assert ran.output == "['fd/1', 'fd/0', 'mem', 'oom_score_adj', 'environ']\n"
    await asyncio.sleep(0.6)
    assert not python.ended_idle
    ran = await python.run("1 + 1", timeout_s=TIMEOUT_S)
    assert ran.output == "2\n"


async def test_orphans_are_buried_while_code_runs(python):
    """Each of 150 processes, of 32 that there may be, is orphaned before it ends."""
    orphans = """
import os, time
made = 0
while made < 150:
    try:
        child = os.fork()
    except BlockingIOError:
        time.sleep(0.05)
        continue
    if not child:
        try:
            os.fork()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    made += 1
made
"""
    assert (await python.run(orphans, timeout_s=20)).output == "150\n"
