"""What hostile SQL and hostile code achieve: `python -m benchmarks.escapes [--json]`.

Statements of `benchmarks.hostile_sql`, as they are and disguised, run on every engine of this machine; programs run
in sandboxes, which are containers: without Docker there are none. Beside slow queries a quick one is timed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.escapes.programs import BOASTS, programs
from benchmarks.hostile_sql import NUMBERS, disguised
from benchmarks.sql import SECRET, Watched, attack, targets
from rlfactory.envs.api.errors import RLFactoryError, TaskError
from rlfactory.envs.sandbox.config import SANDBOX_IMAGE, SandboxConfig
from rlfactory.envs.sandbox.sandboxes import Interpreter, Sandboxes
from rlfactory.envs.service.services import SESSION
from rlfactory.envs.tools.sql.database import SqliteFile
from rlfactory.envs.tools.sql.rows import QueryFailed
from rlfactory.envs.tools.sql.workers import SqlWorkers, SqlWorkersConfig

PROGRAM_S: Final = 3.0
"""That a program may take."""
SLOW_SESSIONS: Final = 4
QUICK_QUERIES: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What was tried, and what came of it."""

    statements: int
    programs: int
    """0 where there is no Docker engine, or no image of the sandbox."""
    escapes: int
    """Statements and programs with an effect on anything but their own answer."""
    late: int
    """Statements that did not end by their deadline."""
    engines: tuple[str, ...]
    quick_beside_slow_s: float
    """The longest of a quick query, while four other sessions ask for endless ones."""


async def try_statements(folder: Path) -> tuple[list[str], int, int, tuple[str, ...]]:
    """Return what had an effect, how many statements there were, how many were late, and the engines."""
    watched, engines, made = Watched(folder), [], []
    with targets(watched) as found:
        async with SqlWorkers(SqlWorkersConfig(workers=1)) as workers:
            for name, (database, corpus) in found.items():
                made += await attack(workers, database, (*corpus, *disguised(corpus)), watched)
                engines.append(name)
    escapes = [f"{each.effect}: {each.sql[:100]!r}" for each in made if each.effect]
    return escapes, len(made), sum(each.late for each in made), tuple(engines)


async def try_programs(folder: Path, image: str) -> tuple[list[str], int]:
    """Return what got somewhere, and how many programs there were."""
    knocks: list[str] = []

    def knocked(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        knocks.append("a port of the host was reached")
        writer.close()

    secret = folder / "secret.txt"
    secret.write_text(SECRET)
    sandboxes = Sandboxes(replace(SandboxConfig(), image=image))
    async with await asyncio.start_server(knocked, "0.0.0.0", 0) as server, contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(sandboxes.close)
        port = server.sockets[0].getsockname()[1]
        escapes: list[str] = []
        python: Interpreter | None = None
        tried = list(programs(str(secret), port))
        for code in tried:
            python = await _usable(sandboxes, python)
            told = (await python.run(code, timeout_s=PROGRAM_S)).output
            if SECRET in told or any(boast in told for boast in BOASTS):
                escapes.append(f"{told.strip()[:80]!r}: {code[:100]!r}")
            if secret.read_text() != SECRET:
                escapes.append(f"the secret was changed: {code[:100]!r}")
            escapes += [f"{knock}: {code[:100]!r}" for knock in knocks]
            knocks.clear()
            python = await _usable(sandboxes, python)
            if (await python.run("6 * 7", timeout_s=10.0)).output != "42\n":
                python = await _usable(sandboxes, python)  # what was left behind may cost a session one call
                if (await python.run("6 * 7", timeout_s=10.0)).output != "42\n":
                    escapes.append(f"the next calls did not work: {code[:100]!r}")
    return escapes, len(tried)


async def _usable(sandboxes: Sandboxes, python: Interpreter | None) -> Interpreter:
    """Return this interpreter, or another one where it has ended."""
    if python is not None and not (python.lost or python.ended_idle):
        return python
    if python is not None:
        await sandboxes.release(python)
    return await sandboxes.open()


async def quick_beside_slow_s(folder: Path) -> float:
    """Return what the slowest of some quick queries took beside endless ones of other sessions."""
    database, took_s = SqliteFile(Watched(folder).sqlite), [0.0]
    async with SqlWorkers() as workers:

        async def slow(number: int) -> None:
            SESSION.set(f"slow {number}")
            while True:
                with contextlib.suppress(QueryFailed):
                    await workers.run(database, f"{NUMBERS} SELECT max(x) FROM n", timeout_s=5.0)

        await workers.run(database, "SELECT 1", timeout_s=10.0)
        neighbours = [asyncio.create_task(slow(number)) for number in range(SLOW_SESSIONS)]
        SESSION.set("quick")
        for _ in range(QUICK_QUERIES):
            await asyncio.sleep(0.1)
            begun_s = time.monotonic()
            await workers.run(database, "SELECT 1", timeout_s=10.0)
            took_s.append(time.monotonic() - begun_s)
        for each in neighbours:
            each.cancel()
        await asyncio.gather(*neighbours, return_exceptions=True)
    return max(took_s)


async def main_async(image: str) -> tuple[Figures, Sequence[str]]:
    """Return the figures, and a line for each escape."""
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as two,
        tempfile.TemporaryDirectory() as three,
    ):
        escapes, statements, late, engines = await try_statements(Path(one))
        count = 0
        try:
            got_out, count = await try_programs(Path(two), image)
            escapes += got_out
        except TaskError as error:
            print(f"no programs: {error}", file=sys.stderr)
        quick_s = await quick_beside_slow_s(Path(three))
    figures = Figures(
        statements=statements,
        programs=count,
        escapes=len(escapes),
        late=late,
        engines=engines,
        quick_beside_slow_s=round(quick_s, 3),
    )
    return figures, escapes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.escapes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--image", default=SANDBOX_IMAGE, help="of the sandbox")
    arguments = parser.parse_args()
    try:
        figures, escapes = asyncio.run(main_async(arguments.image))
    except RLFactoryError as error:
        sys.exit(f"error: {error}")
    for escape in escapes:
        print(escape, file=sys.stderr)
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        print(
            f"{figures.statements} statements, {figures.programs} programs: {figures.escapes} escapes, "
            f"{figures.late} late; beside slow queries a quick one took {figures.quick_beside_slow_s:g} s at most"
        )
    sys.exit(1 if escapes else 0)


if __name__ == "__main__":
    main()
