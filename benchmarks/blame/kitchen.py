"""A service in this process with every tool that ships, and what is asked of it."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar, Final

import duckdb

from benchmarks.adversary.scene import Sums, nap
from benchmarks.blame.calls import arguments_json
from benchmarks.sql import fill
from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import SessionOptions, ToolStatus
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.sandboxes import Sandboxes
from rlfactory.envs.sandbox.tool import PythonTool
from rlfactory.envs.service.manager import SessionManager
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tools.function import tool_of
from rlfactory.envs.tools.sql.database import DuckDbFile, PostgresServer, SqliteBytes
from rlfactory.envs.tools.sql.tool import sql_tool
from rlfactory.envs.tools.tool import ToolFactory
from rlfactory.envs.wire import convert
from rlfactory.envs.wire.v1 import env_pb2 as pb

TOOLS: Final = ("calculator", "nap", "sql", "duckdb", "python", "phone", "finish", "nothing")
CALLS_A_STEP: Final = 8
TASKS: Final = (
    "blame.kitchen",
    *(
        "text2sql.select",
        "math_code.count",
        "travel.weekend",
        "travel.dry_days",
        "search_qa.birthplace",
        "settings.wifi_on",
    ),
)
"""One whose session has every tool, and some whose verdicts read answers of different kinds."""
BUG: Final = "the tool failed: "
"""How the runtime tells of an exception that a tool did not expect."""


class Kitchen(Sums):
    """Has every tool that a model can call."""

    name = "blame.kitchen"
    max_turns = 200
    tools: ClassVar[tuple[str, ...]] = TOOLS[:-1]
    needs_device = True
    folder: ClassVar[Path]
    postgres: ClassVar[str] = ""

    def own_tools(self) -> Mapping[str, ToolFactory]:
        """Return those that no registry has."""
        connection = sqlite3.connect(":memory:")
        fill(connection)
        connection.commit()
        return {
            "nap": tool_of(nap),
            "python": lambda context: PythonTool(context, timeout_s=3.0),
            "sql": sql_tool(SqliteBytes(connection.serialize()), timeout_s=1.0),
            "duckdb": sql_tool(DuckDbFile(self.folder / "shop.duckdb"), timeout_s=1.0),
            "postgres": sql_tool(PostgresServer(self.postgres), timeout_s=1.0),
        }


@asynccontextmanager
async def kitchen(folder: Path, *, phones: int, postgres: str = "") -> AsyncIterator[SessionManager]:
    """Run the service for the block. Args: phones: 0 for a kitchen without one; postgres: the DSN of a reader."""
    with duckdb.connect(str(folder / "shop.duckdb")) as shop:
        fill(shop)
    tools = [name for name in TOOLS[:-1] if phones or name != "phone"] + ["postgres"] * bool(postgres)
    members = {"folder": folder, "postgres": postgres, "tools": tuple(tools), "needs_device": bool(phones)}
    tasks = default_registry()
    tasks.add(type("Kitchen", (Kitchen,), members))
    sandboxes = Sandboxes(SandboxConfig(unsafe_local=True, spares=1, max_open=16, starts_at_once=os.cpu_count() or 1))
    async with serving(
        ServerConfig(drain_s=0.5),
        phones=phone_source(PhonesConfig(phones=phones, width_px=320, height_px=480)) if phones else None,
        pool=PoolConfig(phones=phones, spares=1) if phones else None,
        tasks=tasks,
        services=Services(sandboxes),
    ) as server:
        yield server.manager


async def step(manager: SessionManager, session: str, seq: int, calls: Sequence[pb.ToolCall]) -> tuple[str, bool]:
    """Play one turn as if it had come over the wire; return who was wrongly blamed, and if it goes on."""
    try:
        stored, _ = await manager.step(session, seq, convert.calls_from_pb(calls))
        convert.step_to_pb(stored.result, with_bytes=False).SerializeToString()
    except RLFactoryError as error:
        return f"{error.blame}: {error}", False
    except Exception as error:  # noqa: BLE001 - whatever it is, no model is to blame for it
        return f"nobody: {type(error).__name__}: {error}", False
    bugs = [each for each in stored.result.results if each.status is ToolStatus.ERROR and each.text.startswith(BUG)]
    return (f"tool {bugs[0].name}: {bugs[0].text}" if bugs else ""), stored.result.state == "running"


def drawn(rng: random.Random, tools: Sequence[str], count: int) -> list[pb.ToolCall]:
    """Draw the calls of a turn. Few end the episode."""
    names = [name for name in rng.choices(tools, k=count) if name != "finish" or not rng.randrange(6)] or ["calculator"]
    return [pb.ToolCall(id=str(n), name=name, arguments_json=arguments_json(rng, name)) for n, name in enumerate(names)]


async def fuzz(
    manager: SessionManager, seeds: Iterable[int], calls: int, until_s: float
) -> AsyncIterator[tuple[int, list[str]]]:
    """Play episodes of drawn calls, one for each seed, until so many are made or it is that late (monotonic).

    Gives how many each turn made, and what was wrong.
    """
    options, made = SessionOptions(with_image=False, lease_s=300.0), 0
    for seed in seeds:
        rng = random.Random(seed)
        task = rng.choice((TASKS[0], rng.choice(TASKS)))
        begun = await manager.reset(task, seed=rng.randrange(50), split="train", options=options)
        tools = [*(schema.name for schema in begun.tools), "nothing"]
        if task == TASKS[0]:
            tools = [*manager_tools(manager), "nothing"]
        try:
            for seq in range(1, begun.max_turns + 1):
                asked = drawn(rng, tools, rng.randrange(1, CALLS_A_STEP + 1))
                wrong, goes_on = await step(manager, begun.session, seq, asked)
                made += len(asked)
                shown = [f"{each.name}({each.arguments_json[:300]})" for each in asked]
                yield len(asked), [f"seed {seed} {task}: {wrong[:300]}\n  {shown}"] if wrong else []
                if not goes_on or made >= calls or time.monotonic() >= until_s:
                    break
        finally:
            await manager.close(begun.session)
        if made >= calls or time.monotonic() >= until_s:
            return


def manager_tools(manager: SessionManager) -> tuple[str, ...]:
    """Return the names of the kitchen's tools: a schema of SQL has the same name whatever engine it is of."""
    return manager.tasks.get(TASKS[0]).tools


async def players(
    manager: SessionManager, calls: int, *, seed: int, concurrency: int, until_s: float
) -> AsyncIterator[tuple[int, list[str]]]:
    """Fuzz with several players at once; give what each turn of theirs came to."""
    told: asyncio.Queue[tuple[int, list[str]] | None] = asyncio.Queue()

    async def play(number: int) -> None:
        seeds = range(seed + number, 10**9, concurrency)
        try:
            async for each in fuzz(manager, seeds, calls // concurrency, until_s):
                told.put_nowait(each)
        finally:
            told.put_nowait(None)

    async with asyncio.TaskGroup() as group:
        for number in range(concurrency):
            group.create_task(play(number))
        left = concurrency
        while left:
            each = await told.get()
            if each is None:
                left -= 1
            else:
                yield each
