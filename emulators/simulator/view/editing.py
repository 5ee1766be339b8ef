"""Editing the focused text field: what the on-screen keyboard, `input text` and hardware keys all do to text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlfactory.emulators.simulator.view.fields import FieldText
from rlfactory.emulators.simulator.view.scene import walk
from rlfactory.emulators.simulator.view.widgets import Scroll, TextField

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone
    from rlfactory.emulators.simulator.view.layout import Node

MAX_TEXT_CHARS = 200_000
"""Longer text is not taken in: a phone's text field would have become unusable long before."""


def focused_node(phone: Phone) -> Node | None:
    """Return the text field that has the focus in the active window."""
    focus = phone.activity.focus
    if not focus or phone.state.view.overlay:
        return None
    for node in walk(phone.scene().active.node):
        if node.widget.key == focus and isinstance(node.widget, TextField):
            return node
    return None


def focused_field(phone: Phone) -> TextField | None:
    """Return the focused text field's widget, with its present value; None where nothing has the focus."""
    node = focused_node(phone)
    if node is None or not node.widget.enabled:
        return None
    assert isinstance(node.widget, TextField)
    return node.widget


def set_focus(phone: Phone, field: TextField, cursor: int) -> None:
    """Give a field the focus and bring up the keyboard."""
    phone.activity.focus, phone.activity.cursor = field.key, cursor
    view = phone.state.view
    view.keyboard_open, view.keyboard_page = True, "letters"
    view.shift = view.select_all = view.toolbar = False
    phone.invalidate()
    reveal_cursor(phone)


def replace_text(phone: Phone, value: str, cursor: int) -> None:
    """Give the focused field a new value, as if typed; the app's `on_change` sees it."""
    field = focused_field(phone)
    if field is None or len(value) > MAX_TEXT_CHARS:
        return
    phone.state.view.select_all = phone.state.view.toolbar = False
    phone.activity.cursor = cursor
    if value != field.value and field.on_change is not None:
        field.on_change(value)
    phone.invalidate()
    reveal_cursor(phone)


def insert(phone: Phone, text: str) -> None:
    """Type text at the cursor, over the selection if there is one."""
    field = focused_field(phone)
    if field is None or not text:
        return
    if not field.multiline:
        text = text.replace("\n", " ")
    if phone.state.view.select_all:
        replace_text(phone, text, len(text))
        return
    at = _cursor(phone, field)
    replace_text(phone, field.value[:at] + text + field.value[at:], at + len(text))


def delete(phone: Phone, *, forward: bool = False) -> None:
    """Delete the selection, or the character before (or after) the cursor."""
    field = focused_field(phone)
    if field is None:
        return
    at = _cursor(phone, field)
    if phone.state.view.select_all:
        replace_text(phone, "", 0)
    elif forward:
        replace_text(phone, field.value[:at] + field.value[at + 1 :], at)
    elif at:
        replace_text(phone, field.value[: at - 1] + field.value[at:], at - 1)


def move_cursor(phone: Phone, key: str) -> None:
    """Move by a DPAD_* or MOVE_* key."""
    field = focused_field(phone)
    node = focused_node(phone)
    if field is None or node is None:
        return
    at, end = _cursor(phone, field), len(field.value)
    content = node.content
    assert isinstance(content, FieldText)
    x, top = content.position(at)
    match key:
        case "DPAD_LEFT":
            at -= 1
        case "DPAD_RIGHT":
            at += 1
        case "DPAD_UP" | "PAGE_UP":
            at = content.index_at(x, top - content.line_height / 2)
        case "DPAD_DOWN" | "PAGE_DOWN":
            at = content.index_at(x, top + content.line_height * 1.5)
        case "MOVE_HOME":
            at = field.value.rfind("\n", 0, at) + 1
        case "MOVE_END":
            stop = field.value.find("\n", at)
            at = end if stop < 0 else stop
    phone.activity.cursor = min(max(at, 0), end)
    phone.state.view.select_all = phone.state.view.toolbar = False
    phone.invalidate()
    reveal_cursor(phone)


def enter(phone: Phone) -> None:
    """Press Enter: a new line, the field's own action, or on to the next field (the keyboard goes after the last)."""
    field = focused_field(phone)
    if field is None:
        return
    if field.multiline:
        insert(phone, "\n")
    elif field.on_submit is not None:
        field.on_submit()
        phone.invalidate()
    else:
        next_field(phone, wrap=False)


def next_field(phone: Phone, *, wrap: bool) -> None:
    """Move the focus to the next text field of the window; past the last one the keyboard goes, or it starts over."""
    fields = [
        node.widget
        for node in walk(phone.scene().active.node)
        if isinstance(node.widget, TextField) and node.widget.key and node.widget.enabled
    ]
    keys = [field.key for field in fields]
    focus = phone.activity.focus
    following = keys.index(focus) + 1 if focus in keys else 0
    if following < len(fields) or (wrap and fields):
        field = fields[following % len(fields)]
        set_focus(phone, field, len(field.value))
    else:
        phone.state.view.keyboard_open = False
        phone.invalidate()


def select_all(phone: Phone) -> None:
    """Select the whole focused text."""
    field = focused_field(phone)
    if field is not None:
        phone.state.view.select_all = bool(field.value)
        phone.activity.cursor = len(field.value)
        phone.invalidate()


def copy(phone: Phone, *, cut: bool = False) -> None:
    """Put the selected text on the clipboard."""
    field = focused_field(phone)
    if field is None or not phone.state.view.select_all:
        return
    phone.system.clipboard = field.value
    phone.state.view.toolbar = False
    if cut:
        replace_text(phone, "", 0)
    phone.invalidate()


def paste(phone: Phone) -> None:
    """Type what is on the clipboard."""
    phone.state.view.toolbar = False
    insert(phone, phone.system.clipboard)


def open_toolbar(phone: Phone) -> None:
    """Select the focused text, as a long press does, and offer what can be done with it."""
    select_all(phone)
    phone.state.view.toolbar = True
    phone.invalidate()


def _cursor(phone: Phone, field: TextField) -> int:
    return min(max(phone.activity.cursor, 0), len(field.value))


def reveal_cursor(phone: Phone) -> None:
    """Scroll what holds the focused field, and the field itself, until the cursor's line is seen."""
    node = focused_node(phone)
    if node is None or not isinstance(node.content, FieldText):
        return
    content, offsets = node.content, phone.activity.scroll_px
    if content.scroll_extent:
        _, top = content.position(content.cursor)
        low, high = top - content.top, top - content.top + content.line_height - content.view_height
        change = low if low < 0 else max(high, 0)
        if change:
            offsets[node.widget.key] = content.scroll_offset + change
            phone.invalidate()
    _reveal_in_list(phone, node)


def _reveal_in_list(phone: Phone, node: Node) -> None:
    parent = node.parent
    while parent is not None and not isinstance(parent.widget, Scroll):
        parent = parent.parent
    if parent is None or not parent.widget.key:
        return
    content = node.content
    assert isinstance(content, FieldText)
    if node.height <= parent.height:
        top, bottom = node.y, node.y + node.height
    else:
        _, line = content.position(content.cursor)
        top, bottom = node.y + line, node.y + line + content.line_height
    above, below = parent.y - top, bottom - (parent.y + parent.height)
    change = -above if above > 0 else max(below, 0)
    if change:
        offset = min(max(parent.scroll_offset + change, 0), parent.scroll_extent)
        phone.activity.scroll_px[parent.widget.key] = offset
        phone.invalidate()
