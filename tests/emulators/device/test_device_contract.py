"""The contract of `Device`, and that both ways to a phone are the same phone.

Every test runs on a `DirectDevice` and on an `AdbDevice` behind a real adb server; the last ones drive both side by
side through the same random actions and compare pixels, trees and state.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import numpy as np
import pytest

from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.device.device import (
    Device,
    DeviceAction,
    DoubleTap,
    Drag,
    ImageSpec,
    LongPress,
    OpenApp,
    PressKey,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from rlfactory.emulators.device.errors import ActionRejected, CommandFailed, DeviceError, DeviceLost, DeviceTimeout
from rlfactory.emulators.device.ui import UiNode
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from tests.emulators.conftest import Lab

WIDTH, HEIGHT = 360, 800
CONFIG = PhoneConfig(width_px=WIDTH, height_px=HEIGHT)
PNG = ImageSpec(format="png")
T = 30.0
"""Seconds that any call may take."""


@asynccontextmanager
async def direct_device() -> AsyncIterator[Device]:
    source = DirectSource(CONFIG)
    device = await source.start()
    try:
        yield device
    finally:
        await source.stop(device)
        await source.close()


@asynccontextmanager
async def adb_device(lab: Lab) -> AsyncIterator[Device]:
    phone = await asyncio.to_thread(lab.start_phone, CONFIG)
    device = await AdbDevice.connect(lab.adb, phone.serial, timeout_s=20)
    try:
        yield device
    finally:
        await device.close()
        await asyncio.to_thread(lab.stop_phone, phone)


@pytest.fixture(params=["direct", "adb"])
async def device(request: pytest.FixtureRequest, lab: Lab) -> AsyncIterator[Device]:
    async with direct_device() if request.param == "direct" else adb_device(lab) as device:
        yield device


# --- each of them


async def test_it_says_what_it_is(device: Device) -> None:
    info = device.info
    assert (info.width_px, info.height_px, info.density_dpi) == (WIDTH, HEIGHT, CONFIG.density)
    assert (info.model, info.sdk) == ("Pixel 6", 33)


async def test_it_opens_apps_by_label_and_by_package(device: Device) -> None:
    await device.act(OpenApp("settings"), timeout_s=T)
    assert (await device.observe(PNG, with_tree=False, timeout_s=T)).activity.startswith("com.android.settings/")
    await device.act(OpenApp("com.google.android.deskclock"), timeout_s=T)
    assert "com.google.android.deskclock/" in (await device.observe(PNG, with_tree=False, timeout_s=T)).activity


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Tap(WIDTH, 0), "off the screen"),
        (Tap(0, -1), "off the screen"),
        (DoubleTap(0, HEIGHT), "off the screen"),
        (LongPress(9999, 10), "off the screen"),
        (Swipe(10, 10, 10, HEIGHT), "off the screen"),
        (Drag(-5, 10, 10, 10), "off the screen"),
        (OpenApp("Settingz"), "close: Settings"),
        (PressKey("HOMME"), "close: HOME"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_leaves_no_trace(
    device: Device, action: DeviceAction, words: str
) -> None:
    before = await device.state(timeout_s=T)
    with pytest.raises(ActionRejected, match=words):
        await device.act(action, timeout_s=T)
    assert await device.state(timeout_s=T) == before


async def test_a_look_is_one_moment(device: Device) -> None:
    await device.act(OpenApp("Settings"), timeout_s=T)
    first = await device.observe(ImageSpec(quality=90), with_tree=True, timeout_s=T)
    second = await device.observe(ImageSpec(quality=90), with_tree=True, timeout_s=T)
    assert first.sequence < second.sequence
    assert (first.image, first.tree, first.activity) == (second.image, second.tree, second.activity)
    assert first.tree is not None
    assert any(node.text.startswith("Network") for node in first.tree.walk())
    assert (first.width_px, first.height_px) == (WIDTH, HEIGHT)
    plain = await device.observe(ImageSpec(max_pixels=100_000, multiple_px=28), with_tree=False, timeout_s=T)
    assert plain.tree is None
    assert plain.image.width_px % 28 == plain.image.height_px % 28 == 0
    assert plain.image.width_px * plain.image.height_px <= 100_000
    unseen = await device.observe(None, with_tree=True, timeout_s=T)
    assert unseen.image is None
    assert (unseen.tree, unseen.activity) == (first.tree, first.activity)
    assert (unseen.width_px, unseen.height_px) == (WIDTH, HEIGHT)


async def test_it_settles(device: Device) -> None:
    await device.act(PressKey("HOME"), timeout_s=T)
    assert (await device.settle(timeout_s=T)).reason == "idle"


async def test_the_shell_keeps_outputs_apart(device: Device) -> None:
    result = await device.shell("echo out; echo err >&2; exit 3", timeout_s=T)
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)


async def test_a_command_line_may_be_long(device: Device) -> None:
    text = "x" * 100_000
    assert (await device.shell(f"echo {text} | wc -c; exit 4", timeout_s=T)).stdout.strip() == "100001"
    assert (await device.shell(f": {text}; exit 4", timeout_s=T)).exit_code == 4


async def test_files_come_back_as_they_went(device: Device) -> None:
    data = bytes(range(256)) * 5000
    await device.push("/sdcard/new folder/ü b.bin", data, timeout_s=T)
    assert await device.pull("/sdcard/new folder/ü b.bin", timeout_s=T) == data
    assert (await device.shell("stat -c %Y '/sdcard/new folder/ü b.bin'", timeout_s=T)).stdout.startswith("16973")
    with pytest.raises(CommandFailed, match="No such file"):
        await device.pull("/sdcard/none", timeout_s=T)
    with pytest.raises(CommandFailed):
        await device.push("/sdcard", b"", timeout_s=T)


async def test_a_snapshot_brings_everything_back(device: Device) -> None:
    await device.act(OpenApp("Settings"), timeout_s=T)
    snapshot = await device.save_snapshot(timeout_s=T)
    state, screen = await device.state(timeout_s=T), await device.observe(PNG, with_tree=True, timeout_s=T)
    await device.act(OpenApp("Clock"), timeout_s=T)
    await device.push("/sdcard/x", b"x", timeout_s=T)
    await device.shell("settings put system screen_brightness 7", timeout_s=T)
    assert await device.state(timeout_s=T) != state
    await device.load_snapshot(snapshot, timeout_s=T)
    again = await device.observe(PNG, with_tree=True, timeout_s=T)
    assert await device.state(timeout_s=T) == state
    assert (again.image, again.tree) == (screen.image, screen.tree)
    await device.delete_snapshot(snapshot, timeout_s=T)
    with pytest.raises(DeviceError):
        await device.load_snapshot(snapshot, timeout_s=T)


async def test_a_deadline_ends_a_call(device: Device) -> None:
    with pytest.raises(DeviceTimeout, match="0 s"):
        await device.shell("echo late", timeout_s=0)
    assert (await device.shell("echo early", timeout_s=T)).stdout == "early\n"


async def test_a_cancelled_call_lets_go(device: Device) -> None:
    task = asyncio.create_task(device.observe(PNG, with_tree=True, timeout_s=T))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await device.observe(PNG, with_tree=True, timeout_s=T)).tree is not None


async def test_a_closed_device_is_lost(device: Device) -> None:
    await device.close()
    with pytest.raises(DeviceLost):
        await device.shell("echo", timeout_s=T)


async def test_it_may_be_turned(device: Device) -> None:
    await device.shell("settings put system accelerometer_rotation 0; settings put system user_rotation 1", timeout_s=T)
    screen = await device.observe(ImageSpec(), with_tree=True, timeout_s=T)
    assert (screen.width_px, screen.height_px) == (HEIGHT, WIDTH)
    assert (screen.image.width_px, screen.image.height_px) == (HEIGHT, WIDTH)
    assert (await device.screenshot(timeout_s=T)).shape == (WIDTH, HEIGHT, 3)
    await device.act(Tap(HEIGHT - 1, 10), timeout_s=T)
    with pytest.raises(ActionRejected):
        await device.act(Tap(10, HEIGHT - 1), timeout_s=T)


async def test_text_is_typed_as_it_stands(device: Device) -> None:
    await open_form(device)
    text = 'It\'s 100%s "q" $HOME `x` \\ ; & Zoë'
    await device.act(TypeText(text), timeout_s=T)
    assert text in [node.text for node in (await tree_of(device)).walk()]


async def test_a_double_tap_selects_the_text_of_a_field(device: Device) -> None:
    await open_form(device)
    await device.act(TypeText("before"), timeout_s=T)
    await device.act(DoubleTap(*await place_of(device, "before")), timeout_s=T)
    await device.act(TypeText("after"), timeout_s=T)
    texts = {node.text for node in (await tree_of(device)).walk()}
    assert {"before", "after", "beforeafter"} & texts == {"after"}


@pytest.mark.parametrize(
    ("action", "takes_s"),
    [
        (Tap(180, 300), 1),
        (DoubleTap(180, 300), 1),
        (LongPress(180, 300), 1),
        (LongPress(180, 300, 0.2), 1),
        (Swipe(180, 600, 180, 300), 1),
        (Swipe(180, 600, 180, 600), 1),
        (Drag(180, 600, 180, 300), 1),
        (TypeText("one"), 1),
        (TypeText("Größe"), 1),
        (TypeText("one\ntwo 5%s"), 3),
        (PressKey("back"), 1),
        (OpenApp("Clock"), 0),
        (Wait(2.5), 2.5),
    ],
    ids=str,
)
async def test_an_action_takes_its_time_on_the_phones_clock(
    device: Device, action: DeviceAction, takes_s: float
) -> None:
    async def now_s() -> float:
        return float((await device.shell("date +%s.%N", timeout_s=T)).stdout)

    before_s = await now_s()
    await device.act(action, timeout_s=T)
    assert await now_s() - before_s == takes_s


async def tree_of(device: Device) -> UiNode:
    tree = (await device.observe(PNG, with_tree=True, timeout_s=T)).tree
    assert tree is not None
    return tree


async def open_form(device: Device) -> None:
    """Open Contacts' form with the cursor in its first field."""
    await device.act(OpenApp("Contacts"), timeout_s=T)
    await tap_on(device, "Create contact")
    await tap_on(device, "First name")


