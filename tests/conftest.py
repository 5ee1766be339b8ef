"""What every test shares: a way for CI to forbid skips, and Ctrl-C that works.

`RLFACTORY_REQUIRE=train,browser` says that this machine has what tests with these markers need. A test may then skip
only when it carries another of the markers below; any other skip counts as a failure.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

OPTIONAL = frozenset(
    {"train", "browser", "docker", "gpu", "vllm", "postgres", "openenv", "mcp_reference", "inspect", "typescript"}
    | {"phone_clients"}
)
REQUIRE_VARIABLE = "RLFACTORY_REQUIRE"
LONG = ("tests/trainer/run/test_recipe.py", "tests/test_cli_errors.py", "tests/test_wheel.py")
"""Begun first, so that none of them goes on alone when all others are done."""

NOT_COVERED = (
    "tests/trainer/run/test_recipe.py",
    "tests/envs/tasks/test_tasks.py",
    "tests/envs/tasks/test_travel.py::test_the_oracle",
    "tests/envs/tasks/test_mixed.py::test_the_oracle",
    "tests/emulators/device/test_device_contract.py::test_both_ways",
    "tests/emulators/simulator/view/test_render.py::test_redrawing",
    "tests/emulators/simulator/view/test_input.py::test_typing_anywhere",
    "tests/emulators/simulator/apps/test_contract.py",
    "tests/emulators/simulator/wire/test_adbd.py::test_the_phone_survives",
    "tests/trainer/dialects/test_dialects.py::test_calls_read",
)
"""Sweeps that walk the same lines many hundred times: under coverage's tracer they take twice as long, and the lines
are those that other tests walk, too."""

# How fast examples come is no property of ours: a busy machine must not fail a test by it.
settings.register_profile("rlfactory", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rlfactory")


def required_markers() -> frozenset[str] | None:
    """Return the markers whose tests must run, None when skips are nobody's concern."""
    value = os.environ.get(REQUIRE_VARIABLE)
    if value is None:
        return None
    names = frozenset(name for name in value.split(",") if name)
    if unknown := names - OPTIONAL:
        raise pytest.UsageError(f"{REQUIRE_VARIABLE} names unknown markers: {', '.join(sorted(unknown))}")
    return names


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    for item in items:
        if item.nodeid.startswith(NOT_COVERED):
            item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what imports and items take out of every later collection of garbage: a tenth of the suite's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """A shell's background jobs ignore SIGINT, and so would every program that a test starts and interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Return a waiter for a condition; the test's timeout is the bound."""

    async def wait(condition: Callable[[], bool]) -> None:
        while not condition():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.005)

    return wait


@pytest.fixture(scope="session")
def client_of() -> Callable[..., AbstractAsyncContextManager[Any]]:
    """Return a context manager that runs a service, with what `serving` takes, and gives a client of it."""
    from rlfactory.envs.client import EnvClient
    from rlfactory.envs.service.server import ServerConfig, serving

    @asynccontextmanager
    async def run(**parts: Any) -> AsyncIterator[EnvClient]:
        async with serving(ServerConfig(drain_s=0.5), **parts) as server, EnvClient(server.address) as connected:
            yield connected

    return run


@pytest.fixture
async def client(request: pytest.FixtureRequest, client_of: Any) -> AsyncIterator[Any]:
    """A client of a service with the tasks of the module's REGISTRY, and no phone."""
    async with client_of(tasks=request.module.REGISTRY) as connected:
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def phone_client(client_of: Any) -> AsyncIterator[Any]:
    """A client of a service with one phone of half the usual size: the same layout, a quarter of the pixels to draw."""
    from rlfactory.emulators.sources.phones import PhonesConfig, phone_source

    async with client_of(phones=phone_source(PhonesConfig(phones=1, width_px=540, height_px=1200))) as connected:
        yield connected


@pytest.fixture(scope="session")
def program() -> Callable[..., AbstractAsyncContextManager[Any]]:
    """Return a context manager that runs `rlfactory`; it gives the process and its first line, read if that is JSON."""

    @asynccontextmanager
    async def run(*arguments: object, stdin: int | None = None, **environment: str) -> AsyncIterator[Any]:
        command = (sys.executable, "-m", "rlfactory", *map(str, arguments))
        variables = {**os.environ, **environment}
        process = await asyncio.create_subprocess_exec(*command, stdin=stdin, stdout=PIPE, stderr=PIPE, env=variables)
        assert process.stdout is not None
        try:
            line = await process.stdout.readline()
            yield process, json.loads(line) if line.startswith(b"{") else line.decode()
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    return run


@pytest.fixture(scope="module")
def chat_stub() -> Iterator[str]:
    """The address of `tests/envs/chat_stub.py`, which counts what its models are asked."""
    stub = Path(__file__).with_name("envs") / "chat_stub.py"
    with subprocess.Popen([sys.executable, str(stub)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    required = required_markers()
    if report.skipped and required is not None and not hasattr(report, "wasxfail"):
        carried = {marker.name for marker in item.iter_markers()} & OPTIONAL
        if carried <= required:
            report.outcome = "failed"
            report.longrepr = f"skipped, though {REQUIRE_VARIABLE}={','.join(sorted(required))}: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped and required_markers() is not None:
        report.outcome = "failed"
        report.longrepr = f"module skipped, though {REQUIRE_VARIABLE} is set: {report.longrepr}"
    return report
