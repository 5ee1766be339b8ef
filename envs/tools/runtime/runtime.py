"""Carries out single calls for all sessions of a service, as each tool's policy asks.

A call passes, from the outside in: cache and single flight (pure tools), circuit breaker, attempts (idempotent tools),
hedging (pure tools), places, deadline. One whose policy asks for none of these goes straight to its place. What comes
out is a status and words for the model; only failures of what the tools stand on are exceptions.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final, Self

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import ToolCall, ToolStatus
from rlfactory.envs.tools.runtime.breaker import CircuitBreaker
from rlfactory.envs.tools.runtime.cache import ResultCache, cache_key
from rlfactory.envs.tools.runtime.metrics import ToolMeter, ToolMetrics
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolError

MAX_CACHED_CHARS: Final = 1_000_000
NO_TIME: Final = "not run: the time for this turn was used up by the calls before it"

Ended = tuple[ToolStatus, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeConfig:
    """Bounds of one service."""

    concurrency: int = 1024
    """Calls that run at once, over all sessions and tools."""
    cancel_grace_s: float = 1.0
    """What a cancelled call may take to clean up; then it is left behind, and counted as abandoned."""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {self.concurrency}")
        if self.cancel_grace_s < 0:
            raise ValueError(f"cancel_grace_s must not be below 0, got {self.cancel_grace_s}")


class _NoPlace(Exception):
    """No place became free in time."""


@dataclass(slots=True)
class _Job:
    """One call on its way."""

    tool: Tool
    call: ToolCall
    meter: ToolMeter
    deadline_s: float
    """Monotonic. Of the step at first; the tool's own timeout may bring it forward once the call has a place."""
    placed: bool = False

    def left_s(self) -> float:
        return self.deadline_s - time.monotonic()


@dataclass(slots=True)
class _Flight:
    """One run that equal calls share."""

    task: asyncio.Task[Ended]
    waiters: int = 0


