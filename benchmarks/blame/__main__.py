"""Who is blamed for what a model writes: `python -m benchmarks.blame [--json] [--calls 100000]`.

Drawn calls of every tool that ships, thousands of which are nonsense, go through a service in this process as they
would from the wire. Whatever comes of them is to be the model's mistake, or an answer; never anybody else's.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.blame.kitchen import kitchen, players
from benchmarks.postgres_server import postgres, programs
from benchmarks.sql import fill_postgres
from rlfactory.processes.event_loop import run


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What the fuzzer found."""

    calls: int
    blame_wrong: int
    """Turns for which infrastructure, environment, judge, client or a tool's own code was blamed."""
    turns: int
    engines: tuple[str, ...]
    """Of SQL, among the tools."""
    wall_s: float


async def main_async(
    calls: int, seed: int, concurrency: int, postgres_dsn: str, within_s: float
) -> tuple[Figures, list[str]]:
    """Return the figures, and a line or two for each turn that was blamed on the wrong one."""
    from rich.progress import Progress

    made, turns, problems, begun_s = 0, 0, list[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Progress(transient=True) as progress:
        line = progress.add_task("calls", total=calls)
        async with kitchen(Path(folder), phones=concurrency, postgres=postgres_dsn) as manager:
            until_s = begun_s + within_s
            async for count, wrong in players(manager, calls, seed=seed, concurrency=concurrency, until_s=until_s):
                made, turns = made + count, turns + 1
                problems += wrong
                progress.update(line, completed=made, description=f"calls, {len(problems)} wrong")
    figures = Figures(
        calls=made,
        blame_wrong=len(problems),
        turns=turns,
        engines=("sqlite", "duckdb", *(["postgres"] if postgres_dsn else [])),
        wall_s=round(time.monotonic() - begun_s, 1),
    )
    return figures, problems


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.blame", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--concurrency", type=int, default=8, help="episodes, each with a phone")
    parser.add_argument("--within-s", type=float, default=3600.0, help="make no more calls than there is time for")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        dsn = ""
        if programs() is not None:
            server = stack.enter_context(postgres())
            fill_postgres(server.owner)
            dsn = server.reader
        figures, problems = run(
            main_async(arguments.calls, arguments.seed, arguments.concurrency, dsn, arguments.within_s)
        )
    for problem in problems:
        print(problem, file=sys.stderr)
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        print(f"{figures.calls} calls in {figures.wall_s:g} s: {figures.blame_wrong} blamed on the wrong one")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
