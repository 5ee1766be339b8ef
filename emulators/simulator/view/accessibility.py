"""The placed tree as accessibility sees it: nodes like those that uiautomator prints for Android's own widgets."""

from __future__ import annotations

from dataclasses import dataclass

from rlfactory.emulators.device.ui import Bounds, UiNode
from rlfactory.emulators.simulator.view.compose import Context, MenuRow, TabBox, own_toggle
from rlfactory.emulators.simulator.view.layout import Node, Rect
from rlfactory.emulators.simulator.view.widgets import (
    Avatar,
    Button,
    Canvas,
    Checkbox,
    Column,
    Divider,
    Fab,
    Grid,
    Icon,
    IconButton,
    Picture,
    Radio,
    Row,
    Scaffold,
    Slider,
    Spacer,
    Stack,
    Switch,
    Text,
    TextField,
    Widget,
)

_SEALED = (Avatar, Button, Canvas, Fab, Icon, IconButton, TabBox)
"""Composites that are one node: their insides are only drawing."""

_SILENT = (Divider, Picture, Spacer)
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
    blank = isinstance(widget, Text) and not widget.text and not _speaks(widget)
    if node.visible.empty or blank or isinstance(widget, _SILENT):
        return []
    children: list[UiNode] = []
    if not isinstance(widget, _SEALED):
        for child in node.children:
            children.extend(_node(child, facts))
    if _plain_box(widget) or (isinstance(widget, Icon | Avatar | Canvas) and not _speaks(widget)):
        return children
    return [_describe(node, widget, tuple(children), facts)]


def _speaks(widget: Widget) -> bool:
    return bool(widget.key or widget.description or widget.on_tap or widget.on_long_press)


def _plain_box(widget: Widget) -> bool:
    """A box that only arranges is no node, as Android's own layouts are pruned from compressed hierarchies."""
    return isinstance(widget, Row | Column | Stack | Grid | Scaffold) and not (
        _speaks(widget) or widget.selected or isinstance(widget, TabBox | MenuRow)
    )


def _describe(node: Node, widget: Widget, children: tuple[UiNode, ...], facts: _Facts) -> UiNode:
    clickable = _clickable(widget)
    focused = isinstance(widget, TextField) and bool(widget.key) and widget.key == facts.context.focus
    scrollable = node.scroll_extent > 0
    checked = _checked(widget)
    return UiNode(
        class_name=_class_name(widget),
        package=facts.package,
        resource_id=_resource_id(widget.key, facts.package),
        text=_text(widget),
        description=_description(widget),
        hint=widget.hint or widget.label if isinstance(widget, TextField) else "",
        bounds=Bounds(*node.visible),
        checkable=checked is not None,
        checked=bool(checked),
        clickable=clickable and widget.enabled,
        enabled=widget.enabled,
        focusable=clickable or scrollable,
        focused=focused,
        scrollable=scrollable,
        long_clickable=widget.on_long_press is not None or isinstance(widget, TextField),
        password=isinstance(widget, TextField) and widget.password,
        selected=widget.selected,
        children=children,
    )


def _class_name(widget: Widget) -> str:
    return "android.widget.Button" if isinstance(widget, Fab) and widget.text else widget.class_name


def _resource_id(key: str, package: str) -> str:
    if not key or ":id/" in key:
        return key
    return f"{package}:id/{key}"


def _text(widget: Widget) -> str:
    match widget:
        case TextField():
            return "•" * len(widget.value) if widget.password else widget.value or widget.hint or widget.label
        case Text() | Button() | Fab() | TabBox():
            return widget.text
        case Slider():
            return f"{widget.value:.2f}".rstrip("0").rstrip(".") if not widget.description else ""
        case _:
            return ""


def _description(widget: Widget) -> str:
    if isinstance(widget, TabBox) and widget.description == widget.text:
        return widget.text
    return widget.description


def _checked(widget: Widget) -> bool | None:
    if isinstance(widget, Switch | Checkbox | Radio):
        return widget.checked
    if isinstance(widget, Row | Column) and widget.class_name in {"android.widget.Switch", "android.widget.CheckBox"}:
        return widget.selected
    return None


def _clickable(widget: Widget) -> bool:
    return (
        widget.on_tap is not None
        or isinstance(widget, TextField | Slider)
        or (isinstance(widget, Switch | Checkbox) and widget.on_change is not None)
        or own_toggle(widget) is not None
    )
