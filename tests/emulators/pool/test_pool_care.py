"""How a pool cares: for fairness between clients, for leases nobody renews, for phones that fail, age and grow."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from rlfactory.emulators.device.device import Tap
from rlfactory.emulators.device.errors import DeviceLost, PoolExhausted
from rlfactory.emulators.pool import PhoneState, Pool, PoolConfig, PoolMetrics
from rlfactory.emulators.sources.direct import DirectDevice


async def test_a_client_that_asks_for_much_does_not_keep_others_out(eventually) -> None:
    async with Pool(TroubledSource(), config(2)) as pool:
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 2)
        greedy = [await pool.acquire(timeout_s=T, client="greedy") for _ in range(2)]
        served: list[str] = []

        async def ask(client: str) -> None:
            async with pool.lease(timeout_s=T, client=client):
                served.append(client)

        tasks = [asyncio.create_task(ask("greedy")) for _ in range(6)]
        await eventually(lambda: pool.waiting == 6)
        tasks.append(asyncio.create_task(ask("modest")))
        await eventually(lambda: pool.waiting == 7)
        pool.release(greedy[0])
        await eventually(lambda: bool(served))
        assert served[0] == "modest"
        pool.release(greedy[1])
        await asyncio.gather(*tasks)


from tests.emulators.pool.troubled import T, TroubledSource, config, states


async def test_a_spare_spares_the_next_client_the_reset(eventually) -> None:
    async with Pool(TroubledSource(), config(1, spares=1)) as pool:
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 2)
        first = await pool.acquire(timeout_s=T)
        with pytest.raises(PoolExhausted):
            await pool.acquire(timeout_s=0.05)  # a spare is no second phone
        pool.release(first)
        second = await pool.acquire(timeout_s=0)  # not one turn of waiting
        assert second.device is not first.device


async def test_a_lease_that_is_not_renewed_is_reclaimed_and_its_holder_shut_out() -> None:
    source = TroubledSource()
    metrics = PoolMetrics()
    async with Pool(source, config(1), metrics=metrics) as pool:
        loop = asyncio.get_running_loop()
        lease, first_end_s = await pool.acquire(timeout_s=T, ttl_s=1.0), loop.time() + 1.0
        while loop.time() < first_end_s:  # time itself is what is tested: it outlives its first end, renewed
            await asyncio.sleep(0.05)
            pool.renew(lease)
        assert not lease.released
        async with pool.lease(timeout_s=T) as other:
            assert other.device is not lease.device
            with pytest.raises(DeviceLost):
                await lease.device.act(Tap(1, 1), timeout_s=T)
        assert metrics.leases_expired._value.get() == 1


async def test_a_phone_that_failed_is_kept_if_it_proves_its_golden_state() -> None:
    source = TroubledSource()
    async with Pool(source, config(1, max_failures=3)) as pool:
        for _ in range(2):
            with pytest.raises(DeviceLost):
                async with pool.lease(timeout_s=T) as lease:
                    await lease.device.push("/sdcard/left", b"x", timeout_s=T)
                    raise DeviceLost("the adb server died")
        async with pool.lease(timeout_s=T) as lease:
            assert "files/left" not in await lease.device.state(timeout_s=T)
            assert source.started == ["direct-1"]
            assert pool.status()[0].last_error == "the adb server died"
            pool.release(lease, problem="a third time")
        async with pool.lease(timeout_s=T):
            assert source.started == ["direct-1", "direct-2"]
            assert pool.status()[0].failures == 1


async def test_a_phone_that_cannot_be_reconnected_is_replaced_and_its_neighbour_left_alone(eventually) -> None:
    source = TroubledSource()
    async with Pool(source, config(2)) as pool:
        async with pool.lease(timeout_s=T) as neighbour:
            lease = await pool.acquire(timeout_s=T)
            source.gone.add(lease.device.info.serial)
            pool.release(lease, problem="it hangs")
            await eventually(lambda: source.stopped == [lease.device.info.serial])
            await neighbour.device.act(Tap(1, 1), timeout_s=T)
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 2)
        assert sum(phone.failures for phone in pool.status()) == 1


async def test_an_idle_phone_that_hangs_is_found_out_before_a_client_gets_it(eventually) -> None:
    source = TroubledSource()
    async with Pool(source, config(1, probe_interval_s=0.05, probe_timeout_s=0.1, mend_timeout_s=0.1)) as pool:
        async with pool.lease(timeout_s=T) as lease:
            phone = lease.device
            assert isinstance(phone, DirectDevice)
        await eventually(lambda: states(pool) == [PhoneState.FREE])
        with phone.phone.lock:  # as a paused phone: it answers nobody
            await eventually(lambda: bool(source.stopped))
        async with pool.lease(timeout_s=T) as lease:
            assert lease.device is not phone


async def test_when_one_phone_of_a_host_fails_its_idle_neighbours_are_asked_at_once(eventually) -> None:
    metrics = PoolMetrics()
    async with Pool(TroubledSource(), config(3, probe_interval_s=60), metrics=metrics) as pool:
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 3)
        pool.release(await pool.acquire(timeout_s=T), problem="its host hangs")
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 3)
        await eventually(lambda: metrics.probes.labels(answer="yes")._value.get() == 2)


async def test_phones_that_have_served_their_time_are_replaced_one_at_a_time_while_others_serve(eventually) -> None:
    source = TroubledSource()
    async with Pool(source, config(3, max_age_s=0.4, probe_interval_s=0.02)) as pool:
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 3)
        lowest = 3

        def all_replaced() -> bool:
            nonlocal lowest
            lowest = min(lowest, sum(state in (PhoneState.FREE, PhoneState.PROBED) for state in states(pool)))
            return all(phone.recycled >= 1 for phone in pool.status())

        await eventually(all_replaced)
        assert lowest >= 2
        assert sum(phone.failures for phone in pool.status()) == 0


async def test_a_phone_that_grows_is_replaced(eventually) -> None:
    source = TroubledSource()
    async with Pool(source, config(1, max_growth_bytes=1000, probe_interval_s=0.02)) as pool:
        await eventually(lambda: pool.status()[0].memory_bytes == 100)
        source.memory["direct-1"] = 1099
        await eventually(lambda: pool.status()[0].memory_bytes == 1099)
        assert source.stopped == []
        source.memory["direct-1"] = 1100
        await eventually(lambda: source.stopped == ["direct-1"])
        async with pool.lease(timeout_s=T) as lease:
            assert lease.device.info.serial == "direct-2"


async def test_a_host_that_cannot_start_phones_is_left_in_peace_for_longer_each_time(eventually) -> None:
    source = TroubledSource()
    source.start_fails = lambda number: 2 <= number <= 6
    more = PoolConfig(phones=4, backoff_s=0.1, backoff_max_s=0.2, max_starting=1)
    async with Pool(source, more) as pool:
        await eventually(lambda: pool.summary().starts_paused_s > 0)
        await eventually(lambda: len(source.started) == 4)
        pauses = [after - before for before, after in zip(source.attempts_s[1:6], source.attempts_s[2:7], strict=True)]
        assert [pause >= least for pause, least in zip(pauses, (0.1, 0.2, 0.2, 0.2, 0.2), strict=True)] == [True] * 5
        assert pool.summary().starts_paused_s == 0
        assert len(source.attempts_s) == 9
        assert sum(phone.failures for phone in pool.status()) == 5


async def test_draining_refuses_the_new_and_waits_for_the_old() -> None:
    async with Pool(TroubledSource(), config(1)) as pool:
        lease = await pool.acquire(timeout_s=T)
        assert not await pool.drain(timeout_s=0.05)
        with pytest.raises(PoolExhausted, match="closing"):
            await pool.acquire(timeout_s=T)
        draining = asyncio.create_task(pool.drain(timeout_s=T))
        pool.release(lease)
        assert await draining


async def test_metrics_say_what_the_pool_does(eventually) -> None:
    registry = CollectorRegistry()
    async with Pool(TroubledSource(), config(2), metrics=PoolMetrics(registry)) as pool:
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 2)
        async with pool.lease(timeout_s=T):
            lines = generate_latest(registry).decode().splitlines()
            assert 'rlfactory_pool_phones{state="leased"} 1.0' in lines
            assert 'rlfactory_pool_phones{state="free"} 1.0' in lines
            assert "rlfactory_pool_memory_bytes 200.0" in lines
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 2)
        lines = generate_latest(registry).decode().splitlines()
        assert "rlfactory_pool_leases_total 1.0" in lines
        assert "rlfactory_pool_resets_total 1.0" in lines
        assert "rlfactory_pool_reset_seconds_count 1.0" in lines


async def test_a_crowd_with_failures_leaves_no_lease_and_no_phone_behind(eventually) -> None:
    source = TroubledSource()
    async with Pool(source, config(3, spares=1)) as pool:

        async def client(number: int) -> None:
            lease = await pool.acquire(timeout_s=30, client=f"client {number % 4}")
            await asyncio.sleep(0)
            pool.release(lease, problem="it failed" if number % 5 == 0 else "", fatal=number % 10 == 0)

        tasks = [asyncio.create_task(client(number)) for number in range(60)]
        for task in tasks[7::9]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await eventually(lambda: states(pool) == [PhoneState.FREE] * 4)
        assert (pool.summary().leases, pool.waiting) == (0, 0)
    assert sorted(source.started) == sorted(source.stopped)