class ToolRuntime:
    """What the sessions of one service share: places, cache, breakers, figures. An async context manager."""

    def __init__(
        self,
        config: RuntimeConfig | None = None,
        *,
        cache: ResultCache | None = None,
        metrics: ToolMetrics | None = None,
    ) -> None:
        self.config = config or RuntimeConfig()
        self.cache = cache or ResultCache()
        self.metrics = metrics or ToolMetrics()
        self._total = asyncio.Semaphore(self.config.concurrency)
        self._own_places: dict[str, asyncio.Semaphore] = {}
        self._breakers: dict[str, CircuitBreaker] = {}
        self._flights: dict[str, _Flight] = {}
        self._ending: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        await self.cache.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [*(flight.task for flight in self._flights.values()), *self._ending]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=self.config.cancel_grace_s)
        await self.cache.__aexit__(None, None, None)

    async def run(self, tool: Tool, call: ToolCall, timeout_s: float) -> Ended:
        """Carry out one call within `timeout_s`; waiting for a place counts.

        Raises: DeviceError, RLFactoryError: what the tool stands on failed.
        """
        started = time.monotonic()
        meter = self.metrics.meters.get(call.name) or self.metrics.of(call.name)
        status = ToolStatus.CANCELLED
        try:
            if timeout_s <= 0:
                status, text = ToolStatus.TIMEOUT, NO_TIME
            elif tool.policy.plain:
                status, text = await self._attempt(_Job(tool, call, meter, started + timeout_s))
            elif tool.policy.pure:
                status, text = await self._shared(tool, call, meter, timeout_s)
            else:
                status, text = await self._guarded(_Job(tool, call, meter, started + timeout_s))
        except (DeviceError, RLFactoryError):
            status = ToolStatus.ERROR
            raise
        finally:
            meter.statuses[status].inc()
            meter.seconds.observe(time.monotonic() - started)
        return status, text

    # --- pure tools --------------------------------------------------------------------------------------------------

    async def _shared(self, tool: Tool, call: ToolCall, meter: ToolMeter, timeout_s: float) -> Ended:
        """Answer from the cache, or by a run that equal calls share."""
        key = cache_key(call.name, tool.policy.version, tool.identity, call.arguments)
        text = self.cache.in_memory(key)
        if text is not None:
            meter.count("cached")
            return ToolStatus.OK, text
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(self._fly(key, tool, call, meter)))
            flight.task.add_done_callback(lambda task: self._landed(key, task))
        else:
            meter.count("joined")
        flight.waiters += 1
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(flight.task)
        except TimeoutError:
            return ToolStatus.TIMEOUT, late(timeout_s)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                self._flights.pop(key, None)
                self._end_later(flight.task)

    async def _fly(self, key: str, tool: Tool, call: ToolCall, meter: ToolMeter) -> Ended:
        """Run for as long as anybody waits; keep a good answer."""
        ttl_s = tool.policy.cache_ttl_s
        if ttl_s is not None:
            text = await self.cache.get(key)
            if text is not None:
                meter.count("cached")
                return ToolStatus.OK, text
        status, text = await self._guarded(_Job(tool, call, meter, float("inf")))
        if status is ToolStatus.OK and ttl_s is not None and len(text) <= MAX_CACHED_CHARS:
            await self.cache.put(key, text, ttl_s=ttl_s)
        return status, text

    def _landed(self, key: str, task: asyncio.Task[Ended]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
        _retrieve(task)

    # --- breaker, attempts, hedging ----------------------------------------------------------------------------------

    async def _guarded(self, job: _Job) -> Ended:
        breaker = self._breaker(job)
        if breaker is None:
            return await self._attempts(job)
        wait_s = breaker.admit()
        if wait_s is not None:
            times = f"{breaker.in_a_row} time{'s' if breaker.in_a_row != 1 else ''} in a row"
            return (
                ToolStatus.ERROR,
                f"not run: {job.call.name} failed {times}; it is tried again in {wait_s:.0f} seconds",
            )
        told = False
        try:
            status, text = await self._attempts(job)
            if status is ToolStatus.OK:
                breaker.succeeded()
                told = True
            elif status in (ToolStatus.ERROR, ToolStatus.TIMEOUT):
                if breaker.failed():
                    job.meter.count("breaker_opened")
                told = True
        finally:
            if not told:
                breaker.left()
        return status, text

    def _breaker(self, job: _Job) -> CircuitBreaker | None:
        policy = job.tool.policy
        if policy.breaker_failures is None:
            return None
        breaker = self._breakers.get(job.call.name)
        if breaker is None:
            breaker = CircuitBreaker(failures=policy.breaker_failures, rest_s=policy.breaker_rest_s)
            self._breakers[job.call.name] = breaker
        return breaker

    async def _attempts(self, job: _Job) -> Ended:
        """Run the call, again after a failure where that is harmless and there is time."""
        policy = job.tool.policy
        backoff_s = policy.backoff_s
        for attempt in range(1, policy.attempts + 1):
            ended = await self._hedged(job)
            if ended[0] not in (ToolStatus.ERROR, ToolStatus.TIMEOUT) or attempt == policy.attempts:
                return ended
            if job.left_s() <= backoff_s:
                return ended
            job.meter.count("retried")
            await asyncio.sleep(backoff_s)
            backoff_s *= 2
        raise AssertionError("attempts is at least 1")

    async def _hedged(self, job: _Job) -> Ended:
        """Run one attempt; when it is slow, a second one beside it. A failure counts only when both have failed."""
        after_s = job.tool.policy.hedge_after_s
        if after_s is None or after_s >= job.left_s():
            return await self._attempt(job)
        running = {asyncio.create_task(self._attempt(job))}
        ended: Ended | None = None
        try:
            done, _ = await asyncio.wait(running, timeout=after_s)
            if not done:
                job.meter.count("hedged")
                running.add(asyncio.create_task(self._attempt(job)))
            while running:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    ended = task.result()
                    if ended[0] is ToolStatus.OK:
                        return ended
        finally:
            for task in running:
                self._end_later(task)
        assert ended is not None
        return ended

    # --- one attempt -------------------------------------------------------------------------------------------------

    async def _attempt(self, job: _Job) -> Ended:
        """Run once: in a place of the tool's own, if it has such, and in one of the total."""
        policy, meter = job.tool.policy, job.meter
        places = self._places(job.call.name, policy) if policy.concurrency is not None else ()
        if policy.counted:
            places = (*places, self._total)
        held: list[asyncio.Semaphore] = []
        waiting_s = time.monotonic()
        try:
            for place in places:
                if place.locked():
                    await _wait_for(place, meter, job.deadline_s)
                else:
                    await place.acquire()  # without suspending
                held.append(place)
            now_s = time.monotonic()
            if not job.placed and policy.timeout_s is not None:  # the tool's own timeout counts from its first place on
                job.deadline_s = min(job.deadline_s, now_s + policy.timeout_s)
            job.placed = True
            meter.running += 1
            try:
                return await self._outcome(job, min(job.deadline_s - now_s, policy.attempt_timeout_s or float("inf")))
            finally:
                meter.running -= 1
        except _NoPlace:
            waited_s = time.monotonic() - waiting_s
            return ToolStatus.TIMEOUT, f"not run: no place became free within {waited_s:.1f} seconds"
        finally:
            for place in reversed(held):
                place.release()

    async def _outcome(self, job: _Job, timeout_s: float) -> Ended:
        """Call the tool; one that may not keep its deadline in a task of its own, so that it holds nobody up."""
        tool = job.tool
        work, task = tool.call(job.call.arguments, CallContext(timeout_s=timeout_s)), None
        try:
            if tool.keeps_deadline:
                return ToolStatus.OK, await work
            task = asyncio.create_task(work)
            done, _ = await asyncio.wait((task,), timeout=timeout_s if timeout_s < float("inf") else None)
            if not done:
                return ToolStatus.TIMEOUT, late(timeout_s)
            if task.cancelled():
                return ToolStatus.ERROR, "the tool failed: it cancelled itself"
            return ToolStatus.OK, task.result()
        except Exception as error:  # noqa: BLE001 - a tool's bug is that tool's failure; the model is told, as of any other
            return _told(error)
        finally:
            if task is not None and not task.done():
                await self._end(task, job.meter)

    def _places(self, tool: str, policy: ToolPolicy) -> tuple[asyncio.Semaphore, ...]:
        """Return the tool's own places, which are taken first: a slow tool cannot take all of the total."""
        assert policy.concurrency is not None
        if tool not in self._own_places:
            self._own_places[tool] = asyncio.Semaphore(policy.concurrency)
        return (self._own_places[tool],)

    async def _end(self, task: asyncio.Task[Any], meter: ToolMeter) -> None:
        """Cancel, and give the task a moment to clean up."""
        task.add_done_callback(_retrieve)
        task.cancel()
        done, _ = await asyncio.wait((task,), timeout=self.config.cancel_grace_s)
        if not done:
            meter.count("abandoned")

    def _end_later(self, task: asyncio.Task[Any]) -> None:
        """Cancel what nobody waits for."""
        task.cancel()
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.add_done_callback(_retrieve)


async def _wait_for(place: asyncio.Semaphore, meter: ToolMeter, deadline_s: float) -> None:
    """Take a place; who waits longest is next. Raises: _NoPlace: none until the deadline (monotonic)."""
    meter.waiting.inc()
    try:
        async with asyncio.timeout(deadline_s - time.monotonic()):
            await place.acquire()
    except TimeoutError:
        raise _NoPlace from None
    finally:
        meter.waiting.dec()


def _told(error: Exception) -> Ended:
    """Return what a model reads of a tool that failed. Raises: the error, if what the tool stands on failed."""
    match error:
        case Rejected():
            return ToolStatus.REJECTED, str(error)
        case ToolError():
            return ToolStatus.ERROR, str(error)
        case TimeoutError():
            return ToolStatus.TIMEOUT, f"the tool gave up waiting{f': {error}' if str(error) else ''}"
        case DeviceError() | RLFactoryError():
            raise error
    return ToolStatus.ERROR, f"the tool failed: {type(error).__name__}: {error}"


def late(timeout_s: float) -> str:
    """Return what a model reads of a call that was stopped."""
    return f"it did not end within {timeout_s:.1f} seconds and was stopped"


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Mark the error as seen: there is nobody else to tell."""
    if not task.cancelled():
        task.exception()
