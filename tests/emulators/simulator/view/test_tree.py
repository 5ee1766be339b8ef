"""The accessibility tree: Android's classes and ids, and bounds that are what a finger hits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlfactory.emulators.device.ui import UiNode
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.emulators.simulator.view.accessibility import window_tree
from rlfactory.emulators.simulator.view.compose import Context
from rlfactory.emulators.simulator.view.layout import Limits, Rect, lay_out, place
from rlfactory.emulators.simulator.view.widgets import TextField
from tests.emulators.simulator.gallery import PACKAGE, Gallery, tap_key


def by_id(phone: Phone, key: str) -> UiNode:
    return next(node for node in phone.ui_tree().walk() if node.resource_id == f"{PACKAGE}:id/{key}")


def by_text(phone: Phone, text: str) -> UiNode:
    return next(node for node in phone.ui_tree().walk() if node.text == text)


def test_a_switch_row_is_what_settings_have(phone: Phone, gallery: Gallery) -> None:
    row = by_id(phone, "wifi")
    assert (row.class_name, row.clickable, row.checkable) == ("android.widget.LinearLayout", True, False)
    title, summary, switch = row.children
    assert (title.resource_id, title.text, title.class_name) == ("android:id/title", "Wi-Fi", "android.widget.TextView")
    assert (summary.resource_id, summary.text) == ("android:id/summary", "Connected")
    assert (switch.class_name, switch.checkable, switch.checked) == ("android.widget.Switch", True, False)
    gallery.switched = True
    phone.invalidate()
    assert by_id(phone, "wifi_switch").checked


@pytest.mark.parametrize("size", [(1080, 2400)])
def test_widgets_have_androids_classes(phone: Phone) -> None:
    found = {node.class_name.rpartition(".")[2] for node in phone.ui_tree().walk()}
    wanted = {"Button", "CheckBox", "EditText", "FrameLayout", "ImageButton", "RadioButton", "ScrollView", "SeekBar"}
    assert wanted <= found
    assert by_id(phone, "list").scrollable
    more = by_id(phone, "more")
    assert (more.description, more.text, more.clickable) == ("More options", "", True)
    disabled = by_id(phone, "off")
    assert not disabled.enabled
    assert not disabled.clickable


def test_fields_tell_text_hint_and_focus(phone: Phone) -> None:
    field = by_id(phone, "title")
    assert (field.class_name, field.focused) == ("android.widget.EditText", False)
    assert (field.text, field.hint) == ("Title", "Title")
    tap_key(phone, "title")
    phone.type_text("Milk")
    field = by_id(phone, "title")
    assert (field.text, field.focused) == ("Milk", True)
    assert all(node.text != "q" for node in phone.ui_tree().walk()), "the keyboard is no part of the tree"


def test_tabs_say_which_is_selected(phone: Phone) -> None:
    assert [by_text(phone, text).selected for text in ("One", "Two")] == [True, False]
    phone.tap(*by_text(phone, "Two").bounds.center)
    assert [by_text(phone, text).selected for text in ("One", "Two")] == [False, True]


def test_dialogs_are_the_tree_while_they_are_open(phone: Phone) -> None:
    tap_key(phone, "fab")
    texts = [node.text for node in phone.ui_tree().walk() if node.text]
    assert texts == ["New thing", "Name", "Cancel", "OK"]
    assert by_text(phone, "OK").resource_id == "android:id/button1"


def test_bounds_are_on_the_screen_and_hit_what_they_name(phone: Phone, gallery: Gallery) -> None:
    phone.swipe(4, 1000, 4, 400)
    phone.swipe(4, 1000, 4, 400)
    for node in phone.ui_tree().walk():
        left, top, right, bottom = node.bounds
        assert 0 <= left < right <= 540
        assert 0 <= top < bottom <= 1200
    rows = [node for node in phone.ui_tree().walk() if node.resource_id.startswith(f"{PACKAGE}:id/row")]
    assert len(rows) > 3
    fab = by_id(phone, "fab").bounds
    for row in rows:
        x, y = row.bounds.left + 3, row.bounds.center[1]
        assert not (fab.left <= x < fab.right and fab.top <= y < fab.bottom)
        phone.tap(x, y)
        assert gallery.events[-1] == row.resource_id.rpartition("/")[2]


def test_status_bar_and_scrolled_away_rows_are_left_out(phone: Phone) -> None:
    nodes = list(phone.ui_tree().walk())
    assert all(node.package == PACKAGE for node in nodes)
    assert all(node.text != "15:34" for node in nodes)
    assert all(node.text != "Row 19" for node in nodes)


def test_passwords_are_not_told() -> None:
    area, context = Rect(0, 0, 400, 100), Context(density=1)
    field = TextField(key="pin", value="1234", password=True)
    for widget in (field, replace(field, kind="plain")):
        root = place(lay_out(widget, Limits(400, 400, 0, 100), context), 0, 0, area)
        node = window_tree((root,), area, PACKAGE, context).children[0]
        assert node.password
        assert "1" not in node.text
