"""Keys: what an Android key does to the phone, and typed text. Callers hold the phone's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.view import editing
from rlfactory.emulators.simulator.view.scene import walk
from rlfactory.emulators.simulator.view.widgets import Scroll

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone
    from rlfactory.emulators.simulator.view.layout import Node

META_SHIFT_ON: Final = 0x1
META_CTRL_ON: Final = 0x1000

_PUNCTUATION: Final = {
    "COMMA": ",<", "PERIOD": ".>", "GRAVE": "`~", "MINUS": "-_", "EQUALS": "=+", "LEFT_BRACKET": "[{",
    "RIGHT_BRACKET": "]}", "BACKSLASH": "\\|", "SEMICOLON": ";:", "APOSTROPHE": "'\"", "SLASH": "/?", "AT": "@@",
    "PLUS": "++", "STAR": "**", "POUND": "##", "SPACE": "  ", "NUMPAD_DIVIDE": "//", "NUMPAD_MULTIPLY": "**",
    "NUMPAD_SUBTRACT": "--", "NUMPAD_ADD": "++", "NUMPAD_DOT": "..", "NUMPAD_COMMA": ",,", "NUMPAD_EQUALS": "==",
    "NUMPAD_LEFT_PAREN": "((", "NUMPAD_RIGHT_PAREN": "))",
}  # fmt: skip
"""Key name -> its character without and with Shift."""
_SHIFTED_DIGITS: Final = ")!@#$%^&*("


def type_text(phone: Phone, text: str) -> None:
    """Type text into the focused field; a newline is the Enter key. Nothing happens without a focused field."""
    if not phone.state.view.screen_on:
        return
    phone.scene()  # A field that has just appeared takes the focus when it is first shown.
    for index, line in enumerate(text.split("\n")):
        if index:
            editing.enter(phone)
        editing.insert(phone, line)
    phone.invalidate()


def key(phone: Phone, name: str, meta: int = 0) -> None:
    """Press a key by its Android name without KEYCODE_; `meta` as in KeyEvent. Keys without a meaning do nothing."""
    phone.scene()
    view = phone.state.view
    if name in {"POWER", "WAKEUP", "SLEEP"}:
        view.screen_on = name == "WAKEUP" or (name == "POWER" and not view.screen_on)
        view.overlay = "" if not view.screen_on else view.overlay
    elif view.screen_on:
        control = meta & META_CTRL_ON
        action = (_SHORTCUTS if control else _KEYS).get(name)
        if action is not None:
            action(phone)
        elif not control:
            _type_key(phone, name, shifted=bool(meta & META_SHIFT_ON))
    phone.invalidate()


def _type_key(phone: Phone, name: str, *, shifted: bool) -> None:
    digit = name.removeprefix("NUMPAD_")
    if len(name) == 1 and name.isalpha():
        editing.insert(phone, name if shifted else name.lower())
    elif len(digit) == 1 and digit.isdigit():
        editing.insert(phone, _SHIFTED_DIGITS[int(digit)] if shifted and name == digit else digit)
    elif name in _PUNCTUATION:
        editing.insert(phone, _PUNCTUATION[name][shifted])


def open_shade(phone: Phone) -> None:
    """Pull down quick settings and notifications."""
    phone.activity.scroll_px.pop("shade", None)
    phone.state.view.overlay = "shade"
    phone.state.view.keyboard_open = phone.state.view.toolbar = False
    phone.invalidate()


def scroll_path(phone: Phone, path: Sequence[Node], distance_px: int) -> bool:
    """Scroll the innermost of nested lists that can still move that way; False if none can."""
    for node in reversed(path):
        target = min(max(node.scroll_offset + distance_px, 0), node.scroll_extent)
        if node.scroll_extent and target != node.scroll_offset and node.widget.key:
            phone.activity.scroll_px[node.widget.key] = target
            return True
    return False


def _back(phone: Phone) -> None:
    """BACK closes one thing: the shade, the keyboard, the dialog, then the activity."""
    view = phone.state.view
    if view.toolbar:
        view.toolbar = view.select_all = False
        return
    if view.overlay:
        view.overlay = ""
        return
    scene = phone.scene()
    if scene.layer("keyboard") is not None:
        view.keyboard_open = False
        return
    popup = scene.layer("dialog") or scene.layer("menu")
    if popup is not None:
        if popup.on_outside is not None:
            popup.on_outside()
        return
    phone.navigator.press_back()


def _home(phone: Phone) -> None:
    phone.state.view.overlay = ""
    phone.state.view.keyboard_open = False
    home = phone.state.tasks.home.top.activity
    reset = getattr(home, "show_home", None)
    if callable(reset):
        reset()
    phone.navigator.home()


def _overview(phone: Phone) -> None:
    view = phone.state.view
    view.keyboard_open = False
    if view.overlay == "recents":
        tasks = phone.state.tasks.recents()
        view.overlay = ""
        if tasks:
            phone.navigator.show_task(tasks[min(1, len(tasks) - 1)].id)
        return
    phone.activity.scroll_px.pop("recents", None)
    view.overlay = "recents"


def _page(phone: Phone, part: int) -> None:
    if editing.focused_field(phone) is not None:
        editing.move_cursor(phone, "PAGE_UP" if part < 0 else "PAGE_DOWN")
        return
    for node in walk(phone.scene().active.node):
        if isinstance(node.widget, Scroll) and node.scroll_extent:
            scroll_path(phone, [node], part * node.height)
            return


def _menu(phone: Phone) -> None:
    """Open the overflow menu of the app bar, as the key did when phones had it."""
    for node in walk(phone.scene().active.node):
        if node.widget.description == "More options" and node.widget.on_tap is not None and node.widget.enabled:
            node.widget.on_tap()
            return


def _volume(phone: Phone, change: int) -> None:
    settings = phone.state.settings
    level = settings.get("system", "volume_music", "5")
    moved = (int(level) if level.isdecimal() else 5) + change
    settings.put("system", "volume_music", str(min(max(moved, 0), 15)))


_SHORTCUTS: Final[dict[str, Callable[[Phone], None]]] = {
    "A": editing.select_all,
    "C": editing.copy,
    "X": lambda phone: editing.copy(phone, cut=True),
    "V": editing.paste,
}
"""With Ctrl."""
_KEYS: Final[dict[str, Callable[[Phone], None]]] = {
    "APP_SWITCH": _overview,
    "BACK": _back,
    "COPY": editing.copy,
    "CUT": lambda phone: editing.copy(phone, cut=True),
    "DEL": editing.delete,
    "DPAD_CENTER": editing.enter,
    "ENTER": editing.enter,
    "ESCAPE": _back,
    "FORWARD_DEL": lambda phone: editing.delete(phone, forward=True),
    "HOME": _home,
    "MENU": _menu,
    "NOTIFICATION": open_shade,
    "NUMPAD_ENTER": editing.enter,
    "PAGE_DOWN": lambda phone: _page(phone, 1),
    "PAGE_UP": lambda phone: _page(phone, -1),
    "PASTE": editing.paste,
    "TAB": lambda phone: editing.next_field(phone, wrap=True),
    "VOLUME_DOWN": lambda phone: _volume(phone, -1),
    "VOLUME_UP": lambda phone: _volume(phone, 1),
    **{
        name: (lambda phone, name=name: editing.move_cursor(phone, name))  # type: ignore[misc]
        for name in ("DPAD_LEFT", "DPAD_RIGHT", "DPAD_UP", "DPAD_DOWN", "MOVE_HOME", "MOVE_END")
    },
}
