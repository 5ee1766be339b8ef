"""The commands of the adapters: an MCP server and an OpenEnv server before an environment service."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from typing import TYPE_CHECKING, Annotated

import typer

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.wire.trust_options import ClientTrustFiles, token_from_environment
from rlfactory.options import takes_options

if TYPE_CHECKING:
    from rlfactory.envs.client import EnvClient

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _client(address: str, files: ClientTrustFiles) -> EnvClient:
    """Return a client of the service that shows and trusts what these files hold."""
    from rlfactory.envs.client import EnvClient

    return EnvClient(address, trust=files.load(token=token_from_environment()))


@app.command()
@takes_options
def mcp(
    files: ClientTrustFiles,
    address: Annotated[str, typer.Option(help="Of the environment service: HOST:PORT.")] = "127.0.0.1:7000",
    task: Annotated[str, typer.Option(help="Begin an episode of this task at once.")] = "",
    seed: Annotated[int, typer.Option(min=0)] = 0,
    http_port: Annotated[
        int,
        typer.Option(
            min=-1, max=65535, help="Serve HTTP on loopback at /mcp; 0: a free port. -1: standard input and output."
        ),
    ] = -1,
) -> None:
    """Offer the phone and the tools of a service to MCP clients."""
    try:
        from rlfactory.envs.adapters.mcp_server import EnvironmentServer
    except ModuleNotFoundError as error:
        raise TaskError(f"the MCP server needs {error.name}: install rlfactory[tools]") from None
    env = _client(address, files)

    async def run() -> None:
        async with env as client, EnvironmentServer(client) as server:
            if task:
                await server.begin(task, seed=seed)
            if http_port < 0:
                await server.serve_stdio()
                return
            with socket.create_server(("127.0.0.1", http_port)) as listener:
                where = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
                print(f"serving {address} to MCP clients on {where}; Ctrl-C stops", flush=True)
                await server.serve_http(listener)

    asyncio.run(run())


@app.command()
@takes_options
def openenv(
    files: ClientTrustFiles,
    address: Annotated[str, typer.Option(help="Of the environment service: HOST:PORT.")] = "127.0.0.1:7000",
    task: Annotated[str, typer.Option(help="Of resets that name none.")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on. There is no token: keep to loopback.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 8000,
    max_sessions: Annotated[int, typer.Option(min=1, help="Episodes at once.")] = 256,
    as_json: Annotated[bool, typer.Option("--json", help="Say where it listens as one line of JSON.")] = False,
) -> None:
    """Offer the tasks of a service to OpenEnv clients."""
    try:
        from rlfactory.envs.adapters.openenv import OpenEnvServer
    except ModuleNotFoundError as error:
        raise TaskError(f"the OpenEnv server needs {error.name}: install rlfactory[tools]") from None
    env = _client(address, files)

    async def run() -> None:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
            where = f"{host}:{listener.getsockname()[1]}"
            async with (
                env as client,
                OpenEnvServer(client, task=task, max_sessions=max_sessions, host=host) as adapter,
            ):
                line = f"serving the tasks of {address} to OpenEnv clients on http://{where}; Ctrl-C stops"
                print(json.dumps({"address": where}) if as_json else line, flush=True)
                await adapter.serve(listener)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn stops in order, then raises what stopped it once more
    asyncio.run(run())
