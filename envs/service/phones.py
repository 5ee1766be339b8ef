"""The phones of sessions: lent within quotas, and brought to the state in which their episode always begins."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import PoolExhausted
from rlfactory.emulators.pool import Lease, Pool
from rlfactory.envs.api.errors import LimitExceeded
from rlfactory.envs.api.types import Split
from rlfactory.envs.service.events import EventBus
from rlfactory.envs.service.services import TENANT
from rlfactory.envs.wire.faults import device_failure


class EpisodeKey(NamedTuple):
    """What fixes goal, first state and simulated clock."""

    task: str
    seed: int
    split: Split
    perturb: str = ""


class Goldens:
    """The reset contract: the state hash that each episode began with when it was first set up.

    Bounded: the oldest is forgotten first.
    """

    def __init__(self, *, capacity: int) -> None:
        self._capacity = capacity
        self._hashes: OrderedDict[EpisodeKey, str] = OrderedDict()

    def agrees(self, key: EpisodeKey, state_hash: str) -> bool:
        """Tell whether the hash is the first one recorded for the key; record it if there is none."""
        golden = self._hashes.setdefault(key, state_hash)
        self._hashes.move_to_end(key)
        if len(self._hashes) > self._capacity:
            self._hashes.popitem(last=False)
        return golden == state_hash


class GiveBack(Protocol):
    """Returns a phone to where it came from. Giving back twice is harmless."""

    def __call__(self, problem: str, *, fatal: bool = False) -> None:
        """`problem` is what is wrong with the phone, "" for nothing; `fatal` has it replaced in any case."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldPhone:
    """The phone of a session, until it is given back."""

    device: Device
    host: str
    """Phones of one host can load each other's snapshots."""
    give_back: GiveBack
    renew: Callable[[], None]
    """Says that the phone is still needed."""


class PhoneDesk:
    """Lends a pool's phones to sessions; who has its quota of them waits for one of its own to come back."""

    def __init__(
        self, pool: Pool | None, *, quota: int | None, wait_s: float, counters: Counter[str], events: EventBus
    ) -> None:
        """Args: wait_s: how long to wait for a phone that is free."""
        phones = pool.config.phones if pool is not None else 0
        self.most_of_tenant = phones if quota is None else min(phones, quota)
        self._quota = quota
        self._pool = pool
        self._wait_s = wait_s
        self._counters = counters
        self._events = events
        self._lent: dict[str, list[Lease]] = {}
        self._asked: Counter[str] = Counter()
        """Phones that the pool is asked for just now, by tenant."""
        self._returned = asyncio.Event()

    def lent(self) -> dict[str, int]:
        """Return how many phones each tenant has, or is about to get."""
        return {
            tenant: sum(not each.released for each in leases) + self._asked[tenant]
            for tenant, leases in tuple(self._lent.items())
        }

    async def lend(
        self, n: int, *, client: str, ttl_s: float, host: str | None, wait_s: float | None = None
    ) -> Sequence[HeldPhone]:
        """Return n phones, all or none. Phones are shared out evenly between clients.

        Args: wait_s: how long the client waits for a free phone; None: as long as it may.

        Raises: LimitExceeded: the tenant's quota, or too few became free in time. InfrastructureError: there are none
        that could.
        """
        tenant, pool = TENANT.get(), self._pool
        wait_s = self._wait_s if wait_s is None else wait_s
        assert pool is not None, "without phones no task that needs one begins"
        self._lent[tenant] = [each for each in self._lent.get(tenant, ()) if not each.released]
        try:
            async with asyncio.timeout(wait_s):
                while self._quota and (own := self.lent()[tenant]) + n > self._quota:
                    if n > self._quota:
                        raise TimeoutError
                    await self._returned.wait()
        except TimeoutError:
            raise LimitExceeded(
                f"this tenant has {own} phones and asks for {n}; its quota of phones is {self._quota}"
            ) from None
        self._asked[tenant] += n
        try:
            lent = await pool.acquire_all(n, timeout_s=wait_s, host=host, client=client, ttl_s=ttl_s)
        except PoolExhausted as error:
            if pool.summary().leases or not wait_s:
                raise LimitExceeded(str(error)) from None
            raise device_failure(error, "waiting for a phone") from None
        finally:
            self._asked[tenant] -= n
        self._lent[tenant] += lent
        return [self._held(pool, lease) for lease in lent]

    def _held(self, pool: Pool, lease: Lease) -> HeldPhone:
        def give_back(problem: str, *, fatal: bool = False) -> None:
            if problem and not lease.released:
                self._counters["quarantined"] += 1
                self._events.emit("phone", "", f"{lease.device.info.serial} is quarantined: {problem}")
            pool.release(lease, problem=problem, fatal=fatal)
            returned, self._returned = self._returned, asyncio.Event()
            returned.set()

        return HeldPhone(device=lease.device, host=lease.host, give_back=give_back, renew=lambda: pool.renew(lease))
