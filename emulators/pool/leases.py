"""Who gets which phone, and for how long.

A free phone goes to the client that holds the fewest leases now; among its equals, to the one that has waited longest.
So a client that asks for a hundred phones at once does not keep out one that asks for its first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import PoolExhausted
from rlfactory.emulators.pool.config import PoolConfig
from rlfactory.emulators.pool.metrics import PoolMetrics
from rlfactory.emulators.pool.slot import PhoneState, Slot


@dataclass(frozen=True, slots=True)
class Returned:
    """How a phone came back from its client."""

    problem: str = ""
    """What is wrong with it; "" for nothing."""
    fatal: bool = False
    """It is to be replaced, even if it can be brought back to its golden state."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Lease:
    """A phone in its golden state, for one client, until it is released."""

    device: Device
    host: str
    client: str
    golden_digest: str
    """`rlfactory.emulators.device.state.digest` of the state the phone was in when it was leased."""
    ttl_s: float
    """How long it lasts without being renewed."""
    _returned: asyncio.Future[Returned] = field(repr=False)

    @property
    def released(self) -> bool:
        return self._returned.done()


@dataclass(eq=False)
class _Waiter:
    leases: asyncio.Future[tuple[Lease, ...]]
    number: int
    """Of phones: all of them or none. While there are too few it holds none, and others pass it."""
    client: str
    host: str | None
    ttl_s: float


@dataclass(slots=True)
class Lending:
    """Figures that a desk keeps up to date: who tells them with every step of an agent need not ask."""

    free: int = 0
    """Phones that could be lent at once."""
    waiting: int = 0
    """Clients that wait for one."""


class LeaseDesk:
    """Brings free phones and waiting clients together."""

    def __init__(self, config: PoolConfig, metrics: PoolMetrics) -> None:
        self._config = config
        self._metrics = metrics
        self.lending = Lending()
        self._free: dict[Slot, asyncio.Future[Returned]] = {}
        """In the order in which they became free."""
        self._waiters: dict[_Waiter, None] = {}
        self._held: dict[Lease, asyncio.TimerHandle] = {}
        """With what reclaims it."""
        self._held_by: Counter[str] = Counter()
        self._all_returned = asyncio.Event()
        self._all_returned.set()
        self._closed_because = "the pool is closed"

    def open(self) -> None:
        self._closed_because = ""

    def close(self, why: str) -> None:
        """Refuse clients from now on, those that wait too."""
        self._closed_because = why
        for waiter in self._waiters:
            if not waiter.leases.done():
                waiter.leases.set_exception(PoolExhausted(why))
        self._waiters.clear()
        self._tell()

    def abandon(self) -> None:
        """Forget the leases that are held: their phones are no more."""
        for timer in self._held.values():
            timer.cancel()
        self._held.clear()
        self._held_by.clear()
        self._all_returned.set()
        self._tell()

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    @property
    def free(self) -> int:
        """Phones that could be lent at once."""
        return min(len(self._free), self._config.phones - len(self._held))

    @property
    def leases(self) -> int:
        return len(self._held)

    async def all_returned(self) -> None:
        """Return when no lease is held."""
        await self._all_returned.wait()

    # --- clients

    async def acquire(
        self, number: int, *, client: str, host: str | None, ttl_s: float, timeout_s: float
    ) -> tuple[Lease, ...]:
        """Return phones; see `Pool.acquire`. Raises: PoolExhausted; TimeoutError: too few became free in time."""
        if self._closed_because:
            raise PoolExhausted(self._closed_because)
        if len(self._waiters) >= self._config.max_waiting:
            raise PoolExhausted(f"{self._config.max_waiting} clients wait for a phone already (max_waiting)")
        waiter = _Waiter(asyncio.get_running_loop().create_future(), number, client, host, ttl_s)
        self._waiters[waiter] = None
        self._match()
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter.leases
        except BaseException:
            self._withdraw(waiter)
            raise

    def _withdraw(self, waiter: _Waiter) -> None:
        """The client has gone: forget it, and give back the phones it may have got in the same moment."""
        self._waiters.pop(waiter, None)
        self._tell()
        leases = waiter.leases
        if leases.done() and not leases.cancelled() and leases.exception() is None:
            for lease in leases.result():
                self.release(lease, Returned())

    def renew(self, lease: Lease) -> None:
        """Let the lease last its whole time from now. One that has been released stays so."""
        if lease in self._held:
            self._held[lease].cancel()
            self._held[lease] = asyncio.get_running_loop().call_later(lease.ttl_s, self._reclaim, lease)

    def release(self, lease: Lease, returned: Returned) -> None:
        """Give a phone back. Releasing twice is harmless."""
        timer = self._held.pop(lease, None)
        if timer is None:
            return
        timer.cancel()
        self._held_by[lease.client] -= 1
        self._held_by += Counter()  # forgets the clients that hold nothing
        if not self._held:
            self._all_returned.set()
        lease._returned.set_result(returned)
        self._match()

    # --- keepers

    def offer(self, slot: Slot) -> asyncio.Future[Returned]:
        """Let a client have the slot's phone; the future ends when that client has given it back."""
        slot.state = PhoneState.FREE
        returned = self._free[slot] = asyncio.get_running_loop().create_future()
        self._match()
        return returned

    def take_back(self, slot: Slot) -> bool:
        """Offer the phone no longer; False when it is leased (or never was on offer)."""
        taken = self._free.pop(slot, None) is not None
        self._tell()
        return taken

    # --- between them

    def _match(self) -> None:
        while self._free and len(self._held) < self._config.phones:
            pair = self._next_pair()
            if pair is None:
                break
            waiter, slots = pair
            del self._waiters[waiter]
            if not waiter.leases.done():
                waiter.leases.set_result(tuple(self._lease(slot, waiter) for slot in slots))
        self._tell()

    def _tell(self) -> None:
        self.lending.free, self.lending.waiting = self.free, self.waiting

    def _next_pair(self) -> tuple[_Waiter, list[Slot]] | None:
        """Return who is served next and with what, None when nobody can be."""
        hosts = Counter(slot.host for slot in self._free)
        room = self._config.phones - len(self._held)
        able = [
            waiter
            for waiter in self._waiters
            if waiter.number <= min(room, len(self._free) if waiter.host is None else hosts[waiter.host])
        ]
        if not able:
            return None
        waiter = min(able, key=lambda waiter: self._held_by[waiter.client])
        fitting = (slot for slot in self._free if waiter.host in (None, slot.host))
        return waiter, list(islice(fitting, waiter.number))

    def _lease(self, slot: Slot, waiter: _Waiter) -> Lease:
        assert slot.device is not None
        slot.state = PhoneState.LEASED
        lease = Lease(
            device=slot.device,
            host=slot.host,
            client=waiter.client,
            golden_digest=slot.golden_digest,
            ttl_s=waiter.ttl_s,
            _returned=self._free.pop(slot),
        )
        self._held[lease] = asyncio.get_running_loop().call_later(lease.ttl_s, self._reclaim, lease)
        self._held_by[waiter.client] += 1
        self._all_returned.clear()
        self._metrics.leases.inc()
        return lease

    def _reclaim(self, lease: Lease) -> None:
        """Take back a lease that has run out."""
        self._metrics.leases_expired.inc()
        # Its client may touch the phone still; the keeper closes the device, so that such a call fails.
        self.release(lease, Returned(f"its lease was not renewed for {lease.ttl_s:g} s", fatal=True))
