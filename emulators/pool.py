"""The phones of a service: leased one at a time, reset after each lease, replaced when they fail.

Each phone has one keeper task that walks it through its life:

    starting -> free -> leased -> resetting -> free -> ...
        ^                  |           |
        +-- (backoff) -- quarantined <-+     a failure, or a reset that did not reach the golden state

A leased phone is therefore always in the state it booted with: the golden snapshot was loaded and the state hash
equals the golden hash. Waiting clients are served first come, first served; the queue is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from emulators.device import Device, Snapshot
from emulators.errors import DeviceError, PoolExhausted
from emulators.state import digest

log = logging.getLogger(__name__)


class PhoneSource(Protocol):
    """Where phones come from."""

    async def start(self) -> Device:
        """Return a new phone, booted and connected. Raises: DeviceError."""
        ...

    async def stop(self, device: Device) -> None:
        """End a phone that `start` returned, whatever state it is in. Never raises `DeviceError`."""
        ...

    def host(self, device: Device) -> str:
        """Name the host of a phone: phones of one host can load each other's snapshots."""
        ...

    async def close(self) -> None:
        """Let go of everything the source holds; its phones have been stopped."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolConfig:
    phones: int
    """Kept running, leased or not."""
    max_waiting: int = 1024
    """Clients that may wait for a phone; one more is refused at once."""
    start_timeout_s: float = 120.0
    reset_timeout_s: float = 30.0
    backoff_s: float = 0.2
    """Pause after a phone failed; doubles with every further failure in a row."""
    backoff_max_s: float = 30.0

    def __post_init__(self) -> None:
        for name in ("phones", "max_waiting"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("start_timeout_s", "reset_timeout_s", "backoff_s", "backoff_max_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")


class PhoneState(StrEnum):
    STARTING = "starting"
    FREE = "free"
    LEASED = "leased"
    RESETTING = "resetting"
    QUARANTINED = "quarantined"
    """Failed; about to be replaced."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoneStatus:
    serial: str
    """"" while it starts."""
    state: PhoneState
    age_s: float
    """Since it booted; 0 while it starts."""
    resets: int
    failures: int
    """Phones of this slot that had to be replaced."""
    last_error: str


