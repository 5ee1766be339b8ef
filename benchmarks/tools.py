"""What the tool executor makes of slow, hanging and failing tools: `python -m benchmarks.tools [--json]`.

Sessions play turns of one call each against one service's runtime; latencies are drawn with a heavy tail, some calls
hang and some fail. What is measured, and against what, stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rlfactory.envs.api.types import JSON, ToolCall, ToolResult, ToolSchema, ToolStatus
from rlfactory.envs.tools.runtime.executor import Executor
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.runtime.runtime import RuntimeConfig, ToolRuntime
from rlfactory.envs.tools.tool import CallContext, Tool, ToolContext, ToolError

MEDIAN_S = 0.05
TAIL = 1.2
"""Sigma of the log-normal latency: its mean is about twice its median, one call in a hundred takes 16 times as long."""
HANGS = 0.05
FAILS = 0.02
NOOP_BATCH = 32
"""No-op calls in one step: as many as a step may hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    calls: int = 2_000
    sessions: int = 125
    concurrency: int = 64
    deadline_s: float = 1.0
    """Of one call: when a hang is ended."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """What one call will do."""

    latency_s: float
    """math.inf: it hangs."""
    fails: bool

    def duration_s(self, deadline_s: float) -> float:
        return min(self.latency_s, deadline_s)

    def status(self, deadline_s: float) -> ToolStatus:
        if self.latency_s >= deadline_s:
            return ToolStatus.TIMEOUT
        return ToolStatus.ERROR if self.fails else ToolStatus.OK


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolFigures:
    """Seconds are of the clock on the wall."""

    makespan_over_ideal: float
    """Time for all calls, over that of the ideal schedule: no overhead, and no place idle while a call is due."""
    makespan_over_bound: float
    """The same over what no schedule can beat: all work spread evenly, or the longest session."""
    speedup_sequential: float
    """A caller that waits for each call before the next, over ours."""
    speedup_barrier: float
    """A caller of the same concurrency that waits for a turn's slowest call before the next turn, over ours."""
    noop_calls_per_s: float
    """Calls that do nothing, for each second of CPU time."""
    makespan_s: float
    ideal_s: float
    barrier_s: float
    sequential_s: float
    hangs: int
    hang_overrun_ms: float
    """The most that a hung call went on beyond its deadline."""
    wrong: int
    """Results that are not those of their call, or not in call order."""
    calls: int


class DrawnTool(Tool):
    """Takes the time that is drawn for the call, and ends as it is drawn to."""

    schema = ToolSchema(name="drawn", description="", parameters={"type": "object"})

    def __init__(self, drawn: Sequence[Drawn], deadline_s: float) -> None:
        self.policy = ToolPolicy(timeout_s=deadline_s)
        self._drawn = drawn

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        number = arguments["number"]
        assert isinstance(number, int)
        each = self._drawn[number]
        if math.isinf(each.latency_s):
            await asyncio.Event().wait()
        await asyncio.sleep(each.latency_s)
        if each.fails:
            raise ToolError(f"failed {number}")
        return f"answer {number}"

    def fork(self, context: ToolContext) -> DrawnTool:
        return self


class NoopTool(Tool):
    schema = ToolSchema(name="noop", description="", parameters={"type": "object"})

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        return ""

    def fork(self, context: ToolContext) -> NoopTool:
        return self


def draw(load: Load) -> list[Drawn]:
    """Return what each call will do: exactly the shares of hangs and failures, in random order."""
    rng = random.Random(load.seed)
    hangs, fails = round(HANGS * load.calls), round(FAILS * load.calls)
    drawn = [
        Drawn(
            latency_s=math.inf if index < hangs else rng.lognormvariate(math.log(MEDIAN_S), TAIL),
            fails=hangs <= index < hangs + fails,
        )
        for index in range(load.calls)
    ]
    rng.shuffle(drawn)
    return drawn


def turns_of(load: Load) -> list[list[int]]:
    """Return the calls' numbers, turn by turn for each session: call i is of session i mod sessions."""
    return [list(range(session, load.calls, load.sessions)) for session in range(load.sessions)]


