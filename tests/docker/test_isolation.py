"""What a container of ours can reach: nothing. Tried from inside, against what does answer when others ask."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.sandboxes import Sandboxes
from rlfactory.processes.docker.engine import Cell, DockerEngine
from rlfactory.processes.docker.spec import CellSpec, Scope
from rlfactory.processes.errors import EngineError
from tests.commands import docker, output_of, run
from tests.docker.probe import PROBE, inside, reached

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def cells(images) -> Iterator[tuple[Cell, Cell]]:
    """Two containers with a phone each."""
    spec = CellSpec(image="rlfactory-simulator", kind="simulator", scope=Scope.SERVICE, command=("--phones", "1"))
    made: list[Cell] = []
    try:
        made += [images.make_cell(spec), images.make_cell(spec)]
        for cell in made:
            until_open(cell.address, 5555)
        yield made[0], made[1]
    finally:
        for cell in made:
            images.remove_cell(cell.label)


@pytest.fixture(scope="module")
def careless_port() -> Iterator[int]:
    """The port of something on this machine that answers on every address, as careless services do."""
    with socket.create_server(("0.0.0.0", 0)) as server:

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    server.accept()[0].close()

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def until_open(host: str, port: int) -> None:
    """Return when somebody listens; the test's timeout is the bound."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
            return


def addresses_of_the_host(cell: Cell) -> set[str]:
    """Every IPv4 address of this machine, that of the cell's own network included."""
    listing = json.loads(output_of("ip", "-4", "-json", "addr"))
    found = {each["local"] for link in listing for each in link["addr_info"]} - {"127.0.0.1"}
    network = cell.address.rpartition(".")[0]
    assert any(address.startswith(network) for address in found), "the host calls phones from its address among them"
    return found


def test_the_host_reaches_the_phones_and_is_not_reached(cells, careless_port):
    cell = cells[0]
    addresses = addresses_of_the_host(cell)
    for address in addresses:
        until_open(address, careless_port)
    assert reached(cell.id, *(f"{address}:{careless_port}" for address in addresses)) == set()
    until_open(cell.address, 5555)


def test_no_container_reaches_another(cells):
    first, second = cells
    ports = (5554, 5555)
    assert reached(second.id, *(f"{second.address}:{port}" for port in ports)), "the probe itself works"
    assert reached(first.id, *(f"{second.address}:{port}" for port in ports)) == set()
    assert reached(second.id, *(f"{first.address}:{port}" for port in ports)) == set()


