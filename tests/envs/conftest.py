"""A real server on port 0 with text-only tasks and tools made for watching how calls run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ClassVar

import pytest

from rlfactory.emulators.device.errors import DeviceLost
from rlfactory.envs.api.registry import Registry
from rlfactory.envs.api.types import JSON, Split, ToolCall, ToolSchema
from rlfactory.envs.client import ClientConfig, EnvClient
from rlfactory.envs.service.limits import Limits
from rlfactory.envs.service.server import EnvServer, ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.finish import FinishTool
from rlfactory.envs.tools.registry import ToolRegistry
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolError

Serve = Callable[..., AbstractAsyncContextManager[tuple[EnvServer, EnvClient]]]


class Bench:
    """What the tools of a test did, and a gate they may wait at."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.gate = asyncio.Event()
        self.running = 0
        self.most_running = 0

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return when the condition holds; the test's timeout is the bound."""
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


class BenchTool(Tool):
    """`do` says what to do: say, wait, reject, fail, crash, lose."""

    def __init__(self, bench: Bench, name: str, resource: str | None) -> None:
        self.schema = ToolSchema(name=name, description=name, parameters={"type": "object"})
        self.resource = resource
        self.bench = bench
        self.count = 0

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        what = arguments.get("do", "say")
        text = str(arguments.get("text", ""))
        self.bench.running += 1
        self.bench.most_running = max(self.bench.most_running, self.bench.running)
        try:
            match what:
                case "wait":
                    self.bench.log.append(f"begin {text}")
                    await self.bench.gate.wait()
                case "reject":
                    raise Rejected("no such thing")
                case "fail":
                    raise ToolError("the shop is closed")
                case "crash":
                    raise ZeroDivisionError("oops")
                case "lose":
                    raise DeviceLost("phone 7 is gone")
            await asyncio.sleep(0)
            self.bench.log.append(text)
            self.count += 1
        except asyncio.CancelledError:
            self.bench.log.append(f"cancelled {text}")
            raise
        else:
            return f"{text} {self.count}"
        finally:
            self.bench.running -= 1

    def fork(self, context: ToolContext) -> BenchTool:
        twin = BenchTool(self.bench, self.schema.name, self.resource)
        twin.count = self.count
        return twin


class Talk(Task):
    """Answer with a drawn number."""

    name = "bench.talk"
    suite = "bench"
    description = "Say a number"
    max_turns = 5
    tools: ClassVar[tuple[str, ...]] = ("free", "shared", "finish")
    needs_device = False

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Task:
        return cls(rng.randrange(10**6))

    @property
    def goal(self) -> str:
        return f"Say {self.number}."

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (
            Check(name="answered", holds=outcome.finished),
            Check(name="right", holds=outcome.answer == str(self.number)),
        )

    async def solve(self, ui: UiDriver) -> None:
        raise NotImplementedError


class BrokenVerdict(Talk):
    """Its checks fail once the agent has finished."""

    name = "bench.broken_verdict"
    splits = ("train",)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        if outcome.finished:
            raise KeyError("settings/global/nothing")
        return super().checks(outcome)


class UnknownTool(Talk):
    """Asks for a tool that no service has."""

    name = "bench.unknown_tool"
    splits = ("train",)
    tools: ClassVar[tuple[str, ...]] = ("fre",)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def bench_tools(bench: Bench) -> ToolRegistry:
    return Registry(
        "tool",
        (
            ("free", lambda context: BenchTool(bench, "free", None)),
            ("shared", lambda context: BenchTool(bench, "shared", "thing")),
            ("finish", FinishTool),
        ),
    )


@pytest.fixture
def serve(bench_tools: ToolRegistry) -> Serve:
    """Return a context manager that runs a text-only service and a client of it."""

    @asynccontextmanager
    async def run(client: ClientConfig | None = None, **limits: float) -> AsyncIterator[tuple[EnvServer, EnvClient]]:
        config = ServerConfig(drain_s=0.5, limits=Limits(**limits))  # type: ignore[arg-type]
        tasks = TaskRegistry((Talk, BrokenVerdict, UnknownTool))
        async with (
            serving(config, tasks=tasks, tools=bench_tools) as server,
            EnvClient(server.address, config=client) as connected,
        ):
            yield server, connected

    return run


@pytest.fixture
def call() -> Callable[..., ToolCall]:
    """Return a maker of calls: call("free", text="a", id="0")."""

    def make(name: str, *, id: str = "0", **arguments: JSON) -> ToolCall:  # noqa: A002
        return ToolCall(id=id, name=name, arguments=arguments)

    return make
