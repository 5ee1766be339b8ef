"""A screen and a state that are not worked out again are what working them out again would give."""

from __future__ import annotations

import random

import pytest

from rlfactory.emulators.device.device import DeviceAction, OpenApp, PressKey, Swipe, Tap, TypeText, Wait
from rlfactory.emulators.device.state import PROBE, parse_probe
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.view.builder import build_scene
from rlfactory.emulators.sources.direct import DirectSource

WIDTH, HEIGHT = 360, 800
CONFIG = PhoneConfig(width_px=WIDTH, height_px=HEIGHT)
T = 30.0


def random_action(draw: random.Random, phone: Phone) -> DeviceAction:
    targets = [node.bounds.center for node in phone.ui_tree().walk() if node.clickable]
    on_screen: list[DeviceAction] = [Tap(x, y) for x, y in targets if 0 <= x < WIDTH and 0 <= y < HEIGHT]
    apps = ("Settings", "Clock", "Files", "Markor", "Simple Calendar Pro")
    others: list[DeviceAction] = [
        PressKey(draw.choice(["BACK", "HOME", "APP_SWITCH"])),
        Wait(draw.choice([0.5, 61.0])),
        TypeText("ab"),
        OpenApp(draw.choice(apps)),
        Swipe(180, 600, 180, 200),
        Swipe(180, 2, 180, 600),
        Tap(0, HEIGHT // 2),
    ]
    return draw.choice(on_screen if on_screen and draw.random() < 0.4 else others)


@pytest.mark.parametrize("seed", range(2))
async def test_nothing_is_kept_that_has_changed(seed: int) -> None:
    draw, source, kept = random.Random(seed), DirectSource(CONFIG), 0
    device = await source.start()
    phone = device.phone
    for step in range(40):
        before = phone.scene()
        await device.act(random_action(draw, phone), timeout_s=T)
        scene, anew = phone.scene(), build_scene(phone)
        kept += scene is before
        assert (scene.digest, scene.ui_tree) == (anew.digest, anew.ui_tree), step
        assert await device.state(timeout_s=T) == parse_probe(phone.shell(PROBE).stdout.decode()), step
    assert kept
    await source.close()


def test_a_screen_is_kept_within_the_minute() -> None:
    phone = Phone(CONFIG)
    phone.key("HOME")
    home = phone.scene()
    phone.key("HOME")
    assert phone.scene() is home
    phone.advance(60_000)
    assert phone.scene().digest != home.digest


def test_a_restored_phone_acts_on_itself() -> None:
    phone = Phone(CONFIG)
    phone.shell("am start -n com.android.settings/.Settings")
    saved = phone.snapshot()
    before = phone.scene()
    phone.restore(saved)
    assert phone.scene() is not before
    assert phone.scene().digest == before.digest
