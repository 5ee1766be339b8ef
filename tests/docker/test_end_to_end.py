"""The whole of it in containers: envd in one, its phones in others, adb between them, and the trainer outside."""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rlfactory.envs.service.health import problem_of
from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.trainer.record.runlog import RunLog
from tests.commands import RLFACTORY, ROOT, SHORT, assert_finished, docker, rlfactory_json, run, train
from tests.docker.probe import reached

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]
SOCKET = Path("/var/run/docker.sock")
PHONES = 8
START_S = 120


@dataclass(frozen=True)
class Service:
    """envd in a container, published on loopback only."""

    address: str
    container: str
    environment: dict[str, str]
    """With the token that opens it."""


@contextmanager
def brokered(service: str, folder: Path) -> Iterator[Path]:
    """Give the socket of a broker before the Docker engine."""
    listen = folder / "docker.sock"
    command = (*RLFACTORY, "broker", "--listen", str(listen), "--engine", str(SOCKET), "--service", service)
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as broker:
        assert broker.stdout is not None and b"listens" in broker.stdout.readline()
        try:
            yield listen
        finally:
            broker.terminate()


@pytest.fixture
def envd(images: DockerEngine, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """A service with phones of the given width and height, which has the broker's socket alone."""
    name = f"rlfactory-test-{secrets.token_hex(4)}"
    with brokered(name, tmp_path) as listen:
        yield from _envd(images, request.param, name, listen)


def _envd(images: DockerEngine, size: tuple[int, int], name: str, listen: Path) -> Iterator[Service]:
    token = secrets.token_hex(16)
    docker(
        *("run", "--detach", "--init", "--name", name, "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"),
        *("--security-opt", "no-new-privileges", "--publish", "127.0.0.1::7000", "--env", f"RLFACTORY_TOKEN={token}"),
        *("--volume", f"{listen}:{SOCKET}", "--group-add", str(listen.stat().st_gid)),
        *("rlfactory-envd", "serve", "--host", "0.0.0.0", "--port", "7000", "--plaintext", "--transport", "docker"),
        *("--phones", str(PHONES), "--width", str(size[0]), "--height", str(size[1])),
    )
    host_name = docker("inspect", "--format", "{{.Config.Hostname}}", name)
    try:
        address = docker("port", name, "7000/tcp").splitlines()[0]
        until_serving(address, name)
        yield Service(address, name, {"RLFACTORY_TOKEN": token})
    finally:
        docker("rm", "--force", "--volumes", name)
    images.reap()
    left = docker("network", "ls", "--format", '{{.Label "rlfactory.owner"}}', "--filter", "label=rlfactory.owner")
    assert host_name not in left
    assert not [cell for cell in images.cells() if cell.owner.startswith(host_name)]


def until_serving(address: str, container: str) -> None:
    deadline_s = time.monotonic() + START_S
    while problem_of(address):
        assert time.monotonic() < deadline_s, docker("logs", container)
        time.sleep(0.5)


def assert_phones_do_not_reach(service: Service, images: DockerEngine) -> None:
    """The service has joined the networks of its phones' containers: it may call them, and not they it."""
    host_name = docker("inspect", "--format", "{{.Config.Hostname}}", service.container)
    addresses = docker(
        "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}", service.container
    ).split()
    cells = [cell for cell in images.cells() if cell.owner.startswith(host_name)]
    assert cells and len(addresses) > len(cells)
    for cell in cells:
        shared = [address for address in addresses if address.rpartition(".")[0] == cell.address.rpartition(".")[0]]
        assert shared, "the service is in the network of its phone"
        assert reached(cell.id, *(f"{address}:7000" for address in addresses)) == set()


@pytest.mark.parametrize("envd", [(540, 1200)], indirect=True)
def test_24_tasks_are_solved_on_phones_in_containers(envd: Service, images: DockerEngine, tmp_path: Path) -> None:
    assert_phones_do_not_reach(envd, images)
    arguments = ("--policy", "oracle", "--address", envd.address, "--episodes", "24", "--concurrency", "4")
    result = rlfactory_json("eval", *arguments, "--out", str(tmp_path / "run"), environment=envd.environment)
    assert result["failures"] == []
    assert (result["success"], result["episodes"], result["infra_dropped"]) == (1.0, 24, 0)
    assert len({episode.task for episode in RunLog(tmp_path / "run").episodes()}) == 24
    # And whoever does not know the token is refused.
    asked = ("eval", "--policy", "oracle", "--address", envd.address, "--episodes", "1")
    done = run(*RLFACTORY, *asked, environment={"RLFACTORY_TOKEN": "not-the-token-of-it"})
    assert done.returncode != 0
    assert "token" in done.stderr


@pytest.mark.train
@pytest.mark.parametrize("envd", [(480, 800)], indirect=True)
def test_one_step_of_grpo_on_phones_in_containers(envd: Service, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(envd.environment["RLFACTORY_TOKEN"])
    overrides = (
        *SHORT,
        "rlfactory.service=null",
        f"rlfactory.trust.token_file={token}",
        f"rlfactory.address={envd.address}",
        "rlfactory.warm_start.episodes=64",
        "rlfactory.warm_start.lessons=[{sloppiness: 0.5, steps: 2, lr: 1.0e-3, lr_warmup_steps: 1}]",
        "data.episodes.validation.count=8",
        "data.val_batch_size=8",
        "trainer.total_training_steps=1",
        "trainer.test_freq=1",
    )
    log = train("tiny_phone", tmp_path, *overrides, environment=envd.environment)
    assert_finished(log, steps=1, transport="")