async def place_of(device: Device, label: str) -> tuple[int, int]:
    tree = await tree_of(device)
    found = [node for node in tree.walk() if label in (node.text, node.description, node.hint)]
    assert found, [(node.text, node.description, node.hint) for node in tree.walk()]
    return found[0].bounds.center


async def tap_on(device: Device, label: str) -> None:
    await device.act(Tap(*await place_of(device, label)), timeout_s=T)


# --- both alike


def random_action(draw: random.Random) -> DeviceAction:
    x, y = draw.randrange(WIDTH), draw.randrange(HEIGHT)
    x2, y2 = draw.randrange(WIDTH), draw.randrange(HEIGHT)
    actions: list[DeviceAction] = [
        *[Tap(x, y)] * 8,
        DoubleTap(x, y),
        LongPress(x, y),
        Swipe(x, y, x, y2),
        Swipe(x, y, x2, y2, 0.2),
        Drag(x, y, x2, y2),
        TypeText(draw.choice(["abc", "Hi there!", "Größe\nzwei", "it's 5%s", "x" * 30])),
        PressKey(draw.choice(["BACK", "HOME", "ENTER", "DEL", "APP_SWITCH", "TAB"])),
        *[OpenApp(draw.choice(["Settings", "Contacts", "Clock", "Files", "Markor"]))] * 2,
        Wait(draw.choice([0.5, 3.0, 61.0])),
    ]
    return draw.choice(actions)


