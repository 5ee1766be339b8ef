"""A phone that falls silent under a call is noticed long before the call's deadline."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from rlfactory.emulators.adb import watchdog
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.adb.watchdog import watched
from rlfactory.emulators.device.errors import DeviceLost
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.hosted import ProcessSource


async def test_a_phone_whose_host_stands_still_is_lost_within_seconds() -> None:
    source = ProcessSource(PhoneConfig(width_px=270, height_px=600))
    device = await source.start()
    assert isinstance(device, AdbDevice)
    host = int(source.host(device).removeprefix("host-"))
    try:
        os.kill(host, signal.SIGSTOP)
        began_s = time.monotonic()
        with pytest.raises(DeviceLost, match="has stopped answering"):
            await device.shell("echo there", timeout_s=60)
        assert time.monotonic() - began_s < 15
        os.kill(host, signal.SIGCONT)
        assert (await device.shell("echo there", timeout_s=30)).stdout == "there\n"
    finally:
        os.kill(host, signal.SIGCONT)
        await source.stop(device)
        await source.close()


async def test_a_phone_that_takes_long_but_answers_is_waited_for(monkeypatch, eventually) -> None:
    monkeypatch.setattr(watchdog, "PATIENCE_S", 0.01)
    asked = 0

    async def ask() -> None:
        nonlocal asked
        asked += 1
        if asked % 2:
            raise DeviceLost("one answer may be lost")

    async with watched(ask, "phone 7"):
        await eventually(lambda: asked >= 10)
    await eventually(lambda: asyncio.all_tasks() == {asyncio.current_task()})  # nobody is left who asks


@pytest.mark.parametrize("error", [TimeoutError("its own"), DeviceLost("gone"), asyncio.CancelledError()])
async def test_what_the_block_raises_is_left_as_it_is(error) -> None:
    async def ask() -> None:
        raise AssertionError("nobody asks so soon")

    with pytest.raises(type(error)) as caught:
        async with watched(ask, "phone 7"):
            raise error
    assert caught.value is error
