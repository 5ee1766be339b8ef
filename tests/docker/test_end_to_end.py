"""The whole of it in containers: envd in one, its phones in others, adb between them, and the trainer outside."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rlfactory.envs.service.health import problem_of
from rlfactory.processes.docker.engine import Engine
from rlfactory.trainer.record.runlog import RunLog

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]
SOCKET = Path("/var/run/docker.sock")
PHONES = 8
START_S = 120


@dataclass(frozen=True)
class Service:
    """envd in a container, published on loopback only."""

    container: str
    address: str
    environment: dict[str, str]
    """With the token that opens it."""


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def envd(images: Engine, request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service with phones of the given width and height."""
    width, height = request.param
    token = secrets.token_hex(16)
    name = f"rlfactory-test-{token[:8]}"
    docker(
        *("run", "--detach", "--init", "--name", name, "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"),
        *("--security-opt", "no-new-privileges", "--publish", "127.0.0.1::7000", "--env", f"RLFACTORY_TOKEN={token}"),
        *("--volume", f"{SOCKET}:{SOCKET}", "--group-add", str(SOCKET.stat().st_gid)),
        *("rlfactory-envd", "serve", "--host", "0.0.0.0", "--port", "7000", "--plaintext", "--transport", "docker"),
        *("--phones", str(PHONES), "--width", str(width), "--height", str(height)),
    )
    host_name = docker("inspect", "--format", "{{.Config.Hostname}}", name)
    try:
        address = docker("port", name, "7000/tcp").splitlines()[0]
        until_serving(address, name)
        yield Service(name, address, {**os.environ, "RLFACTORY_TOKEN": token})
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


def rlfactory(service: Service, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rlfactory", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=service.environment)


@pytest.mark.parametrize("envd", [(540, 1200)], indirect=True)
def test_24_tasks_are_solved_on_phones_in_containers(envd: Service, tmp_path: Path) -> None:
    arguments = ("--policy", "oracle", "--address", envd.address, "--episodes", "24", "--concurrency", "4", "--json")
    done = rlfactory(envd, "eval", *arguments, "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["failures"] == []
    assert (result["success"], result["episodes"], result["infra_dropped"]) == (1.0, 24, 0)
    assert len({episode.task for episode in RunLog(tmp_path / "run").episodes()}) == 24
    # And whoever does not know the token is refused.
    stranger = Service(envd.container, envd.address, {**envd.environment, "RLFACTORY_TOKEN": "not-the-token-of-it"})
    done = rlfactory(stranger, "eval", "--policy", "oracle", "--address", envd.address, "--episodes", "1")
    assert done.returncode != 0
    assert "token" in done.stderr


@pytest.mark.train
@pytest.mark.parametrize("envd", [(480, 800)], indirect=True)
def test_one_step_of_grpo_on_phones_in_containers(envd: Service, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(envd.environment["RLFACTORY_TOKEN"])
    overrides = (
        "rlfactory.service=null",
        f"rlfactory.trust.token_file={token}",
        f"rlfactory.address={envd.address}",
        "rlfactory.warm_start.episodes=64",
        "rlfactory.warm_start.batch=8",
        "rlfactory.warm_start.micro_batch=8",
        "rlfactory.warm_start.lessons=[{sloppiness: 0.5, steps: 2, lr: 1.0e-3, lr_warmup_steps: 1}]",
        "data.episodes.validation.count=8",
        "data.val_batch_size=8",
        "trainer.total_training_steps=1",
        "trainer.test_freq=1",
        "rlfactory.stall_timeout_s=600",
    )
    done = rlfactory(envd, "train", "tiny_phone", "--runs", str(tmp_path), "--name", "docker", *overrides)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = RunLog(tmp_path / "docker").summary()
    assert summary is not None
    assert (summary.status, summary.steps, summary.infra_dropped) == ("finished", 1, 0)
    assert summary.rollout_train_prob_diff_max is not None
    assert summary.rollout_train_prob_diff_max < 2e-3