def ideal_s(load: Load, drawn: Sequence[Drawn]) -> float:
    """Return the makespan of a list schedule: a session is due again when its call has ended; first due, first in."""
    due: list[tuple[float, int]] = [(0.0, session) for session in range(load.sessions)]
    turns = [iter(numbers) for numbers in turns_of(load)]
    places = [0.0] * load.concurrency
    end_s = 0.0
    while due:
        due_s, session = heapq.heappop(due)
        number = next(turns[session], None)
        if number is None:
            continue
        done_s = max(due_s, heapq.heappop(places)) + drawn[number].duration_s(load.deadline_s)
        heapq.heappush(places, done_s)
        heapq.heappush(due, (done_s, session))
        end_s = max(end_s, done_s)
    return end_s


def bound_s(load: Load, drawn: Sequence[Drawn]) -> float:
    """Return what no schedule can beat."""
    durations = [each.duration_s(load.deadline_s) for each in drawn]
    longest = max(sum(durations[number] for number in numbers) for numbers in turns_of(load))
    return max(sum(durations) / load.concurrency, longest)


class Run:
    """The executor of one service, with as many sessions as the load has."""

    def __init__(self, load: Load, drawn: Sequence[Drawn], runtime: ToolRuntime) -> None:
        self.load = load
        self.results: dict[int, ToolResult] = {}
        tool = DrawnTool(drawn, load.deadline_s)
        self._executors = [
            Executor({"drawn": tool}, max_output_chars=1000, runtime=runtime) for _ in range(load.sessions)
        ]

    async def turn(self, session: int, number: int) -> None:
        call = ToolCall(id=str(number), name="drawn", arguments={"number": number})
        (self.results[number],) = await self._executors[session].run([call], timeout_s=3600)

    async def free(self) -> float:
        """Play every session at its own pace; return the seconds it took."""

        async def session(index: int, numbers: Sequence[int]) -> None:
            for number in numbers:
                await self.turn(index, number)

        started = time.perf_counter()
        await asyncio.gather(*(session(*each) for each in enumerate(turns_of(self.load))))
        return time.perf_counter() - started

    async def in_step(self) -> float:
        """Play turn by turn, all sessions waiting for the slowest; return the seconds it took."""
        started = time.perf_counter()
        for first in range(0, self.load.calls, self.load.sessions):
            numbers = range(first, min(first + self.load.sessions, self.load.calls))
            await asyncio.gather(*(self.turn(number - first, number) for number in numbers))
        return time.perf_counter() - started

    def wrong(self, drawn: Sequence[Drawn]) -> int:
        """Return how many results are not what their call was drawn to be."""
        texts = {ToolStatus.OK: "answer {}", ToolStatus.ERROR: "failed {}"}
        mistakes = 0
        for number, each in enumerate(drawn):
            result = self.results[number]
            expected = each.status(self.load.deadline_s)
            text = texts.get(expected, "").format(number)
            near = abs(each.latency_s - self.load.deadline_s) < 0.1 * self.load.deadline_s  # could go either way
            mistakes += result.call_id != str(number) or (result.status is not expected and not near)
            mistakes += result.status is expected and bool(text) and result.text != text
        return mistakes


async def order_kept(load: Load, drawn: Sequence[Drawn], runtime: ToolRuntime) -> int:
    """Return how many results of steps with many calls are out of call order."""
    executor = Executor({"drawn": DrawnTool(drawn, load.deadline_s)}, max_output_chars=1000, runtime=runtime)
    numbers = range(min(2 * NOOP_BATCH, load.calls))
    calls = [ToolCall(id=str(number), name="drawn", arguments={"number": number}) for number in numbers]
    results = await executor.run(calls, timeout_s=3600)
    return sum(result.call_id != str(number) for number, result in zip(numbers, results, strict=True))


