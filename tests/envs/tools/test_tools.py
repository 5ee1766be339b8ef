"""From a model's arguments to one device action, and the words for what is wrong with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.emulators.device.device import DoubleTap, Drag, LongPress, OpenApp, PressKey, Swipe, Tap, TypeText, Wait
from rlfactory.envs.api.coordinates import ScreenSize, frame_sides, from_device, to_device
from rlfactory.envs.api.registry import Registry
from rlfactory.envs.api.types import CoordinateFrame
from rlfactory.envs.tools.phone import ARGUMENTS_OF, parse_action, phone_schema
from rlfactory.envs.tools.registry import default_tools
from rlfactory.envs.tools.tool import Rejected, ToolContext

SIZE = ScreenSize(width_px=1080, height_px=2400, image_width_px=540, image_height_px=1200)
DEVICE = CoordinateFrame.DEVICE_PX


@pytest.mark.parametrize(
    ("arguments", "action"),
    [
        ({"action": "tap", "coordinate": [10, 20.4]}, Tap(10, 20)),
        ({"action": "double_tap", "coordinate": [0, 0]}, DoubleTap(0, 0)),
        ({"action": "long_press", "coordinate": [1, 2]}, LongPress(1, 2, 1.0)),
        ({"action": "long_press", "coordinate": [1, 2], "seconds": 2}, LongPress(1, 2, 2.0)),
        ({"action": "swipe", "coordinate": [1, 2], "coordinate2": [3, 4]}, Swipe(1, 2, 3, 4, 0.3)),
        ({"action": "drag", "coordinate": [1, 2], "coordinate2": [1079, 2399]}, Drag(1, 2, 1079, 2399, 1.0)),
        ({"action": "scroll", "direction": "down"}, Swipe(540, 1680, 540, 720, 0.5)),
        ({"action": "scroll", "direction": "up", "distance": "short"}, Swipe(540, 960, 540, 1440, 0.5)),
        ({"action": "scroll", "direction": "right", "coordinate": [1000, 5]}, Swipe(1079, 5, 784, 5, 0.5)),
        ({"action": "type", "text": "Grüße\n"}, TypeText("Grüße\n")),
        ({"action": "key", "key": "keycode_home"}, PressKey("HOME")),
        ({"action": "open_app", "app": "Settings"}, OpenApp("Settings")),
        ({"action": "wait"}, Wait(1.0)),
        ({"action": "wait", "seconds": 0.5}, Wait(0.5)),
    ],
)
def test_arguments_become_one_action(arguments, action):
    assert parse_action(arguments, DEVICE, SIZE) == action


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'action' is missing; choose one of tap"),
        ({"action": "click"}, "'action' is 'click'; choose one of tap"),
        ({"action": ["tap"]}, "'action' is \\['tap'\\]"),
        ({"action": "tap"}, "'coordinate' is missing; it must be \\[x, y\\]"),
        ({"action": "tap", "coordinate": [1]}, "it must be \\[x, y\\]"),
        ({"action": "tap", "coordinate": "10,20"}, "'10,20'"),
        ({"action": "tap", "coordinate": ["1", 2]}, "must be numbers"),
        ({"action": "tap", "coordinate": [True, 2]}, "must be numbers"),
        ({"action": "tap", "coordinate": [float("nan"), 2]}, "must be numbers"),
        ({"action": "tap", "coordinate": [1080, 5]}, "off the screen: x goes from 0 to 1079, y from 0 to 2399"),
        ({"action": "tap", "coordinate": [-1, 5]}, "off the screen"),
        ({"action": "tap", "coordinate": [10**400, 5]}, "off the screen"),
        ({"action": "tap", "coordinate": [1, 5], "text": "a"}, "unknown argument 'text'; known: action, coordinate"),
        ({"action": "type"}, "'text' is missing"),
        ({"action": "type", "text": 5}, "it must be a string"),
        ({"action": "type", "text": "a" * 4001}, "at most 4000"),
        ({"action": "type", "text": "\ud800"}, "surrogate"),
        ({"action": "wait", "seconds": -1}, "from 0 to 20"),
        ({"action": "wait", "seconds": 1e9}, "from 0 to 20"),
        ({"action": "long_press", "coordinate": [1, 2], "seconds": "2"}, "must be a number"),
        ({"action": "scroll"}, "'direction' is missing; choose one of up, down, left, right"),
        ({"action": "scroll", "direction": "down", "distance": "far"}, "choose one of short, medium, long"),
        ({"action": "key", "key": None}, "'key' is missing"),
    ],
)
def test_what_is_wrong_is_said(arguments, words):
    with pytest.raises(Rejected, match=words):
        parse_action(arguments, DEVICE, SIZE)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(["action", "coordinate", "coordinate2", "text", "key", "app", "seconds", "other"])


@given(st.sampled_from([*ARGUMENTS_OF, "other"]), st.dictionaries(names, json_values), st.sampled_from(CoordinateFrame))
def test_any_arguments_are_an_action_on_the_screen_or_rejected(kind, arguments, frame):
    try:
        action = parse_action({**arguments, "action": kind}, frame, SIZE)
    except Rejected as error:
        assert str(error)
    else:
        for name in ("x_px", "x1_px", "x2_px"):
            assert 0 <= getattr(action, name, 0) < SIZE.width_px
        for name in ("y_px", "y1_px", "y2_px"):
            assert 0 <= getattr(action, name, 0) < SIZE.height_px


@given(
    st.sampled_from(CoordinateFrame),
    st.integers(100, 3000),
    st.integers(100, 3000),
    st.integers(2, 10),
    st.data(),
)
def test_a_pixel_comes_back_from_every_frame_within_its_grain(frame, width, height, shrink, data):
    size = ScreenSize(
        width_px=width, height_px=height, image_width_px=width // shrink + 1, image_height_px=height // shrink + 1
    )
    x_px, y_px = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    x, y = from_device(frame, size, x_px, y_px)
    side_x, side_y = frame_sides(frame, size)
    assert 0 <= x < side_x
    assert 0 <= y < side_y
    back_x, back_y = to_device(frame, size, x, y)
    grain = {CoordinateFrame.DEVICE_PX: 0, CoordinateFrame.IMAGE_PX: shrink + 1}.get(frame, 3)
    assert abs(back_x - x_px) <= grain
    assert abs(back_y - y_px) <= grain


def test_permille_frames_reach_both_edges():
    assert to_device(CoordinateFrame.PERMILLE_999, SIZE, 999, 999) == (1079, 2399)
    assert to_device(CoordinateFrame.PERMILLE_1000, SIZE, 1000, 1000) == (1079, 2399)
    assert to_device(CoordinateFrame.PERMILLE_1000, SIZE, 500, 500) == (540, 1200)
    assert to_device(CoordinateFrame.PERMILLE_999, SIZE, 0, 0) == (0, 0)


def test_the_schema_tells_the_range_of_the_sessions_frame():
    text = str(phone_schema(CoordinateFrame.IMAGE_PX, SIZE).parameters)
    assert "x from 0 to 539, y from 0 to 1199" in text
    assert "x from 0 to 999" in str(phone_schema(CoordinateFrame.PERMILLE_999, SIZE).parameters)


def test_a_phone_tool_without_a_phone_is_refused():
    context = ToolContext(session="s", device=None, coordinates=DEVICE, screen=lambda: SIZE)
    with pytest.raises(ValueError, match="needs a phone"):
        default_tools().get("phone")(context)


def test_a_registry_refuses_duplicates_and_names_what_is_close():
    registry = Registry("tool", (("phone", 1),))
    with pytest.raises(ValueError, match="two entries are called 'phone'"):
        registry.add("phone", 2)
    with pytest.raises(Exception, match="no tool 'phon'; close: phone"):
        registry.get("phon")
