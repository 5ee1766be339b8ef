"""The pool: keepers that keep phones ready, and a desk that lends them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from rlfactory.emulators.device.errors import DeviceError, PoolExhausted
from rlfactory.emulators.pool.config import PoolConfig
from rlfactory.emulators.pool.keeper import Keeper
from rlfactory.emulators.pool.leases import Lease, LeaseDesk, Returned
from rlfactory.emulators.pool.metrics import PoolMetrics
from rlfactory.emulators.pool.slot import PhoneState, PhoneStatus, PoolStatus
from rlfactory.emulators.pool.starts import StartLimiter
from rlfactory.emulators.sources.source import PhoneSource


class Pool:
    """Leases phones; an async context manager that starts them and, at the end, stops every one.

    A phone is leased in the state it booted with: its golden snapshot was loaded and its state hash equals the golden
    hash. Entering returns when one phone is ready; the others follow.

    Raises on entering: DeviceError: not one phone could be started.
    """

    def __init__(self, source: PhoneSource, config: PoolConfig, *, metrics: PoolMetrics | None = None) -> None:
        self.config = config
        self.metrics = metrics or PoolMetrics()
        self._source = source
        self._desk = LeaseDesk(config, self.metrics)
        self.lending = self._desk.lending
        self._limiter = StartLimiter(config)
        self._keepers: tuple[Keeper, ...] = ()
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self.metrics.watch(self.summary, self.status)

    async def __aenter__(self) -> Self:
        self._desk.open()
        self._keepers = tuple(
            Keeper(self._source, self.config, self._desk, self._limiter, self.metrics, on_trouble=self._doubt_host)
            for _ in range(self.config.phones + self.config.spares)
        )
        self._tasks = tuple(
            asyncio.create_task(keeper.run(), name=f"phone-{number}") for number, keeper in enumerate(self._keepers)
        )
        try:
            await self._first_phone()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _doubt_host(self, host: str) -> None:
        """One phone of this host failed: have its idle neighbours asked before a client gets one of them."""
        for keeper in self._keepers:
            if keeper.slot.host == host and keeper.slot.state is PhoneState.FREE:
                keeper.doubt()

    async def _first_phone(self) -> None:
        """Return when one phone is ready. Raises: DeviceError: every slot has tried to start one, in vain."""
        errors = []
        for trying in asyncio.as_completed([keeper.tried for keeper in self._keepers]):
            error = await trying
            if not error:
                return
            errors.append(error)
        raise DeviceError(f"no phone could be started: {errors[0]}")

    def lend_no_more(self) -> None:
        """Refuse clients from now on, those that wait too; phones that are lent stay so."""
        self._desk.close("the pool is closing")

    async def drain(self, *, timeout_s: float) -> bool:
        """Lend no more phones, and wait for those that are lent; False when some were not back in time."""
        self.lend_no_more()
        try:
            async with asyncio.timeout(timeout_s):
                await self._desk.all_returned()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Refuse waiting clients and stop all phones, leased ones too."""
        self._desk.close("the pool is closing" if self._tasks else "the pool is closed")
        tasks, self._tasks = self._tasks, ()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._desk.close("the pool is closed")
        self._desk.abandon()
        await self._source.close()

    # --- leases

    @asynccontextmanager
    async def lease(self, *, timeout_s: float, host: str | None = None, client: str = "") -> AsyncIterator[Lease]:
        """Lease a phone for the block; a `DeviceError` that leaves the block says that the phone failed.

        Raises: PoolExhausted: no phone within `timeout_s`, or too many clients wait already.
        """
        lease = await self.acquire(timeout_s=timeout_s, host=host, client=client)
        problem = ""
        try:
            yield lease
        except DeviceError as error:
            problem = str(error) or type(error).__name__
            raise
        finally:
            self.release(lease, problem=problem)

    async def acquire(
        self, *, timeout_s: float, host: str | None = None, client: str = "", ttl_s: float | None = None
    ) -> Lease:
        """Return a phone in its golden state; see `acquire_all`."""
        (lease,) = await self.acquire_all(1, timeout_s=timeout_s, host=host, client=client, ttl_s=ttl_s)
        return lease

    async def acquire_all(
        self, number: int, *, timeout_s: float, host: str | None = None, client: str = "", ttl_s: float | None = None
    ) -> tuple[Lease, ...]:
        """Return so many phones in their golden state: all or none. None is held while others are waited for.

        Args:
            host: restricts the choice to the phones of one host (for a fork).
            client: who asks; phones are shared out evenly between clients.
            ttl_s: how long the lease lasts without `renew`; None: `lease_ttl_s` of the configuration.

        Raises: PoolExhausted: too few phones within `timeout_s`, or too many clients wait already.
        """
        began_s = time.monotonic()
        ttl_s = self.config.lease_ttl_s if ttl_s is None else ttl_s
        try:
            leases = await self._desk.acquire(number, client=client, host=host, ttl_s=ttl_s, timeout_s=timeout_s)
        except TimeoutError:
            self.metrics.refused.inc()
            what = "no phone" if number == 1 else f"no {number} phones"
            raise PoolExhausted(f"{what} became free within {timeout_s:g} s ({self._in_words()})") from None
        except PoolExhausted:
            self.metrics.refused.inc()
            raise
        self.metrics.wait_s.observe(time.monotonic() - began_s)
        return leases

    def renew(self, lease: Lease) -> None:
        """Let the lease last its whole time from now. One that has been released stays so."""
        self._desk.renew(lease)

    def release(self, lease: Lease, *, problem: str = "", fatal: bool = False) -> None:
        """Give a phone back; it is reset in the background. Releasing twice is harmless.

        Args:
            problem: what is wrong with the phone, if anything: it has to prove itself, or is replaced.
            fatal: it is replaced in any case.
        """
        self._desk.release(lease, Returned(problem, fatal))

    # --- being looked at

    def status(self) -> tuple[PhoneStatus, ...]:
        """Return what each phone is doing, in slot order."""
        return tuple(keeper.slot.status() for keeper in self._keepers)

    def summary(self) -> PoolStatus:
        """Return figures of the pool as a whole."""
        desk = self._desk
        return PoolStatus(
            waiting=desk.waiting, free=desk.free, leases=desk.leases, starts_paused_s=self._limiter.paused_s
        )

    @property
    def waiting(self) -> int:
        """Clients that wait for a phone."""
        return self._desk.waiting

    def _in_words(self) -> str:
        states = [phone.state for phone in self.status()]
        return ", ".join(f"{states.count(state)} {state}" for state in PhoneState if state in states)