async def tap_something(device: Device, draw: random.Random) -> DeviceAction | None:
    """A tap on something that takes taps: what random points seldom hit."""
    targets = [node.bounds.center for node in (await tree_of(device)).walk() if node.clickable or node.focusable]
    inside = [(x, y) for x, y in targets if 0 <= x < WIDTH and 0 <= y < HEIGHT]
    return Tap(*draw.choice(inside)) if inside else None


@pytest.mark.parametrize("seed", range(6))
async def test_both_ways_lead_to_the_same_phone(lab: Lab, seed: int) -> None:
    draw = random.Random(seed)
    async with AsyncExitStack() as stack:
        direct = await stack.enter_async_context(direct_device())
        wired = await stack.enter_async_context(adb_device(lab))
        done: list[DeviceAction] = []
        for step in range(20):
            targeted = await tap_something(direct, draw) if step % 2 else None
            action = targeted or random_action(draw)
            done.append(action)
            await direct.act(action, timeout_s=T)
            await wired.act(action, timeout_s=T)
            await wired.settle(timeout_s=T)
            here = await direct.observe(ImageSpec(), with_tree=True, timeout_s=T)
            there = await wired.observe(ImageSpec(), with_tree=True, timeout_s=T)
            assert here.activity == there.activity, done
            assert here.tree == there.tree, done
            assert here.image == there.image, done
        assert np.array_equal(await direct.screenshot(timeout_s=T), await wired.screenshot(timeout_s=T)), done
        assert await direct.state(timeout_s=T) == await wired.state(timeout_s=T), done
        clocks = [await device.shell("date +%s.%N", timeout_s=T) for device in (direct, wired)]
        assert clocks[0].stdout == clocks[1].stdout, done
