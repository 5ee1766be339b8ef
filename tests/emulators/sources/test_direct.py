"""Simulated phones of this process: what is known is answered at once, and nothing old is ever answered."""

from __future__ import annotations

import threading

import pytest

from rlfactory.emulators.device.device import ImageSpec, PressKey, Tap
from rlfactory.emulators.device.errors import DeviceLost
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource

SPEC = ImageSpec()


async def test_what_is_known_needs_no_thread_and_what_is_not_waits_for_one() -> None:
    source = DirectSource(PhoneConfig(width_px=320, height_px=640), threads=1)
    device = await source.start()
    first = await device.observe(SPEC, with_tree=True, timeout_s=30)
    await device.state(timeout_s=30)
    await device.act(PressKey("HOME"), timeout_s=30)
    free = threading.Event()
    taken = source._executor.submit(free.wait)
    try:
        again = await device.observe(SPEC, with_tree=True, timeout_s=30)
        state = await device.state(timeout_s=30)
        assert not taken.done()
    finally:
        free.set()
    assert (again.image, again.tree, again.sequence) == (first.image, first.tree, first.sequence + 1)
    assert state["clock/now"] == f"{device.phone.state.clock.now():%Y-%m-%d %H:%M:%S}"
    await device.act(PressKey("HOME"), timeout_s=30)
    await device.close()
    with pytest.raises(DeviceLost):
        await device.observe(SPEC, with_tree=True, timeout_s=30)
    with pytest.raises(DeviceLost):
        await device.state(timeout_s=30)
    await source.close()


async def test_nothing_old_is_answered() -> None:
    source = DirectSource(PhoneConfig(width_px=320, height_px=640))
    device = await source.start()
    home, before = await device.observe(SPEC, with_tree=True, timeout_s=30), await device.state(timeout_s=30)
    for command in (
        "settings put system font_scale 1.3",
        "echo x > /sdcard/new.txt",
        "am start -n com.android.settings/.Settings",
    ):
        await device.shell(command, timeout_s=30)
        after = await device.state(timeout_s=30)
        assert dict(after) != dict(before), command
        before = after
    shown = await device.observe(SPEC, with_tree=True, timeout_s=30)
    assert shown.activity != home.activity
    assert shown.image != home.image
    assert (await device.observe(None, with_tree=False, timeout_s=30)).image is None
    for _ in range(2):
        await device.act(Tap(1, 639), timeout_s=30)
    before = await device.state(timeout_s=30)
    device.phone.key("HOME")  # by whoever else has the phone
    assert (await device.observe(SPEC, with_tree=True, timeout_s=30)).activity == home.activity
    assert dict(await device.state(timeout_s=30)) != dict(before)
    await source.close()
