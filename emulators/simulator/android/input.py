"""Fingers: what a touch at a point does to the phone. Callers hold the phone's lock. (Keys: `hardware_keys.py`.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.android.hardware_keys import key, open_shade, scroll_path, type_text
from rlfactory.emulators.simulator.view import editing
from rlfactory.emulators.simulator.view.compose import own_toggle
from rlfactory.emulators.simulator.view.drawing.painter import slider_track
from rlfactory.emulators.simulator.view.fields import FieldText
from rlfactory.emulators.simulator.view.scene import Layer, path_at, walk
from rlfactory.emulators.simulator.view.system_ui.keyboard import Key
from rlfactory.emulators.simulator.view.system_ui.overlays import NavigationKey
from rlfactory.emulators.simulator.view.widgets import Checkbox, Direction, Slider, Switch, TextField, Widget

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone
    from rlfactory.emulators.simulator.view.layout import Node

__all__ = ["drag", "key", "long_press", "second_tap", "swipe", "tap", "type_text"]

TOUCH_SLOP_DP: Final = 8.0
"""A finger that moves less than this does not move."""
LONG_PRESS_MS: Final = 500
# --- touches -------------------------------------------------------------------------------------------------------


def tap(phone: Phone, x_px: int, y_px: int) -> None:
    """Touch a point shortly. Nothing happens where nothing listens."""
    layer = _touched(phone, x_px, y_px)
    if layer is None:
        return
    path = path_at(layer.node, x_px, y_px)
    if layer.kind == "keyboard":
        _press_keyboard(phone, path)
    elif layer.kind == "navigation":
        _press_navigation(phone, path)
    elif not layer.node.rect.contains(x_px, y_px):
        if layer.on_outside is not None:
            layer.on_outside()
    else:
        if layer.kind != "toolbar":
            phone.state.view.select_all = phone.state.view.toolbar = False
        _first_used(path, lambda node: _tap_node(phone, node, x_px, y_px))
    phone.invalidate()


def second_tap(phone: Phone, x_px: int, y_px: int) -> None:
    """The second touch of a double tap; in a text field that selects the text."""
    layer = _touched(phone, x_px, y_px)
    if layer is None:
        return
    path = path_at(layer.node, x_px, y_px)
    if path and isinstance(path[-1].widget, TextField):
        editing.select_all(phone)
    else:
        tap(phone, x_px, y_px)


def long_press(phone: Phone, x_px: int, y_px: int, duration_ms: int = 1000) -> None:
    """Touch and hold. Where nothing listens to a long press, lifting the finger is no tap either, as in Android."""
    if duration_ms < LONG_PRESS_MS:
        tap(phone, x_px, y_px)
        return
    layer = _touched(phone, x_px, y_px)
    if layer is None:
        return
    path = path_at(layer.node, x_px, y_px)
    if layer.kind in {"keyboard", "navigation"}:
        tap(phone, x_px, y_px)
        return
    if not _first_used(path, lambda node: _hold_node(phone, node, x_px, y_px)) and not _has_hold(path):
        # Android's views that know no long press take a slow tap as a tap.
        tap(phone, x_px, y_px)
    phone.invalidate()


def swipe(phone: Phone, x1_px: int, y1_px: int, x2_px: int, y2_px: int, duration_ms: int = 300) -> None:
    """Put a finger down, move it in a line, lift it: scrolls by exactly the distance, within the list's ends."""
    slop = TOUCH_SLOP_DP * phone.density_dpi / 160
    if max(abs(x2_px - x1_px), abs(y2_px - y1_px)) < max(slop, 1):
        long_press(phone, x1_px, y1_px, duration_ms)
        return
    layer = _touched(phone, x1_px, y1_px)
    if layer is None or layer.kind in {"keyboard", "navigation"}:
        return
    direction = _direction(x2_px - x1_px, y2_px - y1_px)
    if layer.kind == "status" or (layer.kind == "window" and y1_px < layer.area.top):
        _swipe_status(phone, direction)
    else:
        path = path_at(layer.node, x1_px, y1_px)
        moved = _slide(phone, path, direction, x2_px) or (
            direction in {"up", "down"} and scroll_path(phone, path, y1_px - y2_px)
        )
        if not moved and not _swipe_widget(path, direction):
            _swipe_overlay(phone, direction)
    phone.invalidate()


def drag(phone: Phone, x1_px: int, y1_px: int, x2_px: int, y2_px: int, duration_ms: int = 1000) -> None:
    """Pick something up by a long press and put it down elsewhere; what cannot be picked up is swiped."""
    layer = _touched(phone, x1_px, y1_px)
    if layer is None:
        return
    path = path_at(layer.node, x1_px, y1_px)
    held = next((node for node in reversed(path) if node.widget.on_drop is not None and node.widget.enabled), None)
    if held is None:
        swipe(phone, x1_px, y1_px, x2_px, y2_px, duration_ms)
        return
    inside = {id(node) for node in walk(held)}
    below = [node for node in path_at(layer.node, x2_px, y2_px) if id(node) not in inside and node.widget.key]
    assert held.widget.on_drop is not None
    held.widget.on_drop(below[-1].widget.key if below else "")
    phone.invalidate()


