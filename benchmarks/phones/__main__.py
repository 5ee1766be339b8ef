"""How quick and how light simulated phones are: `python -m benchmarks.phones [--json]`.

What is measured, and how, stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil

from benchmarks.figures import Spread, spread
from benchmarks.phones.crowd import crowd
from benchmarks.phones.floor import FloorFigures, cpu_s, floor, unchanged_steps_per_s
from benchmarks.phones.process import PhoneFigures
from rlfactory.envs.api.session import PlayableSession, SessionWrapper
from rlfactory.envs.api.types import Observation, SessionOptions, StepResult, StepTiming, ToolCall
from rlfactory.envs.client import EnvClient, Session
from rlfactory.envs.client.oracle import OracleStuck, solve
from rlfactory.trainer.run.local_service import LocalService, ServiceConfig, local_service

SIZES = ("1080x2400", "540x1200")
SUITE = "phone"
WARM_UP_EPISODES = 4
CONCURRENCY = 4
THOUSAND, PROCESSES = 1_000, 16
TRAINED_PIXELS = 524_288
"""Of a picture, as training asks for them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SizeFigures:
    """What one size of screen costs. Milliseconds are medians unless a spread is given."""

    step_ms: Spread
    """One call of Step, seen by the client: act, settle, observe with JPEG and UI tree, judge, wire."""
    steps_per_s_core: float
    """Steps of 4 clients at a time for each second of the server's CPU time, resets and verdicts included."""
    reset_ms: float
    """A phone back to its golden state, state hash verified."""
    fork_ms: float
    """A second phone brought to the state of the first."""
    start_ms: float
    """A further phone in a process that has one."""
    mb_per_phone: float
    """Growth of a process by 16 phones in use, shared caches included, over 16."""
    steps: int
    new_screens: float
    """Share of steps whose picture no session had shown before: no cache can have served them."""
    server_ms: dict[str, float]
    """Means of a step, as the server tells them."""
    reset_call_ms: Spread
    """Reset over gRPC: a free phone leased, the task set up, first observation with JPEG and UI tree."""
    fork_call_ms: Spread
    """Fork over gRPC into one session."""
    first_start_ms: float
    """The first phone of a process: it builds the image that the others share."""
    trained_steps_per_s_core: float
    """As `steps_per_s_core`, with the pixel budget of training."""
    unchanged_steps_per_s: float
    """Steps that change nothing, of one client, for each second of the server's CPU time."""
    floor: FloorFigures


@dataclass(slots=True)
class Samples:
    """What was seen while episodes were played."""

    step_s: list[float] = field(default_factory=list)
    reset_s: list[float] = field(default_factory=list)
    fork_s: list[float] = field(default_factory=list)
    timings: list[StepTiming] = field(default_factory=list)
    digests: set[str] = field(default_factory=set)
    new_screens: int = 0

    def see(self, observation: Observation) -> None:
        if observation.image is not None and observation.image.digest not in self.digests:
            self.digests.add(observation.image.digest)
            self.new_screens += 1


class TimedSession(SessionWrapper[PlayableSession]):
    """A session whose steps are timed; an oracle plays on it."""

    def __init__(self, session: Session, samples: Samples) -> None:
        super().__init__(session)
        self._samples = samples

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        started_s = time.perf_counter()
        result = await super().step(calls, timeout_s=timeout_s)
        self._samples.step_s.append(time.perf_counter() - started_s)
        self._samples.timings.append(result.timing)
        self._samples.see(result.observation)
        return result


async def play(
    client: EnvClient, task: str, seed: int, samples: Samples, *, fork: bool, max_pixels: int | None = None
) -> None:
    """Play one episode by its oracle, timing its calls."""
    options = SessionOptions(with_tree=True, max_pixels=max_pixels)
    session = client.session(task, seed=seed, split="train", options=options)
    started_s = time.perf_counter()
    async with session:
        samples.reset_s.append(time.perf_counter() - started_s)
        samples.see(session.observation)
        try:
            await solve(TimedSession(session, samples), task=task, seed=seed, split="train")
        except OracleStuck as error:
            raise RuntimeError(f"the oracle of {task} (seed {seed}) is stuck: {error}") from error
    if not fork:
        return
    async with client.session(task, seed=seed, options=SessionOptions(with_tree=True)) as parent:
        started_s = time.perf_counter()
        (child,) = await parent.fork(1)
        samples.fork_s.append(time.perf_counter() - started_s)
        await child.aclose()


