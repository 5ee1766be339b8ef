"""The placed tree as accessibility sees it: nodes like those that uiautomator prints for Android's own widgets."""

from __future__ import annotations

from dataclasses import dataclass

from rlfactory.emulators.device.ui import Bounds, UiNode
from rlfactory.emulators.simulator.view import widgets as w
from rlfactory.emulators.simulator.view.compose import Context, MenuRow, TabBox, own_toggle
from rlfactory.emulators.simulator.view.layout import Node, Rect

_SEALED = (w.Avatar, w.Button, w.Canvas, w.Fab, w.Icon, w.IconButton, w.Photo, TabBox)
"""Composites that are one node: their insides are only drawing."""

_TOGGLES = frozenset({"android.widget.Switch", "android.widget.CheckBox"})
_SILENT = (w.Divider, w.Picture, w.Spacer)
"""Never a node."""


@dataclass(frozen=True, slots=True)
class _Facts:
    package: str
    context: Context


def window_tree(roots: tuple[Node, ...], area: Rect, package: str, context: Context) -> UiNode:
    """Return the tree of one window and what floats over it. What is scrolled away or empty is left out."""
    facts, root = _Facts(package, context), roots[0]
    children = [described for floating in roots for described in _node(floating, facts)]
    bounds = Bounds(*root.visible) if not root.visible.empty else Bounds(*area)
    return UiNode(class_name="android.widget.FrameLayout", package=package, bounds=bounds, children=tuple(children))


def _node(node: Node, facts: _Facts) -> list[UiNode]:
    """Return the nodes that a placed widget becomes: one, or its children's when it says nothing itself."""
    widget = node.widget
    blank = isinstance(widget, w.Text) and not widget.text and not _speaks(widget)
    if node.visible.empty or blank or isinstance(widget, _SILENT):
        return []
    children: list[UiNode] = []
    if not isinstance(widget, _SEALED):
        for child in node.children:
            children.extend(_node(child, facts))
    if _plain_box(widget) or (isinstance(widget, w.Icon | w.Avatar | w.Canvas | w.Photo) and not _speaks(widget)):
        return children
    return [_describe(node, widget, tuple(children), facts)]


def _speaks(widget: w.Widget) -> bool:
    return bool(widget.key or widget.description or widget.on_tap or widget.on_long_press)


def _plain_box(widget: w.Widget) -> bool:
    """A box that only arranges is no node, as Android's own layouts are pruned from compressed hierarchies."""
    return isinstance(widget, w.Row | w.Column | w.Stack | w.Grid | w.Scaffold) and not (
        _speaks(widget) or widget.selected or isinstance(widget, TabBox | MenuRow)
    )


def _describe(node: Node, widget: w.Widget, children: tuple[UiNode, ...], facts: _Facts) -> UiNode:
    clickable = _clickable(widget)
    focused = isinstance(widget, w.TextField) and bool(widget.key) and widget.key == facts.context.focus
    scrollable = node.scroll_extent > 0
    checked = _checked(widget)
    return UiNode(
        class_name=_class_name(widget),
        package=facts.package,
        resource_id=_resource_id(widget.key, facts.package),
        text=_text(widget),
        description=_description(widget),
        hint=widget.hint or widget.label if isinstance(widget, w.TextField) else "",
        bounds=Bounds(*node.visible),
        checkable=checked is not None,
        checked=bool(checked),
        clickable=clickable and widget.enabled,
        enabled=widget.enabled,
        focusable=clickable or scrollable,
        focused=focused,
        scrollable=scrollable,
        long_clickable=widget.on_long_press is not None or isinstance(widget, w.TextField),
        password=isinstance(widget, w.TextField) and widget.password,
        selected=widget.selected,
        children=children,
    )


def _class_name(widget: w.Widget) -> str:
    return "android.widget.Button" if isinstance(widget, w.Fab) and widget.text else widget.class_name


def _resource_id(key: str, package: str) -> str:
    if not key or ":id/" in key:
        return key
    return f"{package}:id/{key}"


def _text(widget: w.Widget) -> str:
    match widget:
        case w.TextField():
            return "•" * len(widget.value) if widget.password else widget.value or widget.hint or widget.label
        case w.Text() | w.Button() | w.Fab() | TabBox():
            return widget.text
        case w.Slider():
            return f"{widget.value:.2f}".rstrip("0").rstrip(".") if not widget.description else ""
        case _:
            return ""


def _description(widget: w.Widget) -> str:
    if isinstance(widget, TabBox) and widget.description == widget.text:
        return widget.text
    return widget.description


def _checked(widget: w.Widget) -> bool | None:
    if isinstance(widget, w.Switch | w.Checkbox | w.Radio):
        return widget.checked
    if isinstance(widget, w.Row | w.Column) and widget.class_name in _TOGGLES:
        return widget.selected
    return None


def _clickable(widget: w.Widget) -> bool:
    return (
        widget.on_tap is not None
        or isinstance(widget, w.TextField | w.Slider)
        or (isinstance(widget, w.Switch | w.Checkbox) and widget.on_change is not None)
        or own_toggle(widget) is not None
    )
