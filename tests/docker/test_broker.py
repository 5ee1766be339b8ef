"""The broker before a real engine: our containers work through it, and nothing else can be asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from docker.errors import APIError

from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.sandboxes import RunStatus, Sandboxes
from rlfactory.processes.docker.broker import Broker
from rlfactory.processes.docker.broker_rules import Rules
from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.processes.docker.spec import CellSpec, Scope
from tests.commands import docker
from tests.docker.test_end_to_end import SOCKET

pytestmark = pytest.mark.docker
IMAGE = "rlfactory-sandbox"


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """Of a broker."""
    path = tmp_path / "docker.sock"
    async with Broker(Rules(max_containers=200), listen=path, engine=SOCKET):
        yield f"unix://{path}"


@pytest.fixture
def stranger() -> Iterator[str]:
    """A container that is not ours."""
    name = docker("create", "--env", "PASSWORD=secret", IMAGE)
    yield name
    docker("rm", "--force", name)


async def test_code_runs_in_sandboxes_that_the_broker_lets_be_made(url):
    sandboxes = Sandboxes(SandboxConfig(engine_url=url, spares=0))
    try:
        interpreter = await sandboxes.open()
        assert (await interpreter.run("print(6 * 7)", timeout_s=10)).output == "42\n"
        late = await interpreter.run("import time; time.sleep(60)", timeout_s=0.2)
        assert late.status is RunStatus.TIMEOUT
    finally:
        await sandboxes.close()


async def test_phones_get_their_networks_through_the_broker(url):
    await asyncio.to_thread(_start_and_stop_a_phone, url)


def _start_and_stop_a_phone(url: str) -> None:
    with DockerEngine(url) as engine:
        cell = engine.make_cell(CellSpec(image="rlfactory-simulator", kind="simulator", scope=Scope.SERVICE))
        try:
            assert cell.address and cell.id in {each.id for each in engine.cells()}
            assert engine.memory_bytes(cell.id) > 0
        finally:
            engine.remove_cell(cell.label)
        assert cell.id not in {each.id for each in engine.cells()}


async def test_other_containers_and_the_host_are_out_of_reach(url, stranger):
    await asyncio.to_thread(_ask_for_others, url, stranger)


def _ask_for_others(url: str, stranger: str) -> None:
    with DockerEngine(url) as engine:
        api = engine._api
        assert set(api.inspect_container(stranger)) == {"Id", "State"}
        everything = api.create_host_config(binds=["/:/host"], privileged=True)
        for ask in (
            lambda: api.remove_container(stranger),
            lambda: api.stats(stranger, stream=False),
            lambda: api.exec_create(stranger, "id"),
            lambda: api.create_container(IMAGE, host_config=everything, labels={"rlfactory.cell": "x"}),
            lambda: api.containers(all=True),
            lambda: api.pull("debian"),
        ):
            with pytest.raises(APIError, match="the broker refuses this"):
                ask()
    assert docker("inspect", "--format", "{{.State.Status}}", stranger) == "created"
