"""What phones on hosts do under the pool, be the hosts processes or containers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from rlfactory.emulators.device.device import ImageSpec, OpenApp, Tap
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.pool import Lease, PhoneState, Pool
from rlfactory.emulators.simulator.phone import PhoneConfig

SMALL = PhoneConfig(width_px=270, height_px=600)
T = 30.0
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


def all_free(pool: Pool) -> bool:
    return all(status.state is PhoneState.FREE for status in pool.status())


async def assert_leased_reset_and_forked(pool: Pool, eventually: Eventually) -> None:
    """Neighbours on a host load each other's snapshots, others do not; nothing stays on a phone."""
    await eventually(lambda: all_free(pool))
    async with pool.lease(timeout_s=T) as first:
        await first.device.act(OpenApp("Settings"), timeout_s=T)
        await first.device.push("/sdcard/trace", b"x", timeout_s=T)
        assert (await first.device.observe(ImageSpec(), with_tree=True, timeout_s=T)).tree is not None
        snapshot = await first.device.save_snapshot(timeout_s=T)
        others = [await pool.acquire(timeout_s=T) for _ in range(pool.config.phones - 1)]
        assert any(other.host == first.host for other in others)
        for other in others:
            if other.host == first.host:
                await other.device.load_snapshot(snapshot, timeout_s=T)
                shown = await other.device.screenshot(timeout_s=T)
                assert np.array_equal(shown, await first.device.screenshot(timeout_s=T))
            else:
                with pytest.raises(DeviceError, match="no snapshot"):
                    await other.device.load_snapshot(snapshot, timeout_s=T)
            pool.release(other)
    await eventually(lambda: all_free(pool))
    for _ in pool.status():
        lease = await pool.acquire(timeout_s=T)
        assert "files/trace" not in await lease.device.state(timeout_s=T)


async def assert_replaced_when_killed(
    pool: Pool, kill: Callable[[Lease], Awaitable[None]], eventually: Eventually
) -> None:
    """The phone in a client's hands dies; the client is told, another client's goes on, and the pool fills up again."""
    await eventually(lambda: all_free(pool))
    async with pool.lease(timeout_s=T) as bystander:
        with pytest.raises(DeviceError):
            async with pool.lease(timeout_s=T) as lease:
                await kill(lease)
                await lease.device.act(Tap(1, 1), timeout_s=T)
        await bystander.device.act(Tap(1, 1), timeout_s=T)
    await eventually(lambda: all_free(pool))
    assert sum(status.failures for status in pool.status()) == 1
