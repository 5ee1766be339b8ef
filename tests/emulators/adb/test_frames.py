"""Pictures by the best source, and rest told by frames: a phone behind adb that offers the emulator's gRPC, too."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rlfactory.emulators.adb.client import AdbClient
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.adb.emulator_screen import EmulatorScreen, discovered_screen
from rlfactory.emulators.adb.frames import UiautomatorFrames, choose_frames
from rlfactory.emulators.adb.settle import QUIET_S
from rlfactory.emulators.device.device import ImageSpec, OpenApp, PressKey
from rlfactory.emulators.device.errors import DeviceError, DeviceLost, DeviceTimeout
from tests.emulators.adb.emulator_stub import ControllerStub, served
from tests.emulators.conftest import LabPhone

T = 20.0
PNG = ImageSpec(format="png")


@asynccontextmanager
async def connected(lab_phone: LabPhone, **options):
    device = await AdbDevice.connect(AdbClient(lab_phone.adb_port), lab_phone.serial, timeout_s=T, **options)
    try:
        yield device
    finally:
        await device.close()


@asynccontextmanager
async def device_with_screen(lab_phone: LabPhone, stub: ControllerStub):
    async with served(stub) as address:
        screen = EmulatorScreen(address, token=stub.token)
        async with connected(lab_phone, screen=screen, compare_frames=True) as device:
            yield device


class Timed:
    """A source that takes as long as it is told."""

    def __init__(self, name: str, took_s: float, *, lossless: bool = True, error: str = "") -> None:
        self.name = name
        self.lossless = lossless
        self.took_s = took_s
        self.error = error

    async def frame(self):
        await asyncio.sleep(self.took_s)
        if self.error:
            raise DeviceError(self.error)
        return np.zeros((2, 2, 4), np.uint8)


async def test_the_fastest_lossless_source_is_kept_with_its_reason():
    slow, quick, jpeg = Timed("slow", 0.05), Timed("quick", 0.001), Timed("jpeg", 0, lossless=False)
    choice = await choose_frames((slow, quick, jpeg), patience_s=5)
    assert choice.source is choice.lossless is quick
    assert [part.split()[0] for part in choice.reason.split(", ")] == ["slow", "quick", "jpeg"]


async def test_a_jpeg_is_taken_where_lossless_frames_take_painfully_long():
    slow, jpeg = Timed("slow", 0.6), Timed("jpeg", 0.01, lossless=False)
    choice = await choose_frames((slow, jpeg), patience_s=5)
    assert choice.source is jpeg
    assert choice.lossless is slow


async def test_a_source_that_fails_or_hangs_is_out():
    broken, hung, fine = Timed("broken", 0, error="no such service"), Timed("hung", 9), Timed("fine", 0.001)
    choice = await choose_frames((broken, hung, fine), patience_s=0.2)
    assert choice.source is fine
    assert "broken: no such service, hung: no frame within 0.2 s" in choice.reason
    with pytest.raises(DeviceError, match="no source of lossless frames works: broken: no such service"):
        await choose_frames((broken,), patience_s=0.2)


async def test_pictures_come_by_grpc_and_are_those_of_screencap(lab_phone):
    stub = ControllerStub(lab_phone.phone)
    async with connected(lab_phone) as plain, device_with_screen(lab_phone, stub) as device:
        for source in ("emulator gRPC", "screencap", "uiautomator2 JPEG"):
            assert f"{source} " in device.frames.reason
        # Both are quick here, and which is quicker is chance: look through the emulator's eyes.
        device.frames = await choose_frames((device._screen,), patience_s=T)
        await device.act(OpenApp("Settings"), timeout_s=T)
        await device.settle(timeout_s=T)
        before = stub.frames_served
        ours, theirs = [await each.observe(PNG, with_tree=True, timeout_s=T) for each in (device, plain)]
        assert stub.frames_served > before
        assert (ours.image, ours.tree, ours.activity) == (theirs.image, theirs.tree, theirs.activity)
        ours_rgb, theirs_rgb = [await each.screenshot(timeout_s=T) for each in (device, plain)]
        assert ours_rgb.shape == (800, 360, 3)
        assert np.array_equal(ours_rgb, theirs_rgb)


async def test_a_jpeg_is_the_screen_though_not_to_the_bit(lab_phone):
    async with connected(lab_phone, compare_frames=True) as device:
        assert "uiautomator2 JPEG" in device.frames.reason
        assert device.frames.source.name == "screencap"
        jpeg = await UiautomatorFrames(device._uiautomator).frame()
        exact = await device.screenshot(timeout_s=T)
        assert jpeg.shape == exact.shape
        assert np.abs(jpeg.astype(int) - exact).mean() < 4


@pytest.mark.parametrize("quality", [30, 80])
async def test_a_phone_that_encodes_quickly_sends_the_jpeg_that_would_have_been_made_here(lab_phone, quality):
    async with connected(lab_phone, quick_jpegs=True) as quick, connected(lab_phone) as plain:
        await plain.act(OpenApp("Settings"), timeout_s=T)
        await plain.settle(timeout_s=T)
        for spec in (ImageSpec(quality=quality), ImageSpec(quality=quality, max_pixels=50_000), PNG):
            ours, theirs = [await each.observe(spec, with_tree=True, timeout_s=T) for each in (quick, plain)]
            assert (ours.image, ours.tree, ours.activity) == (theirs.image, theirs.tree, theirs.activity)
            assert (ours.width_px, ours.height_px) == (theirs.width_px, theirs.height_px) == (360, 800)


async def test_a_phone_without_a_jpeg_says_so(lab_phone, monkeypatch):
    async def answer(*_: object) -> str:
        return "bm8gSlBFRw=="

    async with connected(lab_phone, quick_jpegs=True) as device:
        monkeypatch.setattr(device.frames.jpegs, "_uiautomator", SimpleNamespace(look=answer))
        with pytest.raises(DeviceError, match="uiautomator2 took no screenshot: not a JPEG: b'no JPEG'"):
            await device.observe(ImageSpec(), with_tree=False, timeout_s=T)


async def test_a_phone_that_stops_drawing_is_still(lab_phone):
    async with device_with_screen(lab_phone, ControllerStub(lab_phone.phone)) as device:
        await device.act(PressKey("HOME"), timeout_s=T)
        settled = await device.settle(timeout_s=5)
        assert settled.reason == "still"
        assert settled.waited_s >= QUIET_S


async def test_a_phone_that_draws_all_the_time_is_judged_by_its_tree(lab_phone):
    stub = ControllerStub(lab_phone.phone)
    stub.restless = True
    async with device_with_screen(lab_phone, stub) as device:
        for _ in range(3):  # on a busy machine the stub may fall silent for long enough to look still
            settled = await device.settle(timeout_s=6)
            if settled.reason == "idle":
                break
        assert settled.reason == "idle"
        assert settled.waited_s >= 3


async def test_a_token_is_shown_to_an_emulator_that_wants_one(lab_phone):
    async with served(ControllerStub(lab_phone.phone, token="the-emulators-own")) as address:
        for token, admitted in (("the-emulators-own", True), ("", False), ("wrong", False)):
            screen = EmulatorScreen(address, token=token)
            if admitted:
                assert await screen.version() == "36.1.9"
                assert (await screen.frame()).shape == (800, 360, 4)
            else:
                for attempt in (screen.frame(), screen.version(), screen.until_still(quiet_s=0.1)):
                    with pytest.raises(DeviceError, match="UNAUTHENTICATED: invalid_token"):
                        await attempt
            await screen.close()


async def test_a_dark_display_and_a_dead_emulator_are_told_apart(lab_phone, eventually):
    stub = ControllerStub(lab_phone.phone)
    async with served(stub) as address:
        screen = EmulatorScreen(address)
        stub.display_off = True
        with pytest.raises(DeviceError, match="its display is off"):
            await screen.frame()
        stub.display_off = False
        watching = asyncio.create_task(screen.until_still(quiet_s=30))
        await eventually(lambda: stub.watched)
    for attempt in (screen.frame(), watching):
        with pytest.raises(DeviceLost):
            await attempt
    await screen.close()


async def test_an_emulator_that_hangs_costs_no_more_than_the_deadline(lab_phone):
    stub = ControllerStub(lab_phone.phone)
    async with device_with_screen(lab_phone, stub) as device:
        device.frames = await choose_frames((device._screen,), patience_s=T)
        stub.hangs = True
        with pytest.raises(DeviceTimeout, match=r"observe on emulator-\d+ did not end within 0.3 s"):
            await device.observe(PNG, with_tree=False, timeout_s=0.3)


async def test_an_emulator_is_found_by_what_it_tells_of_itself(tmp_path: Path, lab_phone):
    async with served(ControllerStub(lab_phone.phone, token="abc")) as address:
        port = address.rpartition(":")[2]
        (tmp_path / "pid_1.ini").write_text("port.serial=5556\ngrpc.port=1\n")
        (tmp_path / "pid_2.ini").write_text(f"port.serial = 5554\ngrpc.port={port}\ngrpc.token=abc\n")
        (tmp_path / "pid_3.ini").write_text("port.serial=5558\n")
        screen = discovered_screen(5554, (tmp_path / "nowhere", tmp_path))
        assert await screen.version() == "36.1.9"
        await screen.close()
        assert discovered_screen(5558, (tmp_path,)) is None
        assert discovered_screen(5560, (tmp_path,)) is None