@pytest.fixture
def world() -> Iterator[str]:
    """A host beyond this machine, in a network namespace of its own, that answers; yield its host:port."""
    name, near, far = f"rl-world-{os.getpid()}", "11.22.33.1", "11.22.33.2"  # public ones, as the world's are
    inside_it = ("ip", "netns", "exec", name)
    commands = (
        ("ip", "netns", "add", name),
        ("ip", "link", "add", "rl-near", "type", "veth", "peer", "name", "rl-far", "netns", name),
        ("ip", "addr", "add", f"{near}/30", "dev", "rl-near"),
        ("ip", "link", "set", "rl-near", "up"),
        (*inside_it, "ip", "addr", "add", f"{far}/30", "dev", "rl-far"),
        (*inside_it, "ip", "link", "set", "rl-far", "up"),
        (*inside_it, "ip", "link", "set", "lo", "up"),
    )
    server = None
    try:
        for command in commands:
            output_of(*command)
        server = subprocess.Popen(
            [*inside_it, sys.executable, "-m", "http.server", "80"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until_open(far, 80)
        yield f"{far}:80"
    finally:
        if server is not None:
            server.kill()
            server.wait()
        for command in (("ip", "link", "delete", "rl-near"), ("ip", "netns", "delete", name)):
            run(*command)


def test_no_container_reaches_the_world(cells, world):
    ordinary = docker("run", "--rm", "--entrypoint", "python3", "rlfactory-simulator", "-c", PROBE, world)
    assert json.loads(ordinary) == {world: "reached"}, "an ordinary container does reach it"
    for cell in cells:
        assert reached(cell.id, world) == set()


def test_a_container_with_a_list_reaches_its_hosts_through_its_proxy_alone(images, world):
    fetch = (
        "import sys, urllib.error, urllib.request\n"
        "try:\n    print(urllib.request.urlopen(sys.argv[1], timeout=20).status)\n"
        "except urllib.error.HTTPError as error:\n    print(error.code, error.read().decode())"
    )
    spec = CellSpec(
        image="rlfactory-simulator",
        kind="simulator",
        scope=Scope.SERVICE,
        command=("--phones", "1"),
        allow=("example.com:443", world),
    )
    cell = images.make_cell(spec)
    try:
        assert [info.id for info in images.cells() if info.cell == cell.label] == [cell.id], "the proxy is no cell"
        until_open(cell.address, 5555)
        answers = {}
        for url in (f"http://{world}/", "http://10.0.0.1/", f"http://{world.removesuffix(':80')}:81/"):
            done = inside(cell.id, "sh", "-c", 'until python3 -c "$0" "$1" 2>/dev/null; do sleep 0.2; done', fetch, url)
            answers[url] = done.stdout.strip()
        assert answers.pop(f"http://{world}/") == "200"
        assert all(answer.startswith("403") and "is not on the list" in answer for answer in answers.values())
        assert reached(cell.id, world) == set(), "without the proxy there is no way"
    finally:
        images.remove_cell(cell.label)
    assert docker("ps", "-aq", "--filter", f"name={cell.name}") == ""


async def test_code_reaches_what_is_allowed_to_its_suite_and_that_of_others_nothing(world):
    fetch = f"import urllib.request as r; r.urlopen('http://{world}/', timeout=10).status"
    sandboxes = Sandboxes(SandboxConfig(allow={"math_code": (world,)}, spares=0))
    try:
        outputs = {}
        for suite in ("math_code", "travel"):
            python = await sandboxes.open(suite)
            for _ in range(600):  # until its proxy listens
                outputs[suite] = (await python.run(fetch, timeout_s=15)).output.strip().splitlines()[-1]
                if "Connection refused" not in outputs[suite]:
                    break
                await asyncio.sleep(0.1)
    finally:
        await sandboxes.close()
    assert outputs["math_code"] == "200"
    assert "URLError" in outputs["travel"]


def test_names_of_the_world_are_not_looked_up_for_a_container(cells):
    lookup = "import socket; socket.getaddrinfo(__import__('sys').argv[1], 80)"
    for name in ("example.com", "host.docker.internal"):
        answer = inside(cells[0].id, "python3", "-c", lookup, name)
        assert answer.returncode, f"{name} was found"
        assert "gaierror" in answer.stderr


def test_a_container_has_no_docker_socket_no_privileges_and_nothing_to_write_to(cells):
    cell = cells[0].id
    assert inside(cell, "sh", "-c", "ls /var/run/docker.sock /run/docker.sock").returncode
    status = inside(cell, "cat", "/proc/self/status").stdout
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert facts["CapEff"].strip("0 ") == ""
    assert facts["CapBnd"].strip("0 ") == ""
    assert facts["NoNewPrivs"].strip() == "1"
    assert facts["Uid"].split()[0] != "0"
    for path in ("/opt/x", "/etc/x", "/x", "/sys/fs/cgroup/x", "/proc/sysrq-trigger"):
        assert inside(cell, "sh", "-c", f"echo x > {path}").returncode, f"{path} was written"


def test_no_port_of_a_phone_is_published(cells):
    for cell in cells:
        (inspected,) = json.loads(docker("inspect", cell.id))
        assert not inspected["HostConfig"]["PortBindings"]
        assert not any((inspected["NetworkSettings"]["Ports"] or {}).values())
        assert inspected["Mounts"] == []


def processes() -> int:
    """Return how many run on this machine."""
    return sum(entry.name.isdecimal() for entry in Path("/proc").iterdir())


def test_a_fork_bomb_stays_inside(cells):
    before = processes()
    bomb = "import os\nwhile True:\n    os.fork()"
    answer = inside(cells[1].id, "timeout", "3", "python3", "-c", bomb)
    assert answer.returncode
    assert processes() < before + 600
    until_open(cells[0].address, 5555)


CALLS = """
import ctypes, errno, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"io_uring_setup": 425, "ptrace": 101, "userfaultfd": 323, "keyctl": 250, "add_key": 248, "bpf": 321,
           "process_vm_readv": 310, "perf_event_open": 298, "unshare": 272, "mount": 165, "shmget": 29, "kcmp": 312,
           "name_to_handle_at": 303, "seccomp": 317, "pidfd_getfd": 438}
said = {}
for name, number in numbers.items():
    ctypes.set_errno(0)
    said[name] = errno.errorcode.get(ctypes.get_errno(), "0") if libc.syscall(number, 0, 0, 0, 0, 0) == -1 else "done"
    said[name] = errno.errorcode.get(ctypes.get_errno(), said[name])
try:
    socket.socket(40, socket.SOCK_STREAM)
    said["vsock"] = "done"
except OSError as error:
    said["vsock"] = errno.errorcode[error.errno]
mounts = [line.split() for line in open("/proc/mounts")]
writable = [m[1] for m in mounts if "rw" in m[3].split(",") and "noexec" not in m[3].split(",")]
writable = [path for path in writable if os.path.isdir(path) and os.access(path, os.W_OK)]
print(json.dumps([sorted(n for n, e in said.items() if e != "EPERM"), writable]))
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of calls differ")
def test_code_may_neither_make_calls_that_it_does_not_need_nor_execute_what_it_wrote(cells):
    """Numbers: Linux' arch/x86/entry/syscalls/syscall_64.tbl."""
    answer = inside(cells[0].id, "python3", "-c", CALLS)
    assert json.loads(answer.stdout) == [[], []], answer.stderr


def test_the_runtime_of_containers_is_the_one_that_was_asked_for():
    with DockerEngine(runtime="runc") as engine:
        cell = engine.make_cell(CellSpec(image="rlfactory-simulator", kind="simulator", scope=Scope.SERVICE))
        try:
            assert docker("inspect", "--format", "{{.HostConfig.Runtime}}", cell.id) == "runc"
        finally:
            engine.remove_cell(cell.label)
    with pytest.raises(EngineError, match=r"has no runtime 'flying'; it has: .*runc"):
        DockerEngine(runtime="flying")
