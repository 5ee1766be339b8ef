"""`serve` as its users meet it: a process that says where it listens, and goes when it is told to."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from asyncio.subprocess import PIPE

import httpx
import pytest
from typer.testing import CliRunner

from rlfactory.emulators.sources.phones import PhonesConfig
from rlfactory.envs.api.errors import UnknownName
from rlfactory.envs.cli import app
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import AddressInUse, ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry

SERVE = ("serve", "--phones", "0", "--port", "0", "--json")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_says_where_it_listens_and_stops_on_a_signal(program, number):
    async with program(*SERVE) as (process, ready):
        assert ready["pid"] == process.pid
        async with EnvClient(ready["address"]) as client:
            assert (await client.status()).sessions == 0
            assert any(task.name == "settings.wifi_on" for task in await client.list_tasks())
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_prometheus_is_told_of_sessions_and_steps(program):
    async with program(*SERVE, "--metrics-port", "0") as (_, ready), EnvClient(ready["address"]) as client:
        with pytest.raises(UnknownName):
            await client.reset("no.such_task", seed=0)
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.get(f"http://{ready['metrics']}/metrics")
        assert answer.status_code == 200
        assert "rlfactory_sessions 0.0" in answer.text.splitlines()
        assert "rlfactory_step_seconds_count 0.0" in answer.text.splitlines()


async def test_a_metrics_port_in_use_is_one_clear_error(program):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with program(*SERVE, "--metrics-port", port) as (process, _):
            assert await process.wait() != 0
            assert f"--metrics-port {port}: cannot listen" in (await process.stderr.read()).decode()


async def test_it_stops_when_its_input_ends_where_that_is_asked_for(program):
    async with program(*SERVE, "--stop-on-eof", stdin=PIPE) as (process, _):
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_it_serves_phones_as_its_file_says_and_tells_people_so(tmp_path, program):
    (tmp_path / "service.yaml").write_text("port: 0\nphones: 1\nwidth: 540\nheight: 1200\njson: true\n")
    async with program("serve", "--config", tmp_path / "service.yaml", "--no-json") as (process, said):
        assert "with 1 phone (direct, 540x1200) on 127.0.0.1:" in said
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0


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
