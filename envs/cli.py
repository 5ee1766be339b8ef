"""The commands of the environment service: `serve` and `tasks`. What is heavy is imported inside them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.service.phones import PhonesConfig, Transport, discovery_folders, phone_source
from rlfactory.envs.service.serve_options import (
    AdbPort,
    Allow,
    DockerHost,
    Image,
    JudgePlace,
    MetricsPort,
    PhonesPerHost,
    QuestionFile,
    SearchIndexPlace,
    Serials,
    TaskFiles,
    Text2SqlFolder,
    ToolCache,
    ToolsFile,
    UnsafeLocal,
)
from rlfactory.envs.wire.trust_options import (
    ClientAuthority,
    ServerCertificate,
    ServerKey,
    ServerPlaintext,
    TokenFile,
    token_from_environment,
)

if TYPE_CHECKING:
    from rlfactory.envs.sandbox.config import SandboxConfig
    from rlfactory.envs.service.server import EnvServer, ServerConfig
    from rlfactory.envs.tasks.search_qa.options import QuestionOptions

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

MALLOC: Final = {
    "MALLOC_MMAP_THRESHOLD_": "67108864",
    "MALLOC_TRIM_THRESHOLD_": "268435456",
    "MALLOC_TOP_PAD_": "16777216",
}
"""Keeps glibc from returning every screenshot's memory to the kernel: page faults would be most of a step's cost."""


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; off loopback with token and TLS.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 7000,
    phones: Annotated[int, typer.Option(min=0, help="Phones to keep running. 0: text-only tasks.")] = 4,
    spares: Annotated[int, typer.Option(min=0, help="Phones kept warm beside them: a reset then waits for none.")] = 1,
    transport: Annotated[Transport, typer.Option(help="How phones are reached.")] = Transport.DIRECT,
    phones_per_host: PhonesPerHost = 16,
    serial: Serials = None,
    adb_port: AdbPort = 5037,
    image: Image = "rlfactory-simulator",
    docker_host: DockerHost = "",
    width: Annotated[int, typer.Option(min=160, max=8192, help="Of a phone's screen, in pixels.")] = 1080,
    height: Annotated[int, typer.Option(min=160, max=8192, help="Of a phone's screen, in pixels.")] = 2400,
    max_sessions: Annotated[int, typer.Option(min=1, help="Open at once.")] = 512,
    drain_s: Annotated[float, typer.Option(min=0, help="How long calls under way may go on at the end.")] = 5.0,
    metrics_port: MetricsPort = -1,
    tools: ToolsFile = None,
    tool_cache: ToolCache = None,
    task_files: TaskFiles = None,
    questions: QuestionFile = None,
    search_index: SearchIndexPlace = "",
    judge: JudgePlace = "",
    text2sql: Text2SqlFolder = None,
    unsafe_local: UnsafeLocal = False,
    allow: Allow = None,
    token_file: TokenFile = None,
    tls_cert: ServerCertificate = None,
    tls_key: ServerKey = None,
    tls_client_ca: ClientAuthority = None,
    plaintext: ServerPlaintext = False,
    parent_pid: Annotated[int, typer.Option(min=0, help="Stop when this process ends. 0: none.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Say where it listens as one line of JSON.")] = False,
) -> None:
    """Serve sessions over gRPC until SIGTERM, SIGINT or the end of --parent-pid."""
    tune_malloc()
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is told by us, in one line
    # uvloop forks to start a process, and gRPC's handlers then crash one child in seven before it becomes the program.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from rlfactory.envs.sandbox.config import SandboxConfig, allow_lists
    from rlfactory.envs.service.limits import Limits
    from rlfactory.envs.service.server import ServerConfig
    from rlfactory.envs.tasks.search_qa.options import JUDGE_KEY_VARIABLE, QuestionOptions
    from rlfactory.envs.tools.runtime.cache import CacheConfig
    from rlfactory.envs.wire.trust import ServerTrustFiles
    from rlfactory.processes.event_loop import run

    files = ServerTrustFiles(
        token_file=token_file, certificate=tls_cert, key=tls_key, client_ca=tls_client_ca, plaintext=plaintext
    )
    try:
        phones_config = PhonesConfig(
            transport=transport,
            phones=len(serial) if serial else phones,
            spares=0 if serial else spares,  # attached phones are as many as they are
            phones_per_host=phones_per_host,
            image=image,
            engine_url=docker_host,
            width_px=width,
            height_px=height,
            serials=tuple(serial or ()),
            adb_port=adb_port,
            discovery=discovery_folders(os.environ),
        )
        config = ServerConfig(
            host=host,
            port=port,
            drain_s=drain_s,
            limits=Limits(max_sessions=max_sessions),
            tool_cache=CacheConfig(path=tool_cache),
            trust=files.load(token=token_from_environment()),
        )
    except ValueError as error:
        raise TaskError(str(error)) from None
    judge_key = os.environ.get(JUDGE_KEY_VARIABLE, "")
    asked = QuestionOptions(questions=questions, index=search_index, judge=judge, judge_api_key=judge_key)
    run(
        _serve(
            config,
            phones_config,
            asked,
            text2sql=text2sql,
            task_files=task_files or (),
            sandbox=SandboxConfig(unsafe_local=unsafe_local, allow=allow_lists(allow or ())),
            tools=tools,
            metrics_port=metrics_port,
            parent_pid=parent_pid,
            as_json=as_json,
        )
    )


async def _serve(
    config: ServerConfig,
    phones: PhonesConfig,
    questions: QuestionOptions,
    *,
    text2sql: Path | None = None,
    task_files: Sequence[Path] = (),
    sandbox: SandboxConfig | None = None,
    tools: Path | None = None,
    metrics_port: int = -1,
    parent_pid: int,
    as_json: bool,
) -> None:
    from contextlib import AsyncExitStack

    from prometheus_client import CollectorRegistry

    from rlfactory.emulators.pool import PoolConfig
    from rlfactory.envs.sandbox.sandboxes import Sandboxes
    from rlfactory.envs.service.metrics import exposed
    from rlfactory.envs.service.server import serving
    from rlfactory.envs.tasks.file import add_tasks
    from rlfactory.envs.tasks.registry import default_registry
    from rlfactory.envs.tasks.text2sql.spider import spider_task
    from rlfactory.envs.tools.file import tools_of_file
    from rlfactory.processes.lifeline import when_gone

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    source = phone_source(phones) if phones.phones else None
    pool = PoolConfig(phones=phones.phones, spares=phones.spares) if phones.phones else None
    metrics = CollectorRegistry()
    services = questions.services()
    services.give(Sandboxes(sandbox))
    tasks = questions.registry() or default_registry()
    if text2sql is not None:
        tasks.add(spider_task(text2sql))
    for path in task_files:
        add_tasks(tasks, path)
    async with AsyncExitStack() as stack:
        if parent_pid:
            await stack.enter_async_context(when_gone(parent_pid, stop.set))
        offered = await stack.enter_async_context(tools_of_file(tools, os.environ)) if tools else None
        server = await stack.enter_async_context(
            serving(
                config,
                phones=source,
                pool=pool,
                tasks=tasks,
                tools=offered,
                metrics=metrics,
                services=services,
            )
        )
        if metrics_port >= 0:
            metrics_port = stack.enter_context(exposed(metrics, host="127.0.0.1", port=metrics_port))
        _announce(server, phones, metrics_port=metrics_port, as_json=as_json)
        await stop.wait()


def _announce(server: EnvServer, phones: PhonesConfig, *, metrics_port: int, as_json: bool) -> None:
    metrics = f"127.0.0.1:{metrics_port}" if metrics_port >= 0 else ""
    if as_json:
        print(json.dumps({"address": server.address, "pid": os.getpid(), "metrics": metrics}), flush=True)
        return
    from rich.console import Console

    number = "1 phone" if phones.phones == 1 else f"{phones.phones} phones"
    size = "" if phones.serials else f", {phones.width_px}x{phones.height_px}"
    what = f"{number} ({phones.transport}{size})"
    Console(highlight=False).print(
        f"[bold green]serving[/] {len(server.host.tasks)} tasks with {what} on [bold]{server.address}[/]; Ctrl-C stops"
        + (f"\nmetrics on http://{metrics}/metrics" if metrics else ""),
        soft_wrap=True,
    )


def tune_malloc() -> None:
    """Start this program again with malloc tuned, once; glibc reads its variables only when a process begins."""
    if sys.platform == "linux" and not MALLOC.keys() & os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **MALLOC})


@app.command()
def tasks(
    suite: Annotated[str, typer.Option(help="Only this suite.")] = "",
    split: Annotated[str, typer.Option(help="Only tasks with this split: train, validation or test.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """List the tasks."""
    from rlfactory.envs.api.errors import UnknownName
    from rlfactory.envs.tasks.registry import default_registry
    from rlfactory.envs.wire.convert import split_from_pb

    registry = default_registry()
    suites = {task.suite for task in registry}
    if suite and suite not in suites:
        raise UnknownName.of("suite", suite, suites)
    infos = registry.infos(suite=suite, split=split_from_pb(split) if split else "")
    if as_json:
        print(json.dumps([asdict(info) for info in infos], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{len(infos)} tasks", title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("suite")
    table.add_column("turns", justify="right")
    table.add_column("splits")
    table.add_column("what", overflow="fold")
    for info in infos:
        splits = "all" if len(info.splits) == 3 else ", ".join(info.splits)
        table.add_row(info.name, info.suite, str(info.max_turns), splits, info.description)
    console = Console(highlight=False)
    console.print(table, width=None if console.is_terminal else 160)
