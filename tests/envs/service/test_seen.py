"""What a service tells of itself: its log, line by line or as JSON, and its figures."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import resource
import socket
import threading

import grpc
import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from rlfactory.envs.api.errors import InfrastructureError, SessionNotFound, UnknownName
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service import access_log, metrics
from rlfactory.envs.service import server as server_module
from rlfactory.envs.service.access_log import json_lines
from rlfactory.envs.service.metrics import exposed
from rlfactory.envs.wire.stub import EnvServiceStub
from rlfactory.envs.wire.v1 import env_pb2 as pb

SERVE = ("serve", "--phones", "0", "--port", "0", "--json")


@pytest.fixture
def lines(monkeypatch):
    """The log of the test as JSON. What others logged in the same second does not count for how much is left out."""
    for pace in ("_refusals", "_voids"):
        monkeypatch.setattr(access_log, pace, access_log._Pace())
    stream = io.StringIO()
    handler = json_lines(stream)
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)


async def test_an_episode_that_goes_void_is_told_with_session_task_blame_and_tool(serve, call, lines):
    async with serve() as (server, client), client.session("bench.talk", seed=1) as session:
        with pytest.raises(InfrastructureError):
            await session.step([call("free", do="lose")])
    (told,) = [line for line in lines() if line["message"].startswith("void")]
    assert (told["session"], told["task"], told["tool"]) == (session.id, "bench.talk", "free")
    assert (told["blame"], told["reason"], told["level"]) == ("infrastructure", "DEVICE_LOST", "WARNING")
    text = generate_latest(server.manager.metrics.registry).decode()
    assert 'rlfactory_voids_total{blame="infrastructure",reason="DEVICE_LOST",tool="free"} 1.0' in text
    assert 'rlfactory_calls_total{code="UNAVAILABLE",method="Step"} 1.0' in text


async def test_a_refusal_is_told_with_the_request_and_the_session_it_names(serve, lines):
    async with serve() as (_, client), client.trust.channel(client.address) as channel:
        with pytest.raises(grpc.aio.AioRpcError):
            await EnvServiceStub(channel).Reset(pb.ResetRequest(task="no.such", seed=1, request_id="mine"))
        with pytest.raises(SessionNotFound):
            await client.step('x"\n{"level": "forged"}', 1, ())
    reset, step = [line for line in lines() if line["message"].startswith("refused")]
    assert (reset["request_id"], reset["task"], reset["code"]) == ("mine", "no.such", "NOT_FOUND")
    assert (reset["reason"], reset["blame"], reset["method"]) == ("UNKNOWN_NAME", "client", "Reset")
    assert (step["session"], step["reason"]) == ('x"\n{"level": "forged"}', "SESSION_NOT_FOUND")


async def test_a_service_logs_json_and_shows_calls_and_quotas_at_an_address_of_choice(program):
    options = ("--log-json", "--metrics-port", "0", "--metrics-host", "127.0.0.2")
    async with program(*SERVE, *options) as (process, ready):
        assert ready["metrics"].startswith("127.0.0.2:")
        async with EnvClient(ready["address"]) as client:
            with pytest.raises(UnknownName):
                await client.reset("no.such_task", seed=0)
            async with httpx.AsyncClient(trust_env=False) as http:
                text = (await http.get(f"http://{ready['metrics']}/metrics")).text
        assert 'rlfactory_calls_total{code="OK",method="Handshake"} 1.0' in text
        assert 'rlfactory_calls_total{code="NOT_FOUND",method="Reset"} 1.0' in text
        assert 'rlfactory_quota_limit{what="calls"} 2048.0' in text
        assert 'rlfactory_quota_used{tenant="",what="calls"} 0.0' in text
        assert "rlfactory_loop_lag_seconds_count" in text
        line = json.loads(await process.stderr.readline())
        assert (line["reason"], line["task"], line["logger"]) == ("UNKNOWN_NAME", "no.such_task", "rlfactory.access")
        assert line["request_id"]


async def test_the_port_of_the_figures_is_held_by_nobody_for_long(monkeypatch):
    monkeypatch.setattr(metrics, "MAX_SCRAPES", 2)
    monkeypatch.setattr(metrics, "SCRAPE_TIMEOUT_S", 0.3)
    with exposed(CollectorRegistry(), host="127.0.0.1", port=0) as port, contextlib.ExitStack() as stack:
        for _ in range(8):
            silent = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert await asyncio.to_thread(silent.recv, 1) == b"", "there is no place for it"

        def is_served() -> bool:
            with contextlib.suppress(httpx.TransportError):
                return httpx.get(f"http://127.0.0.1:{port}/metrics").is_success
            return False

        while not await asyncio.to_thread(is_served):
            pass
        threads = [each for each in threading.enumerate() if "process_request" in each.name]
        assert len(threads) <= 2


def test_connections_leave_files_for_the_service_itself():
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, files[1]))
        assert server_module._most_connections() == 512
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], 10_000), files[1]))
        assert server_module._most_connections() == 4096
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
