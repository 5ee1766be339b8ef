"""The pool: golden phones for every lease, first come first served, and no phone lost to a failure."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from rlfactory.emulators.device.device import Device, OpenApp, Tap
from rlfactory.emulators.device.errors import DeviceError, PoolExhausted
from rlfactory.emulators.device.state import digest
from rlfactory.emulators.pool import PhoneState, Pool, PoolConfig
from rlfactory.emulators.sources.direct import DirectDevice


def queue_is(pool: Pool, length: int) -> bool:
    return pool.waiting == length


from tests.emulators.pool.troubled import T, TroubledSource, config


async def test_a_phone_comes_back_golden_whatever_was_done_to_it() -> None:
    async with Pool(TroubledSource(), config(1)) as pool:
        async with pool.lease(timeout_s=5) as lease:
            golden = await lease.device.state(timeout_s=5)
            assert digest(golden) == lease.golden_digest
            await lease.device.act(OpenApp("Settings"), timeout_s=5)
            await lease.device.push("/sdcard/Download/left.txt", b"behind", timeout_s=5)
            await lease.device.shell("settings put global airplane_mode_on 1", timeout_s=5)
            assert await lease.device.state(timeout_s=5) != golden
        async with pool.lease(timeout_s=5) as lease:
            assert await lease.device.state(timeout_s=5) == golden
        assert pool.status()[0].resets >= 1


async def test_clients_are_served_in_the_order_they_came(eventually) -> None:
    async with Pool(TroubledSource(), config(1)) as pool:
        first = await pool.acquire(timeout_s=5)
        served: list[int] = []

        async def client(number: int) -> None:
            async with pool.lease(timeout_s=10):
                served.append(number)

        clients = []
        for number in range(5):
            clients.append(asyncio.create_task(client(number)))
            await eventually(partial(queue_is, pool, number + 1))
        pool.release(first)
        await asyncio.gather(*clients)
        assert served == [0, 1, 2, 3, 4]


async def test_a_client_that_waits_in_vain_is_told_what_the_phones_do() -> None:
    async with Pool(TroubledSource(), config(2)) as pool:
        async with pool.lease(timeout_s=5), pool.lease(timeout_s=5):
            with pytest.raises(PoolExhausted, match=r"within 0.05 s \(2 leased\)"):
                await pool.acquire(timeout_s=0.05)
        async with pool.lease(timeout_s=5):
            pass
        assert pool.waiting == 0


async def test_the_queue_is_bounded(eventually) -> None:
    async with Pool(TroubledSource(), config(1, max_waiting=1)) as pool, pool.lease(timeout_s=5):
        waiting = asyncio.create_task(pool.acquire(timeout_s=5))
        await eventually(lambda: pool.waiting == 1)
        with pytest.raises(PoolExhausted, match="max_waiting"):
            await pool.acquire(timeout_s=5)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert pool.waiting == 0


async def test_a_client_that_is_cancelled_leaves_no_phone_leased(eventually) -> None:
    async with Pool(TroubledSource(), config(1)) as pool:
        lease = await pool.acquire(timeout_s=5)
        client = asyncio.create_task(pool.acquire(timeout_s=5))
        await eventually(lambda: pool.waiting == 1)
        pool.release(lease)
        for _ in iter(lambda: pool.waiting, 0):
            await asyncio.sleep(0)
        client.cancel()  # it has been given the phone, and has not run since
        await asyncio.gather(client, return_exceptions=True)
        async with pool.lease(timeout_s=5):
            pass


async def test_a_phone_that_does_not_reset_is_quarantined() -> None:
    async with Pool(TroubledSource(), config(1)) as pool:
        lease = await pool.acquire(timeout_s=5)
        assert isinstance(lease.device, DirectDevice)
        first = lease.device
        # The golden snapshot itself is spoilt: no reset can reach the golden state any more.
        first.phone.shell("settings put system font_scale 2.0")
        for name in first._snapshots.names():
            first._snapshots.save(first.phone, name)
        pool.release(lease)
        async with pool.lease(timeout_s=5) as lease:
            assert lease.device is not first
        assert "golden state" in pool.status()[0].last_error


@pytest.mark.parametrize("call", ["start", "stop", "reconnect", "memory_bytes"])
async def test_whatever_a_source_raises_no_place_of_the_pool_is_lost(call: str, monkeypatch) -> None:
    source = TroubledSource()
    async with Pool(source, config(1)) as pool:
        lease = await pool.acquire(timeout_s=T)
        plain = getattr(source, call)
        raised: list[OSError] = []

        async def surprise(*arguments: object) -> object:
            if not raised:
                raised.append(OSError(113, "No route to host"))
                raise raised[0]
            return await plain(*arguments)

        monkeypatch.setattr(source, call, surprise)
        pool.release(lease, problem="it went away", fatal=call != "reconnect")
        async with pool.lease(timeout_s=T):
            assert raised


async def test_a_pool_without_any_phone_says_why() -> None:
    with pytest.raises(DeviceError, match="no phone could be started: the host is full"):
        async with Pool(TroubledSource(lambda attempt: True), config(2)):
            pass


async def test_a_fork_gets_phones_of_the_same_host(eventually) -> None:
    class TwoHosts(TroubledSource):
        def host(self, device: Device) -> str:
            return "even" if int(device.info.serial.rpartition("-")[2]) % 2 == 0 else "odd"

    async with Pool(TwoHosts(), config(4)) as pool:
        first = await pool.acquire(timeout_s=5)
        snapshot = await first.device.save_snapshot(timeout_s=5)
        twin = await pool.acquire(timeout_s=5, host=first.host)
        await twin.device.load_snapshot(snapshot, timeout_s=5)
        assert twin.host == first.host
        with pytest.raises(PoolExhausted):
            await pool.acquire(timeout_s=0.05, host=first.host)
        # A client that may take any phone is not held up by one that waits for that host.
        waiting = asyncio.create_task(pool.acquire(timeout_s=5, host=first.host))
        await eventually(lambda: pool.waiting == 1)
        async with pool.lease(timeout_s=1) as other:
            assert other.host != first.host
        pool.release(twin)
        assert (await waiting).host == first.host


async def test_leaving_stops_every_phone_and_refuses_who_waits(eventually) -> None:
    source = TroubledSource()
    async with Pool(source, config(2)) as pool:
        await pool.acquire(timeout_s=5)
        await pool.acquire(timeout_s=5)
        waiting = asyncio.create_task(pool.acquire(timeout_s=5))
        await eventually(lambda: pool.waiting == 1)
    with pytest.raises(PoolExhausted, match="closing"):
        await waiting
    assert source.running == 0
    with pytest.raises(PoolExhausted, match="closed"):
        await pool.acquire(timeout_s=1)


async def test_many_clients_share_few_phones(eventually) -> None:
    async with Pool(TroubledSource(), config(3)) as pool:
        in_use: set[str] = set()

        async def client(number: int) -> None:
            async with pool.lease(timeout_s=30) as lease:
                assert lease.device.info.serial not in in_use
                in_use.add(lease.device.info.serial)
                await lease.device.act(Tap(100 + number, 300), timeout_s=5)
                in_use.discard(lease.device.info.serial)

        await asyncio.gather(*(client(number) for number in range(40)))
        await eventually(lambda: all(status.state == PhoneState.FREE for status in pool.status()))
        assert sum(status.resets for status in pool.status()) == 40


@pytest.mark.parametrize(("field", "value"), [("phones", 0), ("max_waiting", 0), ("backoff_s", 0.0)])
def test_wrong_configuration_is_named(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        PoolConfig(**{"phones": 1, field: value})  # type: ignore[arg-type]
