"""The life of one phone, walked through by one task:

    starting -> free -> leased -> resetting -> free -> ...
        ^         |        |           |
        |       probed     |           |
        |         |        v           v
        +-- (pause) -- quarantined <---+     failed for good, or past its time

A phone that failed in its client's hands is given a chance: it has to answer again and to reach its golden state, or it
is replaced. So an adb server that dies costs the episodes under way, not all phones.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Final

from rlfactory.emulators.device.deadline import within
from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.state import digest
from rlfactory.emulators.pool.config import PoolConfig
from rlfactory.emulators.pool.leases import LeaseDesk, Returned
from rlfactory.emulators.pool.metrics import PoolMetrics
from rlfactory.emulators.pool.slot import PhoneState, Slot
from rlfactory.emulators.pool.starts import StartLimiter
from rlfactory.emulators.sources.source import PhoneSource

log = logging.getLogger(__name__)

_QUESTION: Final = "echo here"
_SPREAD: Final = 0.1
"""Of the age limit: phones that started together shall not all be replaced together."""


class Keeper:
    """Keeps one slot filled with a healthy phone."""

    def __init__(
        self,
        source: PhoneSource,
        config: PoolConfig,
        desk: LeaseDesk,
        limiter: StartLimiter,
        metrics: PoolMetrics,
        *,
        on_trouble: Callable[[str], None],
    ) -> None:
        """Args: on_trouble: told the host of a phone that failed."""
        self.slot = Slot()
        self.tried: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Ends at the first try to start a phone, with what went wrong or ""."""
        self._source = source
        self._config = config
        self._desk = desk
        self._limiter = limiter
        self._metrics = metrics
        self._on_trouble = on_trouble
        self._doubt: asyncio.Future[None] | None = None
        self._retiring = False
        self._ending: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Keep the slot filled until cancelled; its phone is stopped then."""
        try:
            while True:
                await self._live_once()
        except Exception as error:
            if not self.tried.done():
                self.tried.set_exception(error)
            raise
        finally:
            self._tell_retired()
            await self._discard()

    def doubt(self) -> None:
        """Have the phone asked at once whether it is still there, if it is idle."""
        if self._doubt is not None and not self._doubt.done():
            self._doubt.set_result(None)

    async def _live_once(self) -> None:
        """Take one phone from its start to its end."""
        slot = self.slot
        try:
            await self._start()
            self._tell_tried("")
            reason = await self._serve()
        except Exception as error:
            surprising = not isinstance(error, DeviceError)
            if surprising and not self.tried.done():
                raise  # it cannot have worked: whoever enters the pool is told
            slot.last_error = str(error) or type(error).__name__
            log.warning("phone quarantined: %s", slot.last_error, exc_info=surprising)
            self._tell_tried(slot.last_error)
        else:
            log.info("phone %s is replaced: %s", self._serial, reason)
            slot.recycled += 1
            self._metrics.replaced.labels(why="recycled").inc()
            await self._discard()
            return
        self._metrics.replaced.labels(why="failed").inc()
        await self._discard()
        pause_s = self._config.pause_s(slot.failures_in_row)
        slot.failures += 1
        slot.failures_in_row += 1
        await asyncio.sleep(pause_s)

    def _tell_tried(self, error: str) -> None:
        if not self.tried.done():
            self.tried.set_result(error)

    # --- starting

    async def _start(self) -> None:
        """Start a phone and take its golden snapshot. Raises: DeviceError."""
        slot, timeout_s = self.slot, self._config.start_timeout_s
        slot.state = PhoneState.STARTING
        async with self._limiter.starting():
            began_s = time.monotonic()
            try:
                async with within(timeout_s, "the start of a phone"):
                    slot.device = await self._source.start()
                slot.host = self._source.host(slot.device)
                slot.golden = await slot.device.save_snapshot(timeout_s=timeout_s)
                slot.golden_digest = digest(await slot.device.state(timeout_s=timeout_s))
            except Exception:
                self._metrics.start_failures.inc()
                raise
            finally:
                self._tell_retired()
        slot.booted_at_s = time.monotonic()
        slot.max_age_s = draw_max_age_s(self._config)
        slot.phone_failures = slot.first_memory_bytes = slot.memory_bytes = 0
        await self._measure()
        slot.first_memory_bytes = slot.memory_bytes
        self._metrics.start_s.observe(time.monotonic() - began_s)

    def _tell_retired(self) -> None:
        if self._retiring:
            self._retiring = False
            self._limiter.retired()

    # --- serving

    async def _serve(self) -> str:
        """Lend the phone out until it has served its time, and return why.

        Raises: DeviceError: the phone has failed and is to be replaced.
        """
        while True:
            reason = reason_to_recycle(self.slot, self._config)
            if reason and self._limiter.may_retire():
                self._retiring = True
                return reason
            returned = await self._lend()
            if returned is None:
                await self._probe()
            elif returned.problem:
                await self._mend(returned)
            else:
                await self._reset(timeout_s=self._config.reset_timeout_s)

    async def _lend(self) -> Returned | None:
        """Offer the phone; return how it came back, or None when it is to be asked whether it is there."""
        coming_back = self._desk.offer(self.slot)
        self._doubt = asyncio.get_running_loop().create_future()
        events: list[asyncio.Future[Any]] = [coming_back, self._doubt]
        timeout_s = self._config.probe_interval_s
        await asyncio.wait(events, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if self._desk.take_back(self.slot):
            return None
        return await coming_back

    async def _probe(self) -> None:
        self.slot.state = PhoneState.PROBED
        assert self.slot.device is not None
        try:
            await probe(self.slot.device, timeout_s=self._config.probe_timeout_s)
        except DeviceError as error:
            self._metrics.probes.labels(answer="no").inc()
            await self._mend(Returned(str(error) or type(error).__name__))
        else:
            self._metrics.probes.labels(answer="yes").inc()
            await self._measure()

    async def _mend(self, returned: Returned) -> None:
        """Bring back a phone that failed. Raises: DeviceError: it stays away, or has failed too often."""
        slot, timeout_s = self.slot, self._config.mend_timeout_s
        slot.state = PhoneState.RESETTING
        slot.phone_failures += 1
        self._on_trouble(slot.host)
        assert slot.device is not None
        if returned.fatal or slot.phone_failures >= self._config.max_failures:
            raise DeviceError(returned.problem)
        try:
            async with within(timeout_s, f"reconnecting {self._serial}"):
                await self._source.reconnect(slot.device)
            await self._reset(timeout_s=timeout_s)
        except DeviceError as error:
            raise DeviceError(f"{returned.problem}; and then: {error}") from error
        slot.last_error = returned.problem
        self._metrics.mended.inc()
        log.info("phone %s came back after: %s", self._serial, returned.problem)

    async def _reset(self, *, timeout_s: float) -> None:
        """Bring the phone back into its golden state, and prove it.

        Raises: DeviceError: it failed, or its state is not the golden one.
        """
        slot = self.slot
        assert slot.device is not None
        assert slot.golden is not None
        slot.state = PhoneState.RESETTING
        began_s = time.monotonic()
        await slot.device.load_snapshot(slot.golden, timeout_s=timeout_s)
        state = await slot.device.state(timeout_s=timeout_s)
        if digest(state) != slot.golden_digest:
            raise DeviceError(f"{self._serial} is not in its golden state after a reset")
        slot.resets += 1
        slot.failures_in_row = 0
        self._metrics.resets.inc()
        self._metrics.reset_s.observe(time.monotonic() - began_s)
        if time.monotonic() - slot.measured_at_s >= self._config.probe_interval_s:
            await self._measure()

    async def _measure(self) -> None:
        """Look at the phone's memory. Raises: DeviceError: the phone is gone."""
        assert self.slot.device is not None
        async with within(self._config.probe_timeout_s, f"measuring {self._serial}"):
            self.slot.memory_bytes = await self._source.memory_bytes(self.slot.device)
        self.slot.measured_at_s = time.monotonic()

    # --- ending

    async def _discard(self) -> None:
        """Stop the slot's phone, if it has one; a phone half stopped when this is cancelled is stopped all the same."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end_phone(), name="end of a phone")
        await asyncio.shield(self._ending)
        self._ending = None

    async def _end_phone(self) -> None:
        slot = self.slot
        self._desk.take_back(slot)
        device, slot.device = slot.device, None
        golden, slot.golden = slot.golden, None
        if device is None:
            return
        slot.state = PhoneState.QUARANTINED
        if golden is not None:
            with contextlib.suppress(Exception):  # it goes with the phone
                await device.delete_snapshot(golden, timeout_s=self._config.probe_timeout_s)
        try:
            await self._source.stop(device)
        except Exception as error:
            log.warning("could not stop a phone: %s", error, exc_info=not isinstance(error, DeviceError))

    @property
    def _serial(self) -> str:
        return self.slot.device.info.serial if self.slot.device else "a phone"


async def probe(device: Device, *, timeout_s: float) -> None:
    """Ask the cheapest question that a hung, paused or cut off phone cannot answer.

    Raises: DeviceError: the phone does not answer in time, or answers nonsense.
    """
    answer = await device.shell(_QUESTION, timeout_s=timeout_s)
    if answer.exit_code or answer.stdout.strip() != "here":
        raise DeviceError(f"{device.info.serial} answered {_QUESTION!r} with {answer.stdout[:100]!r}")


def draw_max_age_s(config: PoolConfig) -> float:
    """Return the age at which one phone is to be replaced."""
    return config.max_age_s * (1 - _SPREAD * random.random())


def reason_to_recycle(slot: Slot, config: PoolConfig) -> str:
    """Return why the slot's phone is to be replaced though it works; "" when it may stay."""
    age_s = time.monotonic() - slot.booted_at_s
    if age_s >= slot.max_age_s:
        return f"it is {age_s:.0f} s old"
    growth = slot.memory_bytes - slot.first_memory_bytes
    limit = max(config.max_growth_bytes, config.max_growth_share * slot.first_memory_bytes)
    if slot.first_memory_bytes and growth >= limit:
        return f"its memory grew by {growth / 1e6:.0f} MB"
    return ""
