"""One trace follows a turn from the agent's loop through service and tool to the phone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

HERE = Path(__file__).parent
PLAYER = """
import asyncio, sys
from rlfactory.envs.api.tracing import export_traces
from rlfactory.envs.client import EnvClient
from test_rollout import FINISH, TAP, Script, run
async def main():
    async with EnvClient(sys.argv[1]) as client:
        await run(client, Script([TAP, FINISH]))
end = export_traces(sys.argv[2], service="player")
asyncio.run(main())
end()
"""


class Collector(ThreadingHTTPServer):
    """Takes traces by OTLP over HTTP, as Jaeger or Tempo do."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Take)
        self.spans: list[tuple[str, Any]] = []


class _Take(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            (service,) = [
                each.value.string_value for each in resource.resource.attributes if each.key == "service.name"
            ]
            self.server.spans += [(service, span) for scope in resource.scope_spans for span in scope.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


async def test_a_turn_is_one_trace_from_the_loop_through_service_and_tool_to_the_phone(program, collector):
    url = f"http://127.0.0.1:{collector.server_port}"
    phone = ("--phones", "1", "--spares", "0", "--width", "480", "--height", "800")
    async with program("serve", "--port", "0", "--json", *phone, "--otlp-endpoint", url) as (service, ready):
        player = await asyncio.create_subprocess_exec(sys.executable, "-c", PLAYER, ready["address"], url, cwd=HERE)
        assert await player.wait() == 0
        service.terminate()
        assert await service.wait() == 0
    by_id = {span.span_id: (name, span) for name, span in collector.spans}

    def way(span_id: bytes) -> list[str]:
        """From the root to a span, each with its process."""
        process, span = by_id[span_id]
        return [*(way(span.parent_span_id) if span.parent_span_id else []), f"{process}: {span.name}"]

    ways = [way(span_id) for span_id in by_id]
    turn = ["player: rl.episode", "player: rl.turn"]
    step = [*turn, "player: envs.v1.EnvService/Step", "rlfactory-service: envs.v1.EnvService/Step"]
    assert [*turn, "player: generate"] in ways
    assert [*step, "rlfactory-service: execute_tool", "rlfactory-service: device.act"] in ways
    assert [*step, "rlfactory-service: device.observe"] in ways
    assert [
        "player: rl.episode",
        "rlfactory-service: envs.v1.EnvService/Reset",
        "rlfactory-service: device.observe",
    ] in ways
    assert len({span.trace_id for _, span in collector.spans}) == 1


async def test_an_endpoint_that_is_no_url_is_one_clear_error(program):
    async with program("serve", "--phones", "0", "--port", "0", "--otlp-endpoint", "nowhere") as (service, _):
        assert await service.wait() != 0
        said = (await service.stderr.read()).decode()
    assert "'nowhere' is no URL to send traces to" in said and "Traceback" not in said