async def measure_calls(service: LocalService, episodes: int) -> tuple[Samples, float, float]:
    """Return the samples of a single client, and steps per CPU second under several: full size, then as training."""
    async with EnvClient(service.address) as client:
        names = [task.name for task in await client.list_tasks(suite=SUITE, split="train")]
        jobs = [(names[index % len(names)], index // len(names)) for index in range(episodes + WARM_UP_EPISODES)]
        for task, seed in jobs[episodes:]:
            await play(client, task, 10_000 + seed, Samples(), fork=False)
        alone = Samples()
        for task, seed in jobs[:episodes]:
            await play(client, task, seed, alone, fork=True)
        several = [(task, 20_000 + seed) for task, seed in jobs[:episodes]]
        whole = await steps_per_s_core(client, several, service.pid)
        trained = await steps_per_s_core(client, several, service.pid, max_pixels=TRAINED_PIXELS)
        return alone, whole, trained


async def steps_per_s_core(
    client: EnvClient, jobs: Sequence[tuple[str, int]], pid: int, *, max_pixels: int | None = None
) -> float:
    """Return steps of several clients for each second of the server's CPU time."""
    server, together, waiting = psutil.Process(pid), Samples(), iter(jobs)
    before_s = cpu_s(server)

    async def worker() -> None:
        for task, seed in waiting:
            await play(client, task, seed, together, fork=False, max_pixels=max_pixels)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    return round(len(together.step_s) / (cpu_s(server) - before_s), 1)


async def measure(size: str, episodes: int) -> SizeFigures:
    """Return the figures of one size, WIDTHxHEIGHT."""
    width_px, height_px = (int(side) for side in size.split("x"))
    config = ServiceConfig(phones=CONCURRENCY + 2, width_px=width_px, height_px=height_px)
    async with local_service(config) as service:
        samples, whole, trained = await measure_calls(service, episodes)
        over = await floor(service.address, width_px, height_px)
        still = await unchanged_steps_per_s(service.address, service.pid)
    phone = phone_figures(width_px, height_px)
    parts = ("act_s", "settle_s", "observe_s", "judge_s", "total_s")
    count = len(samples.timings)
    return SizeFigures(
        step_ms=spread(samples.step_s),
        steps_per_s_core=whole,
        reset_ms=phone.reset_ms,
        fork_ms=phone.fork_ms,
        start_ms=phone.start_ms,
        mb_per_phone=phone.mb_per_phone,
        steps=count,
        new_screens=round(samples.new_screens / max(1, count + len(samples.reset_s)), 3),
        server_ms={
            part.removesuffix("_s"): round(1000 * sum(getattr(each, part) for each in samples.timings) / count, 2)
            for part in parts
        },
        reset_call_ms=spread(samples.reset_s),
        fork_call_ms=spread(samples.fork_s),
        first_start_ms=phone.first_start_ms,
        trained_steps_per_s_core=trained,
        unchanged_steps_per_s=still,
        floor=over,
    )


def phone_figures(width_px: int, height_px: int) -> PhoneFigures:
    """Return what phones cost in a fresh process, where nothing else has grown the heap."""
    command = [sys.executable, "-m", "benchmarks.phones.process", str(width_px), str(height_px)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: {' '.join(command[1:])} failed:\n{done.stderr}")
    return PhoneFigures(**json.loads(done.stdout))


def show(figures: dict[str, SizeFigures]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Simulated phones", title_justify="left", header_style="bold")
    table.add_column("")
    for size in figures:
        table.add_column(size, justify="right")

    def row(name: str, value: Any) -> None:
        table.add_row(name, *(value(each) for each in figures.values()))

    row("step p50 / p99", lambda each: f"{each.step_ms.p50:.1f} / {each.step_ms.p99:.1f} ms")
    for part in ("act", "settle", "observe", "judge"):
        row(f"  {part}, mean", lambda each, part=part: f"{each.server_ms[part]:.1f} ms")
    row("steps a CPU second", lambda each: f"{each.steps_per_s_core:.0f}")
    row("  as in training", lambda each: f"{each.trained_steps_per_s_core:.0f}")
    row("  nothing changes", lambda each: f"{each.unchanged_steps_per_s:.0f}")
    row("over the floor", lambda each: f"{each.floor.over_floor:.2f} of {each.floor.floor_ms.p50:.1f} ms")
    row("new screens", lambda each: f"{each.new_screens * 100:.0f} % of {each.steps}")
    row("reset; whole call", lambda each: f"{each.reset_ms:.1f}; {each.reset_call_ms.p50:.1f} ms")
    row("fork; whole call", lambda each: f"{each.fork_ms:.1f}; {each.fork_call_ms.p50:.1f} ms")
    row("start; the first", lambda each: f"{each.start_ms:.1f}; {each.first_start_ms:.0f} ms")
    row("memory a phone", lambda each: f"{each.mb_per_phone:.1f} MB")
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.phones", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="WIDTHxHEIGHT")
    parser.add_argument("--episodes", type=int, default=60, help="played by one client, and again by several")
    parser.add_argument("--thousand", action="store_true", help="only start 1,000 phones in 16 processes")
    arguments = parser.parse_args()
    if arguments.thousand:
        answered, megabytes = asyncio.run(crowd(THOUSAND, PROCESSES))
        print(json.dumps({"thousand_answered": answered, "thousand_mb": megabytes}))
        return
    figures = {size: asyncio.run(measure(size, arguments.episodes)) for size in arguments.sizes}
    if arguments.json:
        print(json.dumps({size: asdict(each) for size, each in figures.items()}, indent=2))
    else:
        show(figures)


if __name__ == "__main__":
    main()
