"""Windows of others, and pages that load slowly, on a simulated phone: what `disturb` brings about."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from rlfactory.emulators.simulator.phone import Phone, PhoneConfig

DIALOG = {"kind": "dialog", "package": "android", "title": "Update?", "text": "Now.", "buttons": ["Later", "Now"]}
CALL = {"kind": "call", "package": "com.google.android.dialer", "title": "Mum", "buttons": ["Decline", "Answer"]}
BANNER = {"kind": "banner", "package": "com.google.android.contacts", "title": "Sam", "text": "Hello"}


@pytest.fixture
def phone() -> Phone:
    phone = Phone(PhoneConfig(width_px=540, height_px=1200))
    phone.shell("am start -a android.settings.SETTINGS")
    return phone


def show(phone: Phone, window: Mapping[str, object]) -> None:
    assert phone.shell(f"disturb show '{json.dumps(window)}'").exit_code == 0


def texts(phone: Phone) -> set[str]:
    return {node.text for node in phone.ui_tree().walk()}


def press(phone: Phone, text: str) -> None:
    node = next(node for node in phone.ui_tree().walk() if text in (node.text, node.description))
    phone.tap(*node.bounds.center)


def test_a_dialog_keeps_touches_until_it_is_answered(phone: Phone) -> None:
    row = next(node for node in phone.ui_tree().walk() if node.text == "Display")
    show(phone, DIALOG)
    assert phone.ui_tree().package == "android"
    before = phone.foreground
    phone.tap(*row.bounds.center)
    assert phone.foreground == before
    show(phone, DIALOG)
    press(phone, "Later")
    assert "Update?" not in texts(phone)
    assert phone.ui_tree().package == "com.android.settings"


def test_back_declines_a_dialog_and_leaves_the_app_where_it_was(phone: Phone) -> None:
    before = phone.foreground
    show(phone, DIALOG)
    phone.key("BACK")
    assert phone.ui_tree().package == "com.android.settings"
    assert phone.foreground == before


def test_a_call_that_is_answered_goes_on_until_it_is_ended(phone: Phone) -> None:
    show(phone, CALL)
    assert phone.state.call_state == 1
    press(phone, "Answer")
    assert phone.state.call_state == 2
    press(phone, "End call")
    assert phone.state.call_state == 0
    assert phone.ui_tree().package == "com.android.settings"


def test_a_banner_covers_the_top_goes_by_itself_and_leaves_a_notification(phone: Phone) -> None:
    show(phone, BANNER)
    assert "Hello" in texts(phone)
    phone.advance(6_000)
    assert "Hello" not in texts(phone)
    phone.shell("cmd statusbar expand-notifications")
    assert "Hello" in texts(phone)


def test_a_banner_that_is_touched_opens_its_app_and_its_cross_does_not(phone: Phone) -> None:
    show(phone, BANNER)
    press(phone, "Dismiss notification")
    assert phone.foreground.startswith("com.android.settings")
    show(phone, BANNER)
    press(phone, "Hello")
    assert phone.foreground.startswith("com.google.android.contacts")


@pytest.mark.parametrize("kind", ["splash", "two_steps"])
def test_a_page_that_loads_takes_no_touch_until_it_is_there(phone: Phone, kind: str) -> None:
    phone.shell(f"disturb loading {kind} 5000")
    press(phone, "Display")
    assert "Dark theme" not in texts(phone)
    assert any(node.resource_id.endswith("/loading") for node in phone.ui_tree().walk())
    phone.advance(5_000)
    assert "Dark theme" in texts(phone)


def test_a_snapshot_holds_what_waits_for_an_answer(phone: Phone) -> None:
    show(phone, DIALOG)
    twin = phone.fork("twin")
    press(phone, "Later")
    assert "Update?" in texts(twin)
    assert twin.state_hash() != phone.state_hash()


def test_what_is_no_window_is_refused(phone: Phone) -> None:
    assert "no window" in phone.shell("disturb show '{}'").stderr.decode()
    assert "usage: disturb" in phone.shell("disturb").stderr.decode()


def test_full_storage_takes_no_file_until_room_is_made(phone: Phone) -> None:
    window = {
        "kind": "storage",
        "package": "android",
        "title": "Storage is full",
        "buttons": ["Free up space", "Later"],
    }
    saving = "echo hello > /sdcard/Download/a.txt"
    empty = phone.state_hash()
    show(phone, window)
    press(phone, "Later")
    assert phone.state_hash() != empty
    twin = phone.fork("twin")
    refused = twin.shell(saving)
    assert refused.exit_code == 1
    assert b"No space left on device" in refused.stderr
    assert twin.shell("cp /sdcard/Download/coffee_guide.txt /sdcard/Documents/").exit_code == 1
    assert twin.shell("mv /sdcard/Download/coffee_guide.txt /sdcard/Documents/").exit_code == 0, "moving takes no room"
    assert twin.shell("settings put system screen_off_timeout 30000").exit_code == 0, "apps have a reserve"
    show(twin, window)
    press(twin, "Free up space")
    assert twin.shell(saving).exit_code == 0
    assert phone.shell(saving).exit_code == 1, "the other one is still full"
