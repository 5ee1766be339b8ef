"""`serve` as its users meet it: a process that says where it listens, and goes when it is told to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager

import httpx
import pytest
from typer.testing import CliRunner

from rlfactory.envs.api.errors import UnknownName
from rlfactory.envs.cli import MALLOC, app
from rlfactory.envs.cli import _serve as run_service
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.phones import PhonesConfig
from rlfactory.envs.service.server import AddressInUse, ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.search_qa.options import QuestionOptions
from rlfactory.processes.lifeline import when_gone

SERVE = (sys.executable, "-c", "from rlfactory.envs.cli import app; app()", "serve", "--phones", "0", "--json")


@asynccontextmanager
async def served(*arguments: str, **environment: str):
    """Run `serve` on a free port; yield the process and what its ready line says."""
    process = await asyncio.create_subprocess_exec(
        *SERVE, "--port", "0", *arguments, stdout=PIPE, stderr=PIPE, env={**os.environ, **environment}
    )
    try:
        line = await process.stdout.readline()
        assert line, (await process.stderr.read()).decode()
        yield process, json.loads(line)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_says_where_it_listens_and_stops_on_a_signal(number):
    async with served() as (process, ready):
        assert ready["pid"] == process.pid
        async with EnvClient(ready["address"]) as client:
            assert (await client.status()).sessions == 0
            assert any(task.name == "settings.wifi_on" for task in await client.list_tasks())
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_prometheus_is_told_of_sessions_and_steps():
    async with served("--metrics-port", "0") as (_, ready), EnvClient(ready["address"]) as client:
        with pytest.raises(UnknownName):
            await client.reset("no.such_task", seed=0)
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.get(f"http://{ready['metrics']}/metrics")
        assert answer.status_code == 200
        assert "rlfactory_sessions 0.0" in answer.text.splitlines()
        assert "rlfactory_step_seconds_count 0.0" in answer.text.splitlines()


async def test_a_metrics_port_in_use_is_one_clear_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            *SERVE, "--port", "0", "--metrics-port", str(port), stdout=PIPE, stderr=PIPE
        )
        _, said = await process.communicate()
    assert process.returncode != 0
    assert f"--metrics-port {port}: cannot listen" in said.decode()


async def test_memory_allocation_is_tuned_before_it_serves():
    async with served() as (process, _):
        with open(f"/proc/{process.pid}/environ", "rb") as file:  # noqa: ASYNC230, PTH123
            environment = dict(part.partition(b"=")[::2] for part in file.read().split(b"\0"))
        assert {name: environment[name.encode()].decode() for name in MALLOC} == MALLOC


async def test_a_users_own_malloc_settings_are_kept():
    async with served(MALLOC_TOP_PAD_="1024") as (process, _):
        with open(f"/proc/{process.pid}/environ", "rb") as file:  # noqa: ASYNC230, PTH123
            assert b"MALLOC_MMAP_THRESHOLD_" not in file.read()


async def test_it_does_not_outlive_its_parent():
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=PIPE)
    async with served("--parent-pid", str(parent.pid)) as (process, _):
        parent.kill()
        await parent.wait()
        assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_it_serves_phones_until_its_parent_ends(capsys):
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=PIPE)
    config, phones = ServerConfig(drain_s=0.1), PhonesConfig(phones=1, width_px=540, height_px=1200)
    run = asyncio.create_task(run_service(config, phones, QuestionOptions(), parent_pid=parent.pid, as_json=False))
    said = ""
    while "serving" not in said:
        await asyncio.sleep(0.02)
        said += capsys.readouterr().out
        assert not run.done()
    assert "with 1 phone (direct, 540x1200) on 127.0.0.1:" in said
    parent.kill()
    await parent.wait()
    await asyncio.wait_for(run, 30)


async def test_a_parent_that_is_gone_already_is_noticed():
    gone = subprocess.Popen([sys.executable, "-c", ""])  # noqa: ASYNC220
    gone.wait()
    called = asyncio.Event()
    async with when_gone(gone.pid, called.set):
        await asyncio.wait_for(called.wait(), 30)


async def test_a_lifeline_to_a_living_process_is_quiet_and_lets_go():
    called = asyncio.Event()
    async with when_gone(os.getpid(), called.set):
        await asyncio.sleep(0.05)
    assert not called.is_set()


async def test_a_port_in_use_is_one_clear_error():
    async with serving(ServerConfig(), tasks=TaskRegistry()) as server:
        port = int(server.address.rpartition(":")[2])
        with pytest.raises(AddressInUse, match=f"127.0.0.1:{port}"):
            async with serving(ServerConfig(port=port), tasks=TaskRegistry()):
                pass


def test_tasks_as_a_table_and_as_json():
    runner = CliRunner()
    table = runner.invoke(app, ["tasks"])
    assert table.exit_code == 0
    assert "settings.wifi_on" in table.stdout
    tasks = json.loads(runner.invoke(app, ["tasks", "--json", "--split", "test"]).stdout)
    assert all("test" in task["splits"] for task in tasks)
    assert {"name", "suite", "description", "apps", "splits", "max_turns", "tools"} == tasks[0].keys()


def test_an_unknown_suite_names_those_there_are():
    result = CliRunner().invoke(app, ["tasks", "--suite", "fone"])
    assert isinstance(result.exception, UnknownName)
    assert "phone" in str(result.exception)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ServerConfig(port=70_000),
        lambda: ServerConfig(drain_s=-1),
        lambda: ServerConfig(max_concurrent_calls=0),
        lambda: PhonesConfig(phones=-1),
        lambda: PhonesConfig(width_px=1),
    ],
)
def test_a_config_is_checked_once(make):
    with pytest.raises(ValueError, match="must"):
        make()
