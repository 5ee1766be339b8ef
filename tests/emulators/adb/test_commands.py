"""What is said to a phone's shell and how its answers are read: with the words of real phones."""

from __future__ import annotations

import shlex
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.emulators.adb.commands import (
    action_command,
    parse_apps,
    parse_component,
    parse_density,
    parse_frame,
    parse_raw,
    parse_size,
)
from rlfactory.emulators.device.device import Drag, LongPress, PressKey, Swipe, Tap, Wait
from rlfactory.emulators.device.errors import ActionRejected, DeviceError
from rlfactory.emulators.device.keys import KEY_NAMES, KEYCODES, key_name
from rlfactory.emulators.device.launching import LaunchableApp, find_app, launch_command
from rlfactory.emulators.device.typing_plan import Enter, Keystrokes, Paste, plan_typing


def test_actions_are_input_commands() -> None:
    assert action_command(Tap(1, 2)) == "input tap 1 2"
    assert action_command(LongPress(1, 2, 0.75)) == "input swipe 1 2 1 2 750"
    assert action_command(Swipe(1, 2, 3, 4)) == "input swipe 1 2 3 4 300"
    assert action_command(Drag(1, 2, 3, 4)) == "input draganddrop 1 2 3 4 1000"
    assert action_command(PressKey("home")) == "input keyevent KEYCODE_HOME"
    assert action_command(Wait(1.5)) == "sleep 1.500"


@pytest.mark.parametrize(
    ("line", "component"),
    [
        (
            "  mResumedActivity: ActivityRecord{3e5f u0 com.android.settings/.Settings t12}",
            "com.android.settings/.Settings",
        ),
        ("    topResumedActivity=ActivityRecord{8c u0 a.b/c.D t5} d0}", "a.b/c.D"),
        ("    ResumedActivity: ActivityRecord{1 u10 a.b/.C}", "a.b/.C"),
        ("  mLastPausedActivity: ActivityRecord{1 u0 a.b/.C t1}", ""),
        ("", ""),
    ],
)
def test_the_resumed_activity_is_read(line: str, component: str) -> None:
    assert parse_component(line) == component


@pytest.mark.parametrize("header", [struct.pack("<3I", 2, 1, 1), struct.pack("<4I", 2, 1, 1, 1)])
def test_a_frame_is_read_with_either_header(header: bytes) -> None:
    pixels = bytes([1, 2, 3, 255, 10, 10, 10, 255])
    assert parse_raw(header + pixels).tolist() == [[[1, 2, 3, 255], [10, 10, 10, 255]]]
    activity = "ResumedActivity: ActivityRecord{1 u0 a/.B t1}"
    before, frame, after = parse_frame(
        f"before{activity}\n".encode() + header + pixels + f"\nafter{activity}\n".encode()
    )
    assert (before, after, frame.shape) == ("a/.B", "a/.B", (1, 2, 4))


@pytest.mark.parametrize(
    "output", [b"", b"before\n", b"before\nscreencap: not found\nafter\n", b"before\n" + b"\0" * 40 + b"\nafter\n"]
)
def test_what_is_no_frame_is_an_error(output: bytes) -> None:
    with pytest.raises(DeviceError):
        parse_frame(output)


def test_sizes_are_read_with_their_overrides() -> None:
    assert parse_size("Physical size: 1080x2400\nOverride size: 540x1200\n") == (540, 1200)
    assert parse_density("Physical density: 420\n") == 420
    with pytest.raises(DeviceError, match="no screen size"):
        parse_size("wm: not found")


def test_launcher_apps_are_read_with_the_labels_that_are_told() -> None:
    listing = """3 activities found:
  Activity #0:
    priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true
    ActivityInfo:
      name=com.android.settings.Settings
      packageName=com.android.settings
      labelRes=0x7f04 nonLocalizedLabel=null icon=0x0
      ApplicationInfo:
        name=com.android.settings.SettingsApplication
        packageName=com.android.settings
  Activity #1:
    ActivityInfo:
      name=org.example.Main
      packageName=org.example
      labelRes=0x0 nonLocalizedLabel=My App icon=0x1
  Activity #2:
    ActivityInfo:
      name=org.other.Main
      packageName=org.other
      labelRes=0x7f nonLocalizedLabel=null icon=0x0
"""
    apps = parse_apps(listing)
    assert [(app.package, app.label) for app in apps] == [
        ("com.android.settings", "Settings"),
        ("org.example", "My App"),
        ("org.other", ""),
    ]
    assert find_app("my app", apps).component == "org.example/org.example.Main"
    assert "-n org.example/org.example.Main" in launch_command(apps[1])


def test_an_app_is_found_by_package_first_and_a_miss_names_what_is_close() -> None:
    apps = (
        LaunchableApp(package="a.b", component="a.b/.C", label="Clock"),
        LaunchableApp(package="clock", component="clock/.D", label="Other"),
    )
    assert find_app(" CLOCK ", apps).component == "clock/.D"
    with pytest.raises(ActionRejected, match="close: Clock"):
        find_app("Clok", apps)
    with pytest.raises(ActionRejected, match="installed: Clock, Other"):
        find_app("zzzz", apps)


def test_keys_are_androids() -> None:
    for name, code in {
        "HOME": 3,
        "BACK": 4,
        "ENTER": 66,
        "DEL": 67,
        "APP_SWITCH": 187,
        "TAB": 61,
        "PASTE": 279,
    }.items():
        assert KEYCODES[name] == code
        assert KEY_NAMES[code] == name
    assert key_name(" keycode_home ") == "HOME"
    with pytest.raises(ActionRejected, match=r"close: .*BACK"):
        key_name("BACKK")


@given(st.text(max_size=40))
def test_typing_covers_the_text_and_only_plain_text_goes_through_input(text: str) -> None:
    typed = ""
    for piece in plan_typing(text):
        match piece:
            case Enter():
                typed += "\n"
            case Paste(part):
                assert not part.isascii() or "%s" in part
                typed += part
            case Keystrokes(part) as keystrokes:
                words = shlex.split(keystrokes.command)
                assert words[:2] == ["input", "text"]
                assert words[2].replace("%s", " ") == part
                typed += part
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    assert typed == "".join(each for each in lines if each == "\n" or each.isprintable())