@dataclass(eq=False)
class _Slot:
    """One place of the pool, and the phone that fills it now."""

    state: PhoneState = PhoneState.STARTING
    device: Device | None = None
    host: str = ""
    golden: Snapshot | None = None
    golden_digest: str = ""
    booted_at_s: float = 0.0
    resets: int = 0
    failures: int = 0
    failures_in_row: int = 0
    last_error: str = ""
    returned: asyncio.Future[str] | None = None
    """Set while leased; its result is "" for a healthy phone, else what is wrong with it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Lease:
    """A phone in its golden state, for one client, until it is released."""

    device: Device
    host: str
    golden_digest: str
    """`emulators.state.digest` of the state the phone was in when it was leased."""
    _returned: asyncio.Future[str] = field(repr=False)

    @property
    def released(self) -> bool:
        return self._returned.done()


@dataclass(eq=False)
class _Waiter:
    lease: asyncio.Future[Lease]
    host: str | None


class Pool:
    """Leases phones; an async context manager that starts them and, at the end, stops every one.

    Entering returns when each slot has tried to start once.

    Raises on entering: DeviceError: not one phone could be started.
    """

    def __init__(self, source: PhoneSource, config: PoolConfig) -> None:
        self._source = source
        self.config = config
        self._slots = [_Slot() for _ in range(config.phones)]
        self._free: deque[_Slot] = deque()
        self._waiters: deque[_Waiter] = deque()
        self._keepers: list[asyncio.Task[None]] = []
        self._closed = True

    async def __aenter__(self) -> Self:
        self._closed = False
        first_tries = [asyncio.get_running_loop().create_future() for _ in self._slots]
        self._keepers = [
            asyncio.create_task(self._keep(slot, tried), name=f"phone-{number}")
            for number, (slot, tried) in enumerate(zip(self._slots, first_tries, strict=True))
        ]
        try:
            errors = await asyncio.gather(*first_tries)
            if all(errors):
                raise DeviceError(f"no phone could be started: {errors[0]}")
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Refuse waiting clients and stop all phones, leased ones too."""
        self._closed = True
        for waiter in self._waiters:
            if not waiter.lease.done():
                waiter.lease.set_exception(PoolExhausted("the pool is closing"))
        self._waiters.clear()
        self._free.clear()
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._keepers.clear()
        await self._source.close()

    # --- leases

    @asynccontextmanager
    async def lease(self, *, timeout_s: float, host: str | None = None) -> AsyncIterator[Lease]:
        """Lease a phone for the block; a `DeviceError` that leaves the block marks the phone as broken.

        Raises: PoolExhausted: no phone within `timeout_s`, or too many clients wait already.
        """
        lease = await self.acquire(timeout_s=timeout_s, host=host)
        problem = ""
        try:
            yield lease
        except DeviceError as error:
            problem = str(error) or type(error).__name__
            raise
        finally:
            self.release(lease, problem=problem)

    async def acquire(self, *, timeout_s: float, host: str | None = None) -> Lease:
        """Return a phone in its golden state; `host` restricts the choice to the phones of one host (for a fork).

        Raises: PoolExhausted: no phone within `timeout_s`, or too many clients wait already.
        """
        if self._closed:
            raise PoolExhausted("the pool is closed")
        if len(self._waiters) >= self.config.max_waiting:
            raise PoolExhausted(f"{self.config.max_waiting} clients wait for a phone already (max_waiting)")
        waiter = _Waiter(lease=asyncio.get_running_loop().create_future(), host=host)
        self._waiters.append(waiter)
        self._match()
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter.lease
        except BaseException as error:
            self._withdraw(waiter)
            if isinstance(error, TimeoutError):
                raise PoolExhausted(f"no phone became free within {timeout_s:g} s ({self._summary()})") from None
            raise

    def release(self, lease: Lease, *, problem: str = "") -> None:
        """Give a phone back; it is reset in the background. Releasing twice is harmless.

        Args:
            problem: what is wrong with the phone, if anything: it will be replaced.
        """
        if not lease.released:
            lease._returned.set_result(problem)

    def status(self) -> tuple[PhoneStatus, ...]:
        """Return what each phone is doing, in slot order."""
        now_s = time.monotonic()
        return tuple(
            PhoneStatus(
                serial=slot.device.info.serial if slot.device else "",
                state=slot.state,
                age_s=now_s - slot.booted_at_s if slot.device else 0.0,
                resets=slot.resets,
                failures=slot.failures,
                last_error=slot.last_error,
            )
            for slot in self._slots
        )

    @property
    def waiting(self) -> int:
        """Clients that wait for a phone."""
        return len(self._waiters)

    def _summary(self) -> str:
        states = [slot.state for slot in self._slots]
        return ", ".join(f"{states.count(state)} {state}" for state in PhoneState if state in states)

    def _match(self) -> None:
        """Hand free phones to waiting clients, oldest client first."""
        for waiter in tuple(self._waiters):
            slot = next((free for free in self._free if waiter.host in (None, free.host)), None)
            if slot is None:
                continue
            self._waiters.remove(waiter)
            if waiter.lease.done():
                continue
            self._free.remove(slot)
            waiter.lease.set_result(self._lease(slot))

    def _lease(self, slot: _Slot) -> Lease:
        assert slot.device is not None
        assert slot.returned is not None
        slot.state = PhoneState.LEASED
        return Lease(device=slot.device, host=slot.host, golden_digest=slot.golden_digest, _returned=slot.returned)

    def _withdraw(self, waiter: _Waiter) -> None:
        """The client has gone: forget it, and give back the phone it may have got in the same moment."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        if waiter.lease.done() and not waiter.lease.cancelled() and waiter.lease.exception() is None:
            self.release(waiter.lease.result())

    # --- keepers

    async def _keep(self, slot: _Slot, tried: asyncio.Future[str]) -> None:
        """Keep one slot filled with a healthy phone, until cancelled."""
        try:
            while True:
                try:
                    await self._start(slot)
                    if not tried.done():
                        tried.set_result("")
                    while True:
                        await self._serve(slot)
                        await self._reset(slot)
                except DeviceError as error:
                    slot.last_error = str(error) or type(error).__name__
                    log.warning("phone quarantined: %s", slot.last_error)
                    if not tried.done():
                        tried.set_result(slot.last_error)
                await self._discard(slot)
                pause_s = self.config.backoff_s * 2 ** min(slot.failures_in_row, 16)
                slot.failures += 1
                slot.failures_in_row += 1
                await asyncio.sleep(min(pause_s, self.config.backoff_max_s))
        except Exception as error:
            if not tried.done():
                tried.set_exception(error)
            raise
        finally:
            await asyncio.shield(self._discard(slot))

    async def _start(self, slot: _Slot) -> None:
        """Start a phone and take its golden snapshot."""
        slot.state = PhoneState.STARTING
        timeout_s = self.config.start_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                slot.device = await self._source.start()
        except TimeoutError as error:
            raise DeviceError(f"no phone started within {timeout_s:g} s") from error
        slot.host = self._source.host(slot.device)
        slot.golden = await slot.device.save_snapshot(timeout_s=timeout_s)
        slot.golden_digest = digest(await slot.device.state(timeout_s=timeout_s))
        slot.booted_at_s = time.monotonic()

    async def _serve(self, slot: _Slot) -> None:
        """Offer the phone, and return when a client has given it back healthy."""
        slot.state = PhoneState.FREE
        slot.returned = asyncio.get_running_loop().create_future()
        self._free.append(slot)
        self._match()
        problem = await slot.returned
        if problem:
            raise DeviceError(problem)

    async def _reset(self, slot: _Slot) -> None:
        """Bring the phone back into its golden state, and prove it.

        Raises: DeviceError: it failed, or its state is not the golden one.
        """
        assert slot.device is not None
        assert slot.golden is not None
        slot.state = PhoneState.RESETTING
        await slot.device.load_snapshot(slot.golden, timeout_s=self.config.reset_timeout_s)
        state = await slot.device.state(timeout_s=self.config.reset_timeout_s)
        if digest(state) != slot.golden_digest:
            raise DeviceError(f"{slot.device.info.serial} is not in its golden state after a reset")
        slot.resets += 1
        slot.failures_in_row = 0

    async def _discard(self, slot: _Slot) -> None:
        """Stop the slot's phone, if it has one."""
        if slot in self._free:
            self._free.remove(slot)
        device, slot.device = slot.device, None
        golden, slot.golden = slot.golden, None
        if device is None:
            return
        slot.state = PhoneState.QUARANTINED
        if golden is not None:
            with contextlib.suppress(DeviceError):
                await device.delete_snapshot(golden, timeout_s=self.config.reset_timeout_s)
        try:
            await self._source.stop(device)
        except DeviceError as error:
            log.warning("could not stop a phone: %s", error)
