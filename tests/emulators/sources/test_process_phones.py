"""Phones in worker processes behind our own adb server, under the pool: what dies is replaced, nothing is left."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import psutil
import pytest

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.console import EmulatorConsole
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.device.device import Device, OpenApp, Tap
from rlfactory.emulators.device.errors import DeviceError, DeviceUnsupported
from rlfactory.emulators.pool import Pool, PoolConfig
from rlfactory.emulators.sources.attached import AttachedSource
from rlfactory.emulators.sources.hosted import ProcessSource, start_worker
from tests.emulators.sources.hosted_phones import (
    SMALL,
    T,
    all_free,
    assert_leased_reset_and_forked,
    assert_replaced_when_killed,
)
from tests.family import family, lives


def children() -> set[psutil.Process]:
    """Direct children of ours that still run."""
    return {each for each in psutil.Process().children() if lives(each)}


def console_of(device: Device) -> EmulatorConsole:
    return EmulatorConsole(int(device.info.serial.removeprefix("emulator-")))


async def test_phones_in_processes_are_leased_reset_and_forked(eventually) -> None:
    before = children()
    async with Pool(ProcessSource(SMALL, phones_per_host=2), PoolConfig(phones=4)) as pool:
        await assert_leased_reset_and_forked(pool, eventually)
        assert len(children() - before) == 3  # an adb server and two hosts
    assert children() == before


async def test_a_killed_phone_is_replaced(eventually) -> None:
    async with Pool(ProcessSource(SMALL), PoolConfig(phones=2, backoff_s=0.01)) as pool:
        await assert_replaced_when_killed(pool, lambda lease: console_of(lease.device).kill(), eventually)


async def test_a_killed_host_is_replaced_with_its_phones(eventually) -> None:
    before = children()
    source = ProcessSource(SMALL)
    async with Pool(source, PoolConfig(phones=2, backoff_s=0.01)) as pool:
        first, second = await pool.acquire(timeout_s=T), await pool.acquire(timeout_s=T)
        os.kill(int(first.host.removeprefix("host-")), signal.SIGKILL)
        for lease in (first, second):
            with pytest.raises(DeviceError):
                await lease.device.act(Tap(1, 1), timeout_s=T)
            pool.release(lease, problem="it was killed")
        await eventually(lambda: all_free(pool))
        async with pool.lease(timeout_s=T) as lease:
            await lease.device.act(Tap(1, 1), timeout_s=T)
    assert children() == before


def adb_server_of(source: ProcessSource) -> int:
    """Return the process id of the adb server itself."""
    assert source._adb is not None
    port = str(source._adb.port)
    (server,) = (each for each in family(port) if each.name() == "adb")
    return server.pid


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
async def test_an_adb_server_that_dies_or_hangs_comes_back_and_no_phone_is_lost(
    how: signal.Signals, eventually
) -> None:
    source = ProcessSource(SMALL)
    async with Pool(source, PoolConfig(phones=2, mend_timeout_s=8.0)) as pool:
        await eventually(lambda: all_free(pool))
        serials = {status.serial for status in pool.status()}
        with pytest.raises(DeviceError):
            async with pool.lease(timeout_s=T) as lease:
                os.kill(adb_server_of(source), how)
                await lease.device.act(Tap(1, 1), timeout_s=0.5)
        await eventually(lambda: all_free(pool))
        for _ in serials:
            lease = await pool.acquire(timeout_s=T)
            await lease.device.act(Tap(1, 1), timeout_s=T)
        status = pool.status()
        assert {phone.serial for phone in status} == serials
        assert sum(phone.failures for phone in status) == 0


async def test_a_phone_that_dies_while_free_is_found_out_by_its_next_client(eventually) -> None:
    async with Pool(ProcessSource(SMALL), PoolConfig(phones=1, backoff_s=0.01)) as pool:
        lease = await pool.acquire(timeout_s=T)
        console = console_of(lease.device)
        pool.release(lease)
        await eventually(lambda: all_free(pool))
        await console.kill()
        with pytest.raises(DeviceError):
            async with pool.lease(timeout_s=T) as lease:
                await lease.device.act(Tap(1, 1), timeout_s=T)
        async with pool.lease(timeout_s=T) as lease:
            await lease.device.act(Tap(1, 1), timeout_s=T)


async def test_attached_phones_are_used_and_left_running() -> None:
    owner = ProcessSource(SMALL)
    try:
        phones = [await owner.start(), await owner.start()]
        assert owner._adb is not None
        serials = [phone.info.serial for phone in phones]
        source = AttachedSource(serials, adb_port=owner._adb.port)
        async with Pool(source, PoolConfig(phones=2)) as pool, pool.lease(timeout_s=T) as lease:
            assert lease.device.info.serial in serials
            await lease.device.act(OpenApp("Settings"), timeout_s=T)
        assert (await phones[0].shell("echo alive", timeout_s=T)).stdout == "alive\n"
        physical = AdbDevice(AdbClient(owner._adb.port), replace(phones[0].info, serial="R5CT10"))
        with pytest.raises(DeviceUnsupported, match="R5CT10 has no emulator's console"):
            await physical.save_snapshot(timeout_s=T)
    finally:
        for phone in phones:
            await owner.stop(phone)
        await owner.close()


@pytest.mark.parametrize("serials", [[], ["a", "a"]])
def test_attached_serials_are_checked(serials: list[str]) -> None:
    with pytest.raises(ValueError, match="serial"):
        AttachedSource(serials)


async def test_a_request_the_host_does_not_know_is_refused() -> None:
    worker = await start_worker()
    try:
        with pytest.raises(DeviceError, match="unknown request"):
            await worker.request(dance=True)
        with pytest.raises(DeviceError, match="wide and high"):
            await worker.request(start={"width_px": 1})
        assert (await worker.request(stop="emulator-1"))["stopped"] is False
    finally:
        await worker.close()
    with pytest.raises(DeviceError, match="has ended"):
        await worker.request(stop="emulator-1")
