"""From the options of `rlfactory serve` to a service that runs until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from rich.console import Console

from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.sources.phones import PhonesConfig, discovery_folders, known_packages, phone_source
from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.tracing import export_traces
from rlfactory.envs.sandbox.config import SandboxConfig, allow_lists
from rlfactory.envs.sandbox.sandboxes import Sandboxes
from rlfactory.envs.service.access_log import json_lines
from rlfactory.envs.service.limits import Limits, Quotas, read_quotas
from rlfactory.envs.service.metrics import exposed
from rlfactory.envs.service.serve_options import MAX_DRAIN_S, ServeOptions
from rlfactory.envs.service.server import EnvServer, ServerConfig, serving
from rlfactory.envs.tasks.android_world.checkout import AndroidWorld
from rlfactory.envs.tasks.android_world.tasks import android_world_tasks
from rlfactory.envs.tasks.drawing import Drawing, DrawingConfig
from rlfactory.envs.tasks.file import add_installed_tasks, add_tasks
from rlfactory.envs.tasks.search_qa.options import JUDGE_KEY_VARIABLE, QuestionOptions
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.task import Task
from rlfactory.envs.tasks.text2sql.spider import spider_task
from rlfactory.envs.tools.registry import ToolRegistry, offered_tools
from rlfactory.envs.tools.runtime.cache import CacheConfig
from rlfactory.envs.tools.runtime.recorded import read_answers
from rlfactory.envs.tools.sql.workers import SqlWorkers, SqlWorkersConfig
from rlfactory.envs.wire.trust_options import ServerTrustFiles, token_from_environment
from rlfactory.processes import event_loop
from rlfactory.processes.child import when_parent_ends
from rlfactory.processes.malloc import keep_large_blocks

DRAWING_PROCESSES: Final = 2
MOST_FILES: Final = 65_536
"""Open at a time; shells often allow 1,024, which is as many connections."""


def run_service(options: ServeOptions) -> None:
    """Serve until SIGTERM, SIGINT, or the end of standard input where that is asked for.

    Raises: TaskError: an option, or what it names, makes no sense. DeviceError: no phone. AddressInUse.
    """
    keep_large_blocks(os.environ)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # more than the kernel's own limit, in some containers
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most_files, MOST_FILES), most_files))
    if options.log_json:
        logging.getLogger().addHandler(json_lines(sys.stderr))
    event_loop.run(serve(options))


def phones_config(options: ServeOptions) -> PhonesConfig:
    """Return which phones are asked for. Raises: TaskError."""
    try:
        return PhonesConfig(
            kind=options.transport,
            phones=len(options.serial) if options.serial else options.phones,
            spares=0 if options.serial else options.spares,  # attached phones are as many as they are
            phones_per_host=options.phones_per_host,
            app_files=tuple(options.apps or ()),
            image=options.image,
            runtime=options.runtime,
            engine_url=options.docker_host,
            width_px=options.width,
            height_px=options.height,
            serials=tuple(options.serial or ()),
            adb_port=options.adb_port,
            discovery=discovery_folders(os.environ),
        )
    except ValueError as error:
        raise TaskError(str(error)) from None


def server_config(options: ServeOptions) -> ServerConfig:
    """Return where and for whom it listens. Raises: TaskError."""
    files = ServerTrustFiles(
        token_file=options.token_file,
        certificate=options.tls_cert,
        key=options.tls_key,
        client_ca=options.tls_client_ca,
        plaintext=options.plaintext,
    )
    try:
        return ServerConfig(
            host=options.host,
            port=options.port,
            drain_s=options.drain_s,
            limits=Limits(max_sessions=options.max_sessions),
            quotas=read_quotas(options.quota or ()),
            connection_age_s=options.connection_age_s,
            health_port=options.health_port if options.health_port >= 0 else None,
            tool_cache=CacheConfig(path=options.tool_cache),
            perturb=options.perturb,
            recorded_answers=read_answers(options.answers) if options.answers else {},
            trust=files.load(token=token_from_environment()),
            journal=options.journal,
        )
    except ValueError as error:
        raise TaskError(str(error)) from None


def sandbox_config(options: ServeOptions, *, quotas: Quotas, tenants: int) -> SandboxConfig:
    """Return where code of models runs. Raises: TaskError."""
    config = SandboxConfig(
        runtime=options.runtime, unsafe_local=options.unsafe_local, allow=allow_lists(options.allow or ())
    )
    return replace(config, max_open_of_tenant=quotas.part("sandboxes", config.max_open, tenants))


@asynccontextmanager
async def tools_of_file(path: Path, environ: Mapping[str, str]) -> AsyncIterator[ToolRegistry]:
    """Offer the tools of a file beside those that ship, for the block; `${NAME}` in the file is of `environ`.

    Raises: TaskError: something in the file makes no sense or cannot be reached, or the extra `tools` is not installed;
    it is imported only here.
    """
    try:
        from rlfactory.envs.tools.config import load_tools
        from rlfactory.envs.tools.toolset import open_tools
    except ModuleNotFoundError as error:
        raise TaskError(f"--tools needs {error.name}: install rlfactory[tools]") from None
    async with open_tools(load_tools(path, environ=environ), offered_tools()) as toolset:
        yield toolset


def require_apps(tasks: Iterable[type[Task]], packages: Collection[str]) -> None:
    """Raises: TaskError: a task is about an app that the phones will not have."""
    for task in tasks:
        for app in task.apps:
            if app not in packages:
                miss = UnknownName.of("app", app, packages)
                raise TaskError(f"task {task.name}: {miss} (an app of a file is given by --apps FILE)")


async def serve(options: ServeOptions) -> None:
    """See `run_service`."""
    config, phones = server_config(options), phones_config(options)
    questions = QuestionOptions(
        questions=options.questions,
        index=options.search_index,
        judge=options.judge,
        judge_api_key=os.environ.get(JUDGE_KEY_VARIABLE, ""),
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    draining = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, draining.set)
    if options.stop_on_eof:
        when_parent_ends(lambda: loop.call_soon_threadsafe(stop.set))
    metrics = CollectorRegistry()
    services = questions.services()
    services.give(Sandboxes(sandbox_config(options, quotas=config.quotas, tenants=config.trust.parties)))
    services.give(Drawing(DrawingConfig(processes=DRAWING_PROCESSES, files=tuple(options.tasks or ()))))
    services.give(SqlWorkers(SqlWorkersConfig(workers_of_tenant=config.quotas.sql_workers)))
    tasks = questions.registry() or default_registry()
    if options.text2sql is not None:
        tasks.add(spider_task(options.text2sql))
    add_installed_tasks(tasks)
    others = set(tasks)
    for path in options.tasks or ():
        add_tasks(tasks, path)
    if phones.phones and (packages := known_packages(phones)) is not None:
        require_apps((task for task in tasks if task not in others), packages)
    async with AsyncExitStack() as stack:
        if options.otlp_endpoint:
            stack.callback(export_traces(options.otlp_endpoint, service="rlfactory-service"))
        if options.android_world is not None:
            world = AndroidWorld(options.android_world, interpreter=options.android_world_python)
            stack.callback(world.close)
            for task in android_world_tasks(world):
                tasks.add(task)
        tools = offered_tools()
        if options.tools:
            tools = await stack.enter_async_context(tools_of_file(options.tools, os.environ))
        server = await stack.enter_async_context(
            serving(
                config,
                phones=phone_source(phones) if phones.phones else None,
                pool=PoolConfig(phones=phones.phones, spares=phones.spares) if phones.phones else None,
                tasks=tasks,
                tools=tools,
                metrics=metrics,
                services=services,
            )
        )
        address = ""
        if options.metrics_port >= 0:
            port = stack.enter_context(exposed(metrics, host=options.metrics_host, port=options.metrics_port))
            address = f"{options.metrics_host}:{port}"
        _announce(server, phones, metrics=address, as_json=options.json)
        await _until(stop, draining, server)


async def _until(stop: asyncio.Event, draining: asyncio.Event, server: EnvServer) -> None:
    """Return when the service is to stop: at once, or once its sessions have ended."""
    stopping = asyncio.create_task(stop.wait())
    drained = asyncio.create_task(_drained(draining, server))
    await asyncio.wait((stopping, drained), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    drained.cancel()


async def _drained(draining: asyncio.Event, server: EnvServer) -> None:
    await draining.wait()
    await server.drain(MAX_DRAIN_S)


def _announce(server: EnvServer, phones: PhonesConfig, *, metrics: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"address": server.address, "pid": os.getpid(), "metrics": metrics}), flush=True)
        return
    number = "1 phone" if phones.phones == 1 else f"{phones.phones} phones"
    size = "" if phones.serials else f", {phones.width_px}x{phones.height_px}"
    what = f"{number} ({phones.kind}{size})"
    tasks = len(server.manager.tasks)
    Console(highlight=False).print(
        f"[bold green]serving[/] {tasks} tasks with {what} on [bold]{server.address}[/]; Ctrl-C stops"
        + (f"\nmetrics on http://{metrics}/metrics" if metrics else ""),
        soft_wrap=True,
    )