async def noop_calls_per_s(runtime: ToolRuntime, calls: int) -> float:
    """Return how many calls that do nothing one core carries out, by CPU time."""
    executor = Executor({"noop": NoopTool()}, max_output_chars=1000, runtime=runtime)
    batch = [ToolCall(id=str(index), name="noop", arguments={}) for index in range(NOOP_BATCH)]
    await executor.run(batch, timeout_s=60)
    started = time.process_time()
    for _ in range(calls // NOOP_BATCH):
        await executor.run(batch, timeout_s=60)
    return calls // NOOP_BATCH * NOOP_BATCH / (time.process_time() - started)


async def measure(load: Load, *, noop_calls: int = 20_000) -> ToolFigures:
    drawn = draw(load)
    config = RuntimeConfig(concurrency=load.concurrency)
    async with ToolRuntime(config) as runtime:
        noop = await noop_calls_per_s(runtime, noop_calls)
        out_of_order = await order_kept(load, drawn, runtime)
        ours, theirs = Run(load, drawn, runtime), Run(load, drawn, runtime)
        makespan_s = await ours.free()
        barrier_s = await theirs.in_step()
    durations = [each.duration_s(load.deadline_s) for each in drawn]
    hung = await _overruns(load, drawn)
    ideal = ideal_s(load, drawn)
    return ToolFigures(
        makespan_over_ideal=round(makespan_s / ideal, 4),
        makespan_over_bound=round(makespan_s / bound_s(load, drawn), 4),
        speedup_sequential=round(sum(durations) / makespan_s, 2),
        speedup_barrier=round(barrier_s / makespan_s, 2),
        noop_calls_per_s=round(noop),
        makespan_s=round(makespan_s, 3),
        ideal_s=round(ideal, 3),
        barrier_s=round(barrier_s, 3),
        sequential_s=round(sum(durations), 1),
        hangs=sum(math.isinf(each.latency_s) for each in drawn),
        hang_overrun_ms=round(1000 * hung, 1),
        wrong=out_of_order + ours.wrong(drawn) + theirs.wrong(drawn),
        calls=load.calls,
    )


async def _overruns(load: Load, drawn: Sequence[Drawn]) -> float:
    """Return how far beyond its deadline the slowest hung call ended, all of them running at once."""
    numbers = [number for number, each in enumerate(drawn) if math.isinf(each.latency_s)]
    async with ToolRuntime(RuntimeConfig(concurrency=len(numbers))) as runtime:
        run = Run(load, drawn, runtime)
        await asyncio.gather(*(run.turn(0, number) for number in numbers))
    return max(run.results[number].duration_s for number in numbers) - load.deadline_s


def show(figures: ToolFigures) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Tool executor, {figures.calls} calls", title_justify="left", show_header=False, box=None)
    rows = (
        ("makespan", f"{figures.makespan_s:.2f} s"),
        ("  over the ideal schedule", f"{figures.makespan_over_ideal:.3f}"),
        ("  over what no schedule beats", f"{figures.makespan_over_bound:.3f}"),
        ("quicker than one at a time", f"{figures.speedup_sequential:.1f} x"),
        ("quicker than a barrier a turn", f"{figures.speedup_barrier:.2f} x"),
        ("hangs; latest end past deadline", f"{figures.hangs}; {figures.hang_overrun_ms:.1f} ms"),
        ("wrong or out of order", f"{figures.wrong}"),
        ("calls that do nothing", f"{figures.noop_calls_per_s:.0f} a CPU second"),
    )
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)


def main() -> None:
    usual = Load()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tools", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--calls", type=int, default=usual.calls)
    parser.add_argument("--sessions", type=int, default=usual.sessions, help="who take turns; each waits for its own")
    parser.add_argument("--concurrency", type=int, default=usual.concurrency)
    parser.add_argument("--deadline", type=float, default=usual.deadline_s, help="seconds until a hang is ended")
    parser.add_argument("--seed", type=int, default=usual.seed)
    asked = parser.parse_args()
    load = Load(
        calls=asked.calls,
        sessions=asked.sessions,
        concurrency=asked.concurrency,
        deadline_s=asked.deadline,
        seed=asked.seed,
    )
    figures = asyncio.run(measure(load))
    if asked.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        show(figures)


if __name__ == "__main__":
    main()
