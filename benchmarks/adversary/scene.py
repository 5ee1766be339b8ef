"""Tasks of the arena, for `rlfactory serve --tasks`: light ones for honest sessions, and a probe of the event loop.

The service imports this file by its path. The probe begins with the first episode and appends to the file that
ADVERSARY_LAG_FILE names: (monotonic time, seconds that the loop came too late, seconds of these that its thread waited
for a processor, which others had).
"""

from __future__ import annotations

import asyncio
import os
import random
import struct
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.function import tool_of
from rlfactory.envs.tools.sql.database import PostgresServer
from rlfactory.envs.tools.sql.tool import sql_tool
from rlfactory.envs.tools.tool import ToolFactory

PROBE_S: Final = 0.02
SAMPLE: Final = struct.Struct("<ddd")
SCHEDULE: Final = Path("/proc/thread-self/schedstat")

DONE: Final[dict[str, int]] = {}
"""How often each nap was really taken."""


async def _probe(path: Path) -> None:
    with path.open("ab", buffering=0) as samples:
        while True:
            due_s, waited_s = time.monotonic() + PROBE_S, _waited_s()
            await asyncio.sleep(PROBE_S)
            now_s = time.monotonic()
            samples.write(SAMPLE.pack(now_s, max(0.0, now_s - due_s), _waited_s() - waited_s))


def _waited_s() -> float:
    """Return how long this thread has been ready to run without a processor; 0 where the kernel does not say."""
    return int(SCHEDULE.read_text().split()[1]) / 1e9 if SCHEDULE.exists() else 0.0


@cache
def _begin_probe() -> asyncio.Task[None] | None:
    path = os.environ.get("ADVERSARY_LAG_FILE", "")
    return asyncio.create_task(_probe(Path(path)), name="lag probe") if path else None


async def nap(key: str, seconds: float = 0.0, chars: int = 0) -> str:
    """Sleep, and say how often this key has been used.

    Args:
        key: Any word.
        seconds: How long.
        chars: Of the answer.
    """
    DONE[key] = DONE.get(key, 0) + 1
    times = DONE[key]
    await asyncio.sleep(seconds)
    return f"{key} {times} {'z' * chars}".rstrip()


class Sums(Task):
    """Adds numbers up; finishes with the last sum."""

    name = "arena.sums"
    suite = "arena"
    description = "Work sums out"
    max_turns = 200
    tools: ClassVar[tuple[str, ...]] = ("calculator", "nap", "finish")
    needs_device = False

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Task:
        return cls(rng.randrange(10**6))

    @property
    def goal(self) -> str:
        return f"Say {self.number}."

    def own_tools(self) -> Mapping[str, ToolFactory]:
        _begin_probe()
        return {"nap": tool_of(nap)}

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="right", holds=outcome.answer == str(self.number)),)

    async def solve(self, driver: UiDriver) -> None:
        await driver.finish(answer=str(self.number))


class Postgres(Sums):
    """Queries the PostgreSQL server of the arena."""

    name = "arena.postgres"
    tools: ClassVar[tuple[str, ...]] = ("sql", "finish")

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {"sql": sql_tool(PostgresServer(os.environ.get("ADVERSARY_POSTGRES", "")))}
