"""The whole screen at one moment: windows, bars, keyboard and overlays, placed and painted."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from rlfactory.emulators.device.ui import UiNode
from rlfactory.emulators.simulator.view.accessibility import window_tree
from rlfactory.emulators.simulator.view.compose import Context
from rlfactory.emulators.simulator.view.drawing.painter import Operation
from rlfactory.emulators.simulator.view.layout import Node, Rect
from rlfactory.emulators.simulator.view.system_ui.keyboard import Key
from rlfactory.emulators.simulator.view.system_ui.overlays import NavigationKey
from rlfactory.emulators.simulator.view.widgets import Checkbox, ListItem, Scroll, Slider, Switch, TextField

WindowKind = Literal["window", "dialog", "menu", "shade", "recents"]
LayerKind = WindowKind | Literal["status", "navigation", "toolbar", "keyboard", "toast", "banner"]


@dataclass(frozen=True, slots=True)
class Layer:
    """One window, from the bottom up."""

    kind: LayerKind
    node: Node
    area: Rect
    """What it may cover; a touch outside of a modal one's node dismisses it."""
    package: str
    paint: Callable[[], tuple[Operation, ...]]
    """Works out what it is drawn of: a screen that is only touched or read is not drawn."""
    on_outside: Callable[[], None] | None = None

    @property
    def modal(self) -> bool:
        """Say whether it keeps touches from the layers below."""
        return self.kind in {"dialog", "menu", "shade", "recents"}


class Scene:
    """What the screen shows and where everything lies. Never changed once built."""

    def __init__(
        self,
        width_px: int,
        height_px: int,
        context: Context,
        layers: tuple[Layer, ...],
        *,
        tells_seconds: bool = False,
    ) -> None:
        self.width_px = width_px
        self.height_px = height_px
        self.context = context
        self.layers = layers
        self.tells_seconds = tells_seconds
        """Its activity has asked for the time: a second later it may show something else."""

    @cached_property
    def display_list(self) -> tuple[Operation, ...]:
        """What is drawn, in order."""
        return tuple(operation for layer in self.layers for operation in layer.paint())

    @cached_property
    def digest(self) -> str:
        """Name of the picture: equal for equal pixels of equal size (hex, 32 digits)."""
        content = marshal.dumps((self.width_px, self.height_px, self.display_list), 2)
        return hashlib.blake2b(content, digest_size=16).hexdigest()

    def layer(self, kind: LayerKind) -> Layer | None:
        """Return the topmost layer of a kind."""
        return next((layer for layer in reversed(self.layers) if layer.kind == kind), None)

    @property
    def active(self) -> Layer:
        """The window that has the input focus: the topmost that is no bar, keyboard or toast."""
        return next(layer for layer in reversed(self.layers) if layer.kind in get_args(WindowKind))

    def layer_at(self, x_px: int, y_px: int) -> Layer | None:
        """Return who gets a touch: the bars, else the topmost layer; a modal one also gets what is outside of it."""
        for layer in reversed(self.layers):
            if layer.kind in {"navigation", "status"} and layer.node.rect.contains(x_px, y_px):
                return layer
        for layer in reversed(self.layers):
            if layer.kind != "toast" and (layer.node.rect.contains(x_px, y_px) or layer.modal):
                return layer
        return None

    def find(self, key: str) -> Node | None:
        """Return the visible widget with a key in the window that has the focus (or below), None if there is none."""
        for layer in reversed(self.layers):
            for node in walk(layer.node):
                if node.widget.key == key:
                    return node
        return None

    @cached_property
    def ui_tree(self) -> UiNode:
        """The accessibility tree of the window that has the focus."""
        layer = self.active
        floating = (each.node for each in self.layers if each.kind in {"toolbar", "banner"})
        return window_tree((layer.node, *floating), layer.area, layer.package, self.context)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, in drawing order."""
    yield node
    for child in node.children:
        yield from walk(child)


def path_at(node: Node, x_px: int, y_px: int) -> list[Node]:
    """Return the nodes at a point, from the root to the innermost; upper siblings first.

    A sibling that is neither seen nor listens (the margin around a floating button) lets the touch through.
    """
    if not node.visible.contains(x_px, y_px):
        return []
    through: list[Node] = []
    for child in reversed(node.children):
        below = path_at(child, x_px, y_px)
        if any(map(_stops_touch, below)):
            return [node, *below]
        through = through or below
    return [node, *through]


def _stops_touch(node: Node) -> bool:
    widget = node.widget
    listens = widget.on_tap or widget.on_long_press or widget.on_swipe or widget.on_drop
    return bool(listens or widget.background) or type(widget) in _TOUCHED


_TOUCHED = frozenset({Checkbox, Key, ListItem, NavigationKey, Scroll, Slider, Switch, TextField})