def _touched(phone: Phone, x_px: int, y_px: int) -> Layer | None:
    """Return the window under a point; None off the screen or while the screen is dark."""
    inside = 0 <= x_px < phone.width_px and 0 <= y_px < phone.height_px
    if not inside or not phone.state.view.screen_on:
        return None
    return phone.scene().layer_at(x_px, y_px)


def _first_used(path: Sequence[Node], use: Callable[[Node], bool]) -> bool:
    """Offer an event to the nodes from the innermost outwards, until one uses it."""
    return any(use(node) for node in reversed(path))


def _tap_node(phone: Phone, node: Node, x_px: int, y_px: int) -> bool:
    widget = node.widget
    if isinstance(widget, TextField) and widget.enabled and widget.on_tap is None:
        _focus_field(phone, node, widget, x_px, y_px)
        return bool(widget.key)
    action = _tap_action(phone, node, x_px)
    if action is None:
        return False
    if widget.enabled:
        action()
    return True


def _tap_action(phone: Phone, node: Node, x_px: int) -> Callable[[], None] | None:
    """Return what a tap on this very widget does, None if it is not for taps."""
    widget = node.widget
    if widget.on_tap is not None:
        return widget.on_tap
    if isinstance(widget, Slider) and widget.on_change is not None:
        return lambda: _set_slider(phone, node, x_px)
    toggle = widget if isinstance(widget, Switch | Checkbox) else own_toggle(widget)
    if toggle is None or toggle.on_change is None:
        return None
    on_change, checked, enabled = toggle.on_change, toggle.checked, toggle.enabled
    return lambda: on_change(not checked) if enabled else None


def _focus_field(phone: Phone, node: Node, field: TextField, x_px: int, y_px: int) -> None:
    content = node.content
    if not field.key or not isinstance(content, FieldText):
        return
    px, (left, top, _, _) = phone.scene().context.px, field.padding
    editing.set_focus(phone, field, content.index_at(x_px - node.x - px(left), y_px - node.y - px(top)))


def _hold_node(phone: Phone, node: Node, x_px: int, y_px: int) -> bool:
    widget = node.widget
    if not widget.enabled:
        return False
    if widget.on_long_press is not None:
        widget.on_long_press()
        return True
    if isinstance(widget, TextField) and widget.key:
        _focus_field(phone, node, widget, x_px, y_px)
        editing.open_toolbar(phone)
        return True
    return False


def _has_hold(path: Sequence[Node]) -> bool:
    return any(node.widget.on_long_press is not None or isinstance(node.widget, TextField) for node in path)


# --- swipes --------------------------------------------------------------------------------------------------------


def _direction(dx: int, dy: int) -> Direction:
    if abs(dx) > abs(dy):
        return "right" if dx > 0 else "left"
    return "down" if dy > 0 else "up"


def _slide(phone: Phone, path: Sequence[Node], direction: Direction, x_px: int) -> bool:
    """Move the slider under the finger to where the finger is lifted."""
    node = next((n for n in reversed(path) if isinstance(n.widget, Slider) and n.widget.enabled), None)
    if node is None or direction in {"up", "down"}:
        return False
    _set_slider(phone, node, x_px)
    return True


def _set_slider(phone: Phone, node: Node, x_px: int) -> None:
    slider = node.widget
    assert isinstance(slider, Slider)
    left, right = slider_track(node, phone.scene().context)
    if slider.on_change is not None:
        slider.on_change(min(max((x_px - left) / (right - left), 0.0), 1.0))


def _swipe_widget(path: Sequence[Node], direction: Direction) -> bool:
    for node in reversed(path):
        if node.widget.on_swipe is not None and node.widget.enabled:
            node.widget.on_swipe(direction)
            return True
    return False


def _swipe_status(phone: Phone, direction: Direction) -> None:
    if direction == "down":
        open_shade(phone)


def _swipe_overlay(phone: Phone, direction: Direction) -> None:
    if direction == "up" and phone.state.view.overlay == "shade":
        phone.state.view.overlay = ""


# --- keys drawn on the screen --------------------------------------------------------------------------------------


def _press_navigation(phone: Phone, path: Sequence[Node]) -> None:
    for node in reversed(path):
        if isinstance(node.widget, NavigationKey):
            key(phone, node.widget.code)
            return


def _press_keyboard(phone: Phone, path: Sequence[Node]) -> None:
    pressed: Widget | None = next((n.widget for n in reversed(path) if isinstance(n.widget, Key)), None)
    if not isinstance(pressed, Key):
        return
    view, code = phone.state.view, pressed.code
    match code:
        case "shift":
            view.shift = not view.shift
        case "delete":
            editing.delete(phone)
        case "enter":
            editing.enter(phone)
        case "page:letters" | "page:symbols" | "page:more_symbols":
            page = code.removeprefix("page:")
            view.keyboard_page = "symbols" if page == "symbols" else "letters" if page == "letters" else "more_symbols"
        case _:
            editing.insert(phone, code)
            view.shift = False
