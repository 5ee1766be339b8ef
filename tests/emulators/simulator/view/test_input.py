"""Fingers and keys: what is touched is what acts."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlfactory.emulators.simulator.android.hardware_keys import META_CTRL_ON, META_SHIFT_ON
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.emulators.simulator.view.drawing.painter import slider_track
from rlfactory.emulators.simulator.view.layout import Node
from rlfactory.emulators.simulator.view.scene import walk
from rlfactory.emulators.simulator.view.system_ui.keyboard import LETTERS, MORE_SYMBOLS, SYMBOLS, Key
from tests.emulators.simulator.gallery import PACKAGE, Gallery, gallery_phone, tap_key


def press(phone: Phone, code: str) -> None:
    """Tap a key of the on-screen keyboard."""
    layer = phone.scene().layer("keyboard")
    assert layer is not None, "no keyboard on the screen"
    node = next(n for n in walk(layer.node) if isinstance(n.widget, Key) and n.widget.code == code)
    phone.tap(node.x + node.width // 2, node.y + node.height // 2)


def texts(phone: Phone) -> list[str]:
    return [node.text for node in phone.ui_tree().walk()]


def tap_text(phone: Phone, text: str) -> None:
    phone.tap(*next(node for node in phone.ui_tree().walk() if node.text == text).bounds.center)


def find(phone: Phone, key: str) -> Node:
    node = phone.scene().find(key)
    assert node is not None
    return node


# --- touches


def test_a_tap_on_a_row_toggles_its_switch(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "wifi")
    assert gallery.switched
    tap_key(phone, "wifi_switch")
    assert not gallery.switched
    tap_key(phone, "tick")
    assert gallery.ticked


def test_disabled_rows_do_nothing(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "off")
    assert gallery.events == []


def test_short_and_long_presses_differ(phone: Phone, gallery: Gallery) -> None:
    phone.swipe(270, 800, 270, 600)
    node = find(phone, "hello")
    phone.tap(node.x + 5, node.y + 5)
    phone.long_press(node.x + 5, node.y + 5)
    phone.swipe(node.x + 5, node.y + 5, node.x + 5, node.y + 5, 1000)
    assert gallery.events == ["hello", "held", "held"]


@pytest.mark.parametrize("size", [(224, 448), (540, 1200), (1080, 2400), (1440, 3200)])
def test_the_ends_of_a_slider_are_reached_exactly(phone: Phone, gallery: Gallery, size: tuple[int, int]) -> None:
    phone.swipe(size[0] // 2, size[1] // 2, size[0] // 2, size[1] // 4)
    node = find(phone, "slider")
    left, right = slider_track(node, phone.scene().context)
    y = node.y + node.height // 2
    for x, value in [(right, 1.0), (left, 0.0), (node.x + node.width - 1, 1.0), (node.x, 0.0)]:
        phone.tap(x, y)
        assert gallery.slid == value
    phone.swipe(left, y, size[0] - 1, y)
    assert gallery.slid == 1.0
    phone.swipe(right, y, 0, y)
    assert gallery.slid == 0.0
    phone.swipe(left, y, (left + right) // 2, y)
    assert gallery.slid == pytest.approx(0.5, abs=0.02)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(300, 900), st.integers(300, 900)), max_size=6))
def test_a_swipe_scrolls_by_its_length_within_the_ends(swipes: list[tuple[int, int]]) -> None:
    phone, gallery = gallery_phone()
    offset = 0
    for start, end in swipes:
        extent = find(phone, "list").scroll_extent
        phone.swipe(4, start, 4, end)
        if abs(start - end) >= 8 * phone.density_dpi / 160:
            offset = min(max(offset + start - end, 0), extent)
        assert gallery.scroll_px.get("list", 0) == offset


def test_what_is_scrolled_away_cannot_be_tapped(phone: Phone, gallery: Gallery) -> None:
    phone.swipe(4, 900, 4, 300)
    bar = find(phone, "more")
    phone.tap(4, bar.y + 2)
    assert gallery.switched is False
    assert gallery.scroll_px["list"] == 600


def test_the_margin_around_a_floating_button_lets_touches_through(phone: Phone, gallery: Gallery) -> None:
    fab = find(phone, "fab")
    phone.swipe(fab.x + 5, fab.y - 5, fab.x + 5, fab.y - 105)
    assert gallery.scroll_px["list"] == 100
    assert gallery.popup == ""


def test_the_menu_key_opens_the_overflow_menu(phone: Phone, gallery: Gallery) -> None:
    phone.key("MENU")
    assert gallery.popup == "menu"


def test_drags_and_swipes_reach_the_widget(phone: Phone, gallery: Gallery) -> None:
    phone.swipe(4, 900, 4, 400)
    one, other = find(phone, "card0"), find(phone, "card4")
    phone.drag(one.x + 5, one.y + 5, other.x + 5, other.y + 5)
    phone.swipe(one.x + 5, one.y + 5, one.x + 150, one.y + 5)
    assert gallery.events == ["card0->card4", "card0 right"]


def test_touches_off_the_screen_are_ignored(phone: Phone, gallery: Gallery) -> None:
    before = phone.scene().digest
    for x, y in [(-1, 5), (5, 1200), (540, 5)]:
        phone.tap(x, y)
        phone.swipe(x, y, 50, 50)
        phone.long_press(x, y)
    assert phone.scene().digest == before
    assert gallery.events == []


# --- dialogs and menus


def test_a_tap_beside_a_dialog_closes_it(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "fab")
    assert gallery.popup == "dialog"
    phone.tap(10, 100)
    assert gallery.popup == ""
    assert not gallery.switched


def test_dialog_actions_and_menu_entries_act(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "fab")
    tap_key(phone, "android:id/button1")
    tap_key(phone, "more")
    tap_text(phone, "Delete")
    assert gallery.events == ["OK", "Delete"]


def test_back_closes_keyboard_then_dialog_then_app(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "fab")
    assert phone.scene().layer("keyboard") is not None
    phone.key("BACK")
    assert phone.scene().layer("keyboard") is None
    assert gallery.popup == "dialog"
    phone.key("BACK")
    assert gallery.popup == ""
    phone.key("BACK")
    assert not phone.foreground.startswith(PACKAGE)


# --- typing


@pytest.mark.parametrize("shift", [False, True])
def test_every_letter_key_types_its_letter(phone: Phone, gallery: Gallery, shift: bool) -> None:
    tap_key(phone, "title")
    expected = ""
    for letter in "".join(LETTERS):
        if shift:
            press(phone, "shift")
        typed = letter.upper() if shift else letter
        press(phone, typed)
        expected += typed
    assert gallery.title == expected


def test_symbol_pages_and_space_type(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "title")
    press(phone, "page:symbols")
    for symbol in "".join(SYMBOLS):
        press(phone, symbol)
    press(phone, " ")
    press(phone, "page:more_symbols")
    for symbol in "".join(MORE_SYMBOLS):
        press(phone, symbol)
    press(phone, "delete")
    press(phone, "page:letters")
    press(phone, "z")
    assert gallery.title == "".join(SYMBOLS) + " " + "".join(MORE_SYMBOLS)[:-1] + "z"


def test_enter_moves_on_and_makes_lines(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "title")
    phone.type_text("A title\nthree")
    assert gallery.title == "A title"
    assert gallery.body == "one\ntwothree"
    press(phone, "enter")
    press(phone, "x")
    assert gallery.body == "one\ntwothree\nx"


def test_control_a_then_delete_clears_the_field(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "body")
    phone.key("A", META_CTRL_ON)
    assert gallery.body == "one\ntwo"
    phone.key("DEL")
    assert gallery.body == ""
    phone.type_text("new")
    phone.key("A", META_CTRL_ON)
    phone.type_text("x")
    assert gallery.body == "x"


def test_the_cursor_moves_and_both_deletes_delete(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "body")
    for name in ("MOVE_END", "DPAD_UP", "MOVE_HOME", "DPAD_RIGHT", "DEL", "FORWARD_DEL"):
        phone.key(name)
    assert gallery.body == "e\ntwo"
    phone.key("DPAD_DOWN")
    phone.key("MOVE_END")
    phone.type_text("!")
    phone.key("DPAD_LEFT")
    phone.key("DPAD_LEFT")
    phone.type_text("-")
    assert gallery.body == "e\ntw-o!"


@pytest.mark.parametrize(
    ("name", "meta", "typed"),
    [
        ("B", 0, "b"),
        ("B", META_SHIFT_ON, "B"),
        ("7", 0, "7"),
        ("2", META_SHIFT_ON, "@"),
        ("COMMA", 0, ","),
        ("SPACE", 0, " "),
    ],
)
def test_hardware_keys_type(phone: Phone, gallery: Gallery, name: str, meta: int, typed: str) -> None:
    tap_key(phone, "title")
    phone.key(name, meta)
    assert gallery.title == typed


def test_a_tap_sets_the_cursor_where_it_is(phone: Phone, gallery: Gallery) -> None:
    tap_key(phone, "title")
    phone.type_text("mmmmmmmmmm")
    node = find(phone, "title")
    phone.tap(node.x + 1, node.y + node.height // 2)
    phone.type_text("<")
    phone.tap(node.x + node.width - 2, node.y + node.height // 2)
    phone.type_text(">")
    assert gallery.title == "<mmmmmmmmmm>"


def test_cut_copy_and_paste(phone: Phone, gallery: Gallery) -> None:
    body = find(phone, "body")
    phone.long_press(body.x + 30, body.y + 30)
    tap_text(phone, "Cut")
    assert gallery.body == ""
    assert phone.system.clipboard == "one\ntwo"
    title = find(phone, "title")
    phone.long_press(title.x + 30, title.y + 30)
    tap_text(phone, "Paste")
    assert gallery.title == "one two"
    assert "Paste" not in texts(phone)


def test_text_without_a_focused_field_goes_nowhere(phone: Phone, gallery: Gallery) -> None:
    before = phone.scene().digest
    phone.type_text("lost")
    phone.key("DEL")
    assert phone.scene().digest == before
    assert gallery.title == ""


@pytest.mark.parametrize("size", [(540, 800)])
def test_the_focused_field_is_scrolled_above_the_keyboard(phone: Phone) -> None:
    phone.swipe(4, 600, 4, 560)
    tap_key(phone, "body")
    node, keyboard = find(phone, "body"), phone.scene().layer("keyboard")
    assert keyboard is not None
    assert node.y + node.height <= keyboard.node.y


# --- the phone's own surfaces


def test_home_recents_and_the_shade(phone: Phone) -> None:
    phone.key("HOME")
    assert "nexuslauncher" in phone.foreground
    phone.key("APP_SWITCH")
    tap_key(phone, "task")
    assert phone.foreground.startswith(PACKAGE)
    phone.swipe(270, 5, 270, 600)
    assert "Internet" in texts(phone)
    wifi = phone.state.settings.flag("global", "wifi_on")
    tap_key(phone, "internet")
    assert phone.state.settings.flag("global", "wifi_on") is not wifi
    phone.swipe(270, 1000, 270, 300)
    assert phone.state.view.overlay == ""


def test_navigation_buttons_press_their_keys(phone: Phone) -> None:
    bar = phone.scene().layer("navigation")
    assert bar is not None
    back, home, overview = bar.node.children
    phone.tap(overview.x + 5, overview.y + 5)
    assert phone.state.view.overlay == "recents"
    phone.tap(back.x + 5, back.y + 5)
    assert phone.scene().layer("recents") is None
    phone.tap(home.x + 5, home.y + 5)
    assert "nexuslauncher" in phone.foreground


def test_the_drawer_finds_and_opens_apps(phone: Phone) -> None:
    phone.key("HOME")
    phone.swipe(270, 700, 270, 300)
    tap_key(phone, "search_box_input")
    phone.type_text("gal\n")
    assert phone.foreground.startswith(PACKAGE)
    phone.key("HOME")
    assert "gal" not in texts(phone)


def test_closed_recents_are_gone(phone: Phone) -> None:
    phone.key("APP_SWITCH")
    tap_key(phone, "clear_all")
    phone.key("APP_SWITCH")
    assert "No recent items" in texts(phone)


def test_a_toast_goes_with_time(phone: Phone) -> None:
    plain = phone.scene().digest
    phone.system.toast("Saved")
    assert phone.scene().layer("toast") is not None
    phone.advance(10_000)
    assert phone.scene().digest == plain


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 539), st.integers(0, 1199), st.sampled_from(string.ascii_letters)), max_size=6)
)
def test_typing_anywhere_never_fails(touches: list[tuple[int, int, str]]) -> None:
    phone, _ = gallery_phone()
    for x, y, letter in touches:
        phone.double_tap(x, y)
        phone.type_text(letter)
        phone.key("TAB")
    before, kept = phone.state_hash(), phone.snapshot()
    phone.tap(1, 1)
    phone.restore(kept)
    assert phone.state_hash() == before, "what was typed is all in the state"
