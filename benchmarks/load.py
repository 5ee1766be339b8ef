"""How many sessions one service carries: `python -m benchmarks.load [--json]`.

Every session steps a phone that takes 200 ms a step, again and again. What is measured stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field

import psutil

from benchmarks.figures import percentile_ms
from benchmarks.slow_phones import TASK
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import SessionOptions, ToolCall
from rlfactory.envs.client import EnvClient, Session
from rlfactory.processes.event_loop import run

TAP = ToolCall(id="0", name="phone", arguments={"action": "key", "key": "HOME"})
WARM_UP_S = 2.0
OPENING_AT_ONCE = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadFigures:
    """What a crowd of sessions got out of one service."""

    steps_per_s_over_ideal: float
    """1: as if the phones' time were all that a step takes."""
    p99_ms: float
    """Of a step as its client sees it, the phone's time included."""
    lost: int
    """Sessions that failed."""
    sessions: int
    steps_per_s: float
    p50_ms: float
    service_cpu_ms: float
    """CPU time of the service for each step."""
    client_cpu_ms: float
    """CPU time of this benchmark's clients for each step."""


@dataclass(slots=True)
class Seen:
    """What the clients of one process saw."""

    step_s: list[float] = field(default_factory=list)
    lost: int = 0
    cpu_s: float = 0.0
    problems: list[str] = field(default_factory=list)


@asynccontextmanager
async def slow_service(sessions: int, step_s: float) -> AsyncIterator[tuple[str, psutil.Process]]:
    """Run a service with slow phones for the block; give its address and its process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.slow_phones", "--phones", str(sessions), "--step-s", str(step_s)),
        stdin=PIPE,
        stdout=PIPE,
    )
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        if not line:
            raise SystemExit("error: the service did not start")
        yield json.loads(line)["address"], psutil.Process(process.pid)
    finally:
        process.terminate()
        await process.wait()


async def drive(address: str, sessions: int, duration_s: float) -> Seen:
    """Step so many sessions side by side; count what happened after the warm-up."""
    seen = Seen()
    opening = asyncio.Semaphore(OPENING_AT_ONCE)
    options = SessionOptions(with_tree=False)
    async with EnvClient(address) as client, AsyncExitStack() as stack:

        async def opened(seed: int) -> Session:
            async with opening:
                return await stack.enter_async_context(client.session(TASK, seed=seed, options=options))

        players = await asyncio.gather(*(opened(seed) for seed in range(sessions)))
        begin_s = time.perf_counter() + WARM_UP_S
        end_s = begin_s + duration_s
        cpu_s = time.process_time()

        async def step(session: Session) -> None:
            try:
                while (started_s := time.perf_counter()) < end_s:
                    await session.step([TAP])
                    if started_s >= begin_s:
                        seen.step_s.append(time.perf_counter() - started_s)
            except RLFactoryError as error:
                seen.lost += 1
                seen.problems.append(str(error))

        await asyncio.gather(*(step(session) for session in players))
        seen.cpu_s = time.process_time() - cpu_s
    return seen


async def drive_in_child(address: str, sessions: int, duration_s: float) -> Seen:
    """Drive from a process of its own, so that the clients have a core of theirs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.load", "--drive", address),
        *("--sessions", str(sessions), "--duration-s", str(duration_s)),
        stdin=PIPE,
        stdout=PIPE,
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"error: a client process ended with code {process.returncode}")
    return Seen(**json.loads(output))


async def measure(sessions: int, step_s: float, duration_s: float, processes: int) -> LoadFigures:
    """Run service and clients, and return what they managed."""
    shares = [sessions // processes + (number < sessions % processes) for number in range(processes)]
    async with slow_service(sessions, step_s) as (address, service):
        cpu_s = used_s(service)
        parts = await asyncio.gather(*(drive_in_child(address, share, duration_s) for share in shares))
        cpu_s = used_s(service) - cpu_s
    steps: Sequence[float] = [each for part in parts for each in part.step_s]
    for problem in {problem for part in parts for problem in part.problems}:
        print(f"lost: {problem}", file=sys.stderr)
    all_steps = len(steps) * (duration_s + WARM_UP_S) / duration_s
    return LoadFigures(
        steps_per_s_over_ideal=round(len(steps) / duration_s / (sessions / step_s), 4),
        p99_ms=percentile_ms(steps, 0.99),
        lost=sum(part.lost for part in parts),
        sessions=sessions,
        steps_per_s=round(len(steps) / duration_s, 1),
        p50_ms=percentile_ms(steps, 0.5),
        service_cpu_ms=round(1000 * cpu_s / all_steps, 3),
        client_cpu_ms=round(1000 * sum(part.cpu_s for part in parts) / all_steps, 3),
    )


def used_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def show(figures: LoadFigures) -> None:
    from rich.console import Console

    Console(highlight=False).print(
        f"{figures.sessions} sessions: {figures.steps_per_s:.0f} steps/s, {figures.steps_per_s_over_ideal:.1%} of the "
        f"ideal; p50 {figures.p50_ms:.0f} ms, p99 {figures.p99_ms:.0f} ms; {figures.lost} lost\n"
        f"CPU a step: service {figures.service_cpu_ms:.2f} ms, clients {figures.client_cpu_ms:.2f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--sessions", type=int, default=512)
    parser.add_argument("--step-s", type=float, default=0.2, help="how long a phone takes for a step")
    parser.add_argument("--duration-s", type=float, default=20.0)
    parser.add_argument("--processes", type=int, default=1, help="that the clients are spread over")
    parser.add_argument("--drive", default="", metavar="ADDRESS", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drive:
        seen = run(drive(arguments.drive, arguments.sessions, arguments.duration_s))
        print(json.dumps(asdict(seen)))
        return
    figures = run(measure(arguments.sessions, arguments.step_s, arguments.duration_s, arguments.processes))
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        show(figures)


if __name__ == "__main__":
    main()
