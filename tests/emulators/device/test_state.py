"""The flat state: read by one script, parsed once, complete and quiet."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.emulators.device.state import PROBE, Change, DeviceState, diff, digest, parse_probe
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig

HOME = "com.google.android.apps.nexuslauncher/.NexusLauncherActivity"
SETTINGS = "com.android.settings/.Settings"
HELLO_MD5 = hashlib.md5(b"hello\n").hexdigest()


@pytest.fixture
def phone() -> Phone:
    return Phone(PhoneConfig())


def read(phone: Phone) -> DeviceState:
    output = phone.shell(PROBE)
    assert output.stderr == b""
    return parse_probe(output.stdout.decode())


def changes(phone: Phone, command: str) -> dict[str, tuple[str | None, str | None]]:
    """Run a command and return what it changed: key -> (before, after)."""
    before = read(phone)
    result = phone.shell(command)
    assert result.exit_code == 0, result.stderr
    return {change.key: (change.before, change.after) for change in diff(before, read(phone))}


def test_reading_changes_nothing(phone: Phone) -> None:
    before = phone.state_hash()
    assert read(phone) == read(phone)
    assert phone.state_hash() == before


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("settings put system screen_brightness 255", {"settings/system/screen_brightness": ("102", "255")}),
        ("settings put secure new_key 'a=b c'", {"settings/secure/new_key": (None, "a=b c")}),
        ("svc wifi disable", {"settings/global/wifi_on": ("1", "0")}),
        ("mkdir -p '/sdcard/Download/x y'", {"files/Download/x y/": (None, "dir")}),
        ("echo hello > '/sdcard/Music/a  b.txt'", {"files/Music/a  b.txt": (None, HELLO_MD5)}),
        ("rmdir /sdcard/Podcasts", {"files/Podcasts/": ("dir", None)}),
        (f"am start -n {SETTINGS}", {"foreground": (HOME, SETTINGS)}),
        ("sleep 5; input keyevent HOME", {}),
        ("uiautomator dump", {}),
    ],
)
def test_a_change_shows_as_just_its_keys(
    phone: Phone, command: str, expected: dict[str, tuple[str | None, str | None]]
) -> None:
    assert changes(phone, command) == expected


def test_contacts_are_named_and_counted(phone: Phone) -> None:
    phone.shell("pm clear com.android.providers.contacts")
    assert not any(key.startswith("contacts/") for key in read(phone))
    insert = (
        "content insert --uri content://com.android.contacts/raw_contacts "
        "--bind account_type:n: --bind account_name:n:;"
        "content insert --uri content://com.android.contacts/data --bind raw_contact_id:i:{0} "
        "--bind mimetype:s:vnd.android.cursor.item/name --bind data1:s:'Ann, number=1 Lee';"
        "content insert --uri content://com.android.contacts/data --bind raw_contact_id:i:{0} "
        "--bind mimetype:s:vnd.android.cursor.item/phone_v2 --bind data1:s:+1555"
    )
    assert changes(phone, insert.format(1)) == {"contacts/Ann, number=1 Lee/+1555": (None, "1")}
    assert changes(phone, insert.format(2)) == {"contacts/Ann, number=1 Lee/+1555": ("1", "2")}


def test_alarms_are_named_by_time_and_label(phone: Phone) -> None:
    database = "/data/data/com.google.android.deskclock/databases/alarms.db"
    columns = "hour, minutes, daysofweek, enabled, vibrate, label, ringtone"
    values = "6, 5, 0, {}, 0, 'a|b', ''"
    insert = f'sqlite3 {database} "INSERT INTO alarm_templates ({columns}) VALUES ({values});"'
    assert changes(phone, insert.format(1)) == {"alarms/06:05/a|b": (None, "on")}
    assert changes(phone, insert.format(0)) == {"alarms/06:05/a|b#2": (None, "off")}


def test_a_phone_without_clock_or_contacts_still_has_a_state() -> None:
    state = read(Phone(PhoneConfig(), apps=()))
    assert state["settings/global/wifi_on"] == "1"
    assert not any(key.startswith(("alarms/", "contacts/")) for key in state)


def test_what_real_phones_print_is_read_too() -> None:
    printed = (
        "@@state:settings-system\r\nscreen_brightness=10\r\nnotes=first\r\nsecond line\r\n"
        "@@state:foreground\r\n    ResumedActivity: ActivityRecord{3f2a u0 com.a/.B t5}\r\n"
    )
    assert parse_probe(printed) == {
        "settings/system/screen_brightness": "10",
        "settings/system/notes": "first\nsecond line",
        "foreground": "com.a/.B",
    }


@given(st.text(max_size=200))
def test_no_output_breaks_the_reader(text: str) -> None:
    parse_probe(text)
    parse_probe("@@state:contacts\n" + text)


def test_the_state_cannot_be_changed_and_has_a_digest(phone: Phone) -> None:
    state = read(phone)
    with pytest.raises(TypeError):
        state["x"] = "y"  # type: ignore[index]
    assert digest(state) == digest(dict(sorted(state.items(), reverse=True)))
    assert digest({**state, "x": "y"}) != digest(state)
    assert diff({"a": "1", "b": "2"}, {"b": "3"}) == (
        Change(key="a", before="1", after=None),
        Change(key="b", before="2", after="3"),
    )
