"""What a reset costs its client when spare phones are warm, and whether thousands of them leave a trace.

    python -m benchmarks.pool [--json] [--transport docker|adb|direct] [--soak]

What is measured stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

import psutil

from benchmarks.figures import Spread, spread
from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.api.types import SessionOptions, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.trainer.run.local_service import ServiceConfig, local_service

SUITE = "phone"
HOME = ToolCall(id="0", name="phone", arguments={"action": "key", "key": "HOME"})
SOAK_RESETS = 20_000
RESETS = 400
WARM_UP_SHARE = 0.1
"""Of the resets, after which the first look at memory, handles and threads is taken: caches have filled by then."""

Transport = Literal["docker", "adb", "direct"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Resources:
    """What a process holds."""

    memory_mb: float
    handles: int
    threads: int

    @classmethod
    def of(cls, process: psutil.Process) -> Resources:
        return cls(
            memory_mb=round(process.memory_info().rss / 1e6, 1),
            handles=process.num_fds(),
            threads=process.num_threads(),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolFigures:
    reset_ms: Spread
    """A whole call of Reset: phone leased, task set up, first observation with JPEG and UI tree."""
    resets: int
    transport: Transport
    clients: int
    memory_growth: float
    """Of the service's process, from the end of the warm-up to the end; 0.05 is 5 %."""
    handle_growth: int
    thread_growth: int
    before: Resources
    after: Resources
    replaced: int
    """Phones that failed on the way; none should."""
    lost: int
    """Episodes that failed on the way, as infrastructure; none should."""
    wall_s: float


@dataclass(slots=True)
class Run:
    """The resets so far."""

    wanted: int
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    done: int = 0
    lost: int = 0
    reset_s: list[float] = field(default_factory=list)
    before: Resources | None = None


async def play(client: EnvClient, names: list[str], run: Run, service: psutil.Process) -> None:
    """Reset, act once, close, at once again."""
    options = SessionOptions(with_tree=True)
    while (number := next(run.numbers)) < run.wanted:
        session = client.session(names[number % len(names)], seed=number // len(names) % 50, options=options)
        started_s = time.perf_counter()
        try:
            async with session:
                run.reset_s.append(time.perf_counter() - started_s)
                await session.step([HOME])
        except InfrastructureError as error:
            run.lost += 1
            print(f"lost: {error}", file=sys.stderr)
        run.done += 1
        if run.before is None and run.done >= run.wanted * WARM_UP_SHARE:
            run.before = Resources.of(service)
            run.reset_s.clear()
        if run.done % 1000 == 0:
            print(f"{run.done} resets, {Resources.of(service)}", file=sys.stderr)


async def measure(
    transport: Transport, *, clients: int, spares: int, size: tuple[int, int], resets: int
) -> PoolFigures:
    """Reset again and again, and return what it cost."""
    started_s = time.monotonic()
    config = ServiceConfig(phones=clients, spares=spares, transport=transport, width_px=size[0], height_px=size[1])
    async with local_service(config) as service, EnvClient(service.address) as client:
        process = psutil.Process(service.pid)
        names = [task.name for task in await client.list_tasks(suite=SUITE, split="train")]
        run = Run(wanted=resets)
        await asyncio.gather(*(play(client, names, run, process) for _ in range(clients)))
        after = Resources.of(process)
        replaced = sum(phone.failures for phone in (await client.status()).phones)
    before = run.before or after
    return PoolFigures(
        reset_ms=spread(run.reset_s),
        resets=run.done,
        transport=transport,
        clients=clients,
        memory_growth=round(after.memory_mb / before.memory_mb - 1, 4),
        handle_growth=after.handles - before.handles,
        thread_growth=after.threads - before.threads,
        before=before,
        after=after,
        replaced=replaced,
        lost=run.lost,
        wall_s=round(time.monotonic() - started_s, 1),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pool", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--transport", choices=get_args(Transport), default="docker", help="what the phones run in")
    parser.add_argument("--clients", type=int, default=2, help="that reset side by side, each with a phone")
    parser.add_argument("--spares", type=int, default=2, help="phones kept warm beside them")
    parser.add_argument("--size", default="1080x2400", metavar="WIDTHxHEIGHT")
    parser.add_argument("--soak", action="store_true", help=f"{SOAK_RESETS} resets instead of {RESETS}")
    parser.add_argument("--resets", type=int, default=0, help="another number of resets")
    arguments = parser.parse_args()
    width_px, height_px = (int(side) for side in arguments.size.split("x"))
    figures = asyncio.run(
        measure(
            arguments.transport,
            clients=arguments.clients,
            spares=arguments.spares,
            size=(width_px, height_px),
            resets=arguments.resets or (SOAK_RESETS if arguments.soak else RESETS),
        )
    )
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        print(
            f"reset p50 {figures.reset_ms.p50:.1f} ms, p99 {figures.reset_ms.p99:.1f} ms "
            f"over {figures.resets} resets; "
            f"memory {figures.memory_growth:+.1%}, handles {figures.handle_growth:+d}, "
            f"threads {figures.thread_growth:+d}"
        )


if __name__ == "__main__":
    main()
