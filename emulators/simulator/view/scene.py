"""The whole screen at one moment: windows, bars, keyboard and overlays, placed and painted."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from emulators.simulator.apps import systemui
from emulators.simulator.view.accessibility import window_tree
from emulators.simulator.view.compose import Context
from emulators.simulator.view.keyboard import EnterKind, KeyboardLook, keyboard, keyboard_height_dp
from emulators.simulator.view.layout import Limits, Node, Rect, lay_out, place
from emulators.simulator.view.painter import Operation, Painter
from emulators.simulator.view.theme import Theme, theme
from emulators.simulator.view.widgets import Dialog, Menu, Scaffold, TextField, Widget
from emulators.ui import UiNode

if TYPE_CHECKING:
    from emulators.simulator.phone import Phone

LayerKind = Literal["window", "status", "navigation", "dialog", "menu", "keyboard", "toast", "shade", "recents"]

DIALOG_MARGIN_DP = 28.0
DIALOG_MAX_DP = 560.0


@dataclass(frozen=True, slots=True)
class Layer:
    """One window, from the bottom up."""

    kind: LayerKind
    node: Node
    area: Rect
    """What it may cover; a touch outside of a modal one's node dismisses it."""
    package: str
    operations: tuple[Operation, ...]
    on_outside: Callable[[], None] | None = None

    @property
    def modal(self) -> bool:
        """Say whether it keeps touches from the layers below."""
        return self.kind in {"dialog", "menu", "shade", "recents"}


class Scene:
    """What the screen shows and where everything lies. Never changed once built."""

    def __init__(self, width_px: int, height_px: int, context: Context, layers: tuple[Layer, ...]) -> None:
        self.width_px = width_px
        self.height_px = height_px
        self.context = context
        self.layers = layers
        self.display_list: tuple[Operation, ...] = tuple(op for layer in layers for op in layer.operations)

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
        windows = ("window", "dialog", "menu", "shade", "recents")
        return next(layer for layer in reversed(self.layers) if layer.kind in windows)

    def layer_at(self, x_px: int, y_px: int) -> Layer | None:
        """Return who gets a touch: the topmost layer there; a modal one also gets what is outside of it."""
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

    def ui_tree(self) -> UiNode:
        """Return the accessibility tree of the window that has the focus."""
        layer = self.active
        return window_tree(layer.node, layer.area, layer.package, self.context)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, in drawing order."""
    yield node
    for child in node.children:
        yield from walk(child)


def path_at(node: Node, x_px: int, y_px: int) -> list[Node]:
    """Return the nodes at a point, from the root to the innermost, later (upper) siblings first."""
    if not node.visible.contains(x_px, y_px):
        # A child may lie outside of its parent's box, but never outside of what clips it.
        return []
    for child in reversed(node.children):
        below = path_at(child, x_px, y_px)
        if below:
            return [node, *below]
    return [node]


# --- building ------------------------------------------------------------------------------------------------------


class _Builder:
    """Puts the layers of one scene together, bottom to top."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone
        self.view = phone.state.view
        self.width, self.height = phone.width_px, phone.height_px
        self.theme: Theme = theme(dark=systemui.is_dark(phone))
        record = phone.state.tasks.front.top
        self.token = record.token
        self.activity, self.package = record.activity, record.package
        self.context = Context(density=phone.density_dpi / 160)
        self.status_px = self.context.px(systemui.STATUS_BAR_DP)
        self.navigation_px = self.context.px(systemui.NAVIGATION_BAR_DP)
        self.bottom = self.height - self.navigation_px
        self.layers: list[Layer] = []

    def build(self) -> Scene:
        screen = self.activity.build(self.phone.system)
        popup = self.activity.dialog(self.phone.system)
        self._settle_focus(popup if popup is not None else screen)
        look = self._keyboard_look(popup if popup is not None else screen)
        self.context = replace(
            self.context,
            scroll_px=self.activity.scroll_px,
            focus=self.activity.focus,
            cursor=self.activity.cursor,
            select_all=self.view.select_all,
            keyboard=look is not None,
        )
        if look is not None:
            self.bottom -= self.context.px(keyboard_height_dp())
        covered = self.view.overlay
        self._window(screen)
        self._bars(screen, keyboard_open=look is not None)
        if popup is not None:
            self._popup(popup)
        if look is not None:
            self._keyboard(look)
        if covered:
            self._overlay()
        if self.view.toast and self.phone.state.clock.uptime_ms() < self.view.toast_until_ms:
            self._toast()
        return Scene(self.width, self.height, self.context, tuple(self.layers))

    def _settle_focus(self, window: Widget) -> None:
        """Take the focus from a field that is gone; give it to one that asks for it on its first appearance."""
        fields = list(fields_in(window)) if isinstance(window, Widget) else []
        asking = next((field for field in fields if field.autofocus and field.key and field.enabled), None)
        name = "" if asking is None else f"{self.token}/{asking.key}"
        if asking is not None and name != self.view.autofocused:
            self.activity.focus, self.activity.cursor = asking.key, len(asking.value)
            self.view.keyboard_open, self.view.keyboard_page, self.view.select_all = True, "letters", False
        elif self.activity.focus and all(field.key != self.activity.focus for field in fields):
            self.activity.focus, self.view.keyboard_open, self.view.select_all = "", False, False
        self.view.autofocused = name

    def _keyboard_look(self, window: Widget) -> KeyboardLook | None:
        if not self.view.keyboard_open or not self.activity.focus:
            return None
        field = find_field(window, self.activity.focus)
        if field is None:
            return None
        enter: EnterKind = "newline" if field.multiline else "done" if field.on_submit else "next"
        return KeyboardLook(self.view.keyboard_page, self.view.shift, field.number, enter)

    def _painted(self, node: Node, area: Rect, before: tuple[Operation, ...] = ()) -> tuple[Operation, ...]:
        painter = Painter(self.theme, self.context)
        painter.paint(node, area)
        return (*before, *painter.operations)

    def _fill(self, area: Rect, color: str) -> tuple[Operation, ...]:
        kind = "wallpaper" if color == "wallpaper" else "rect"
        value = self.theme.dark if kind == "wallpaper" else self.theme.color(color)
        return () if area.empty else ((kind, tuple(area), None, tuple(area), value),)

    def _window(self, screen: Widget) -> None:
        """Place the activity between the bars; its background goes on below them."""
        background = screen.background or "surface"
        area = Rect(0, self.status_px, self.width, max(self.bottom, self.status_px + 1))
        # The background is painted once for the whole screen, so the widget itself is laid out without.
        node = lay_out(
            replace(screen, background=None),
            Limits(area.right, area.right, area.bottom - area.top, area.bottom - area.top),
            self.context,
        )
        place(node, 0, area.top, area)
        whole = Rect(0, 0, self.width, self.height)
        operations = self._fill(whole, background)
        bar = screen.app_bar if isinstance(screen, Scaffold) else None
        if bar is not None and bar.background:
            operations += self._fill(Rect(0, 0, self.width, self.status_px), bar.background)
        if isinstance(screen, Scaffold) and screen.bottom_bar is not None and not self.context.keyboard:
            operations += self._fill(Rect(0, self.bottom, self.width, self.height), "surface_container")
        self.layers.append(Layer("window", node, area, self.package, self._painted(node, area, operations)))

    def _bars(self, screen: Widget, *, keyboard_open: bool) -> None:
        bar = screen.app_bar if isinstance(screen, Scaffold) else None
        wallpaper = screen.background == "wallpaper"
        behind = (bar.background if bar is not None else None) or screen.background or "surface"
        light = not wallpaper and self.theme.is_light(self.theme.color(behind))
        self._status("#E6202124" if light else "#F2FFFFFF")
        background = "keyboard" if keyboard_open else None
        below = self.theme.dark if background else wallpaper or self.theme.dark
        self._navigation("#FFFFFF" if below else "#5F6368", background, keyboard_open=keyboard_open)

    def _status(self, color: str) -> None:
        facts = systemui.status_facts(self.phone)
        size = (self.width, self.status_px, self.context.density)
        node, operations = _status_layer(facts, color, *size)
        self.layers.append(Layer("status", node, node.rect, systemui.PACKAGE, operations))

    def _navigation(self, color: str, background: str | None, *, keyboard_open: bool) -> None:
        area = Rect(0, self.height - self.navigation_px, self.width, self.height)
        node, operations = _navigation_layer(
            color, background, area, self.context.density, keyboard_open=keyboard_open, dark=self.theme.dark
        )
        self.layers.append(Layer("navigation", node, area, systemui.PACKAGE, operations))

    def _popup(self, popup: Dialog | Menu) -> None:
        whole = Rect(0, 0, self.width, self.height)
        if isinstance(popup, Dialog):
            area, node = self._dialog(popup)
            before = self._fill(whole, "scrim")
            kind: LayerKind = "dialog"
        else:
            area, node = self._menu(popup)
            before, kind = (), "menu"
        operations = self._painted(node, area, before)
        self.layers.append(Layer(kind, node, area, self.package, operations, popup.on_dismiss))

    def _dialog(self, dialog: Dialog) -> tuple[Rect, Node]:
        area = Rect(0, self.status_px, self.width, max(self.bottom, self.status_px + 1))
        px = self.context.px
        width = min(self.width - 2 * px(DIALOG_MARGIN_DP), px(DIALOG_MAX_DP))
        room = max(area.bottom - area.top - 2 * px(16), 1)
        node = lay_out(dialog, Limits(width, width, 0, room), self.context)
        x, y = (self.width - node.width) // 2, area.top + (area.bottom - area.top - node.height) // 2
        return area, place(node, x, y, area)

    def _menu(self, menu: Menu) -> tuple[Rect, Node]:
        area = Rect(0, self.status_px, self.width, max(self.bottom, self.status_px + 1))
        px = self.context.px
        node = lay_out(
            menu, Limits(px(112), max(self.width - px(32), px(112)), 0, area.bottom - area.top), self.context
        )
        x, y = self.width - node.width - px(8), self.status_px + px(8)
        anchor = next((n for n in walk(self.layers[0].node) if menu.anchor and n.widget.key == menu.anchor), None)
        if anchor is not None:
            right = anchor.x + anchor.width / 2 > self.width / 2
            x = anchor.rect.right - node.width if right else anchor.x
            y = anchor.y if anchor.height <= px(56) else anchor.y + px(16)
        x = min(max(x, px(8)), max(self.width - node.width - px(8), 0))
        y = min(max(y, area.top), max(area.bottom - node.height - px(8), area.top))
        return area, place(node, x, y, area)

    def _keyboard(self, look: KeyboardLook) -> None:
        bottom = self.height - self.navigation_px
        node, operations = keyboard(look, self.width, bottom, self.context.density, dark=self.theme.dark)
        self.layers.append(Layer("keyboard", node, node.rect, "com.google.android.inputmethod.latin", operations))

    def _overlay(self) -> None:
        view = self.view

        def close() -> None:
            view.overlay = ""

        shade = view.overlay == "shade"
        screen = systemui.shade(self.phone, close) if shade else systemui.recents(self.phone, close)
        whole = Rect(0, 0, self.width, self.height)
        area = Rect(0, self.status_px, self.width, self.height - self.navigation_px)
        size = area.bottom - area.top
        node = lay_out(replace(screen, background=None), Limits(self.width, self.width, size, size), self.context)
        place(node, 0, area.top, area)
        before = self._fill(whole, screen.background or "surface")
        kind: LayerKind = "shade" if shade else "recents"
        package = systemui.PACKAGE if shade else self.phone.state.tasks.home.package
        self.layers = []
        self.layers.append(Layer(kind, node, area, package, self._painted(node, area, before), close))
        self._status("#F2FFFFFF" if self.theme.dark else "#E6202124")
        self._navigation("#FFFFFF" if self.theme.dark else "#5F6368", None, keyboard_open=False)

    def _toast(self) -> None:
        area = Rect(0, 0, self.width, self.height)
        px = self.context.px
        node = lay_out(
            systemui.toast(self.view.toast), Limits(0, self.width - 2 * px(32), 0, area.bottom), self.context
        )
        place(node, (self.width - node.width) // 2, max(self.bottom - node.height - px(40), 0), area)
        self.layers.append(Layer("toast", node, node.rect, systemui.PACKAGE, self._painted(node, area)))


@lru_cache(maxsize=256)
def _status_layer(
    facts: systemui.StatusFacts, color: str, width: int, height: int, density: float
) -> tuple[Node, tuple[Operation, ...]]:
    return _still(systemui.status_bar(facts, color), Rect(0, 0, width, height), density, dark=False)


@lru_cache(maxsize=64)
def _navigation_layer(
    color: str, background: str | None, area: Rect, density: float, *, keyboard_open: bool, dark: bool
) -> tuple[Node, tuple[Operation, ...]]:
    bar = systemui.navigation_bar(color, background, keyboard=keyboard_open)
    return _still(bar, area, density, dark=dark)


def _still(widget: Widget, area: Rect, density: float, *, dark: bool) -> tuple[Node, tuple[Operation, ...]]:
    """Lay out and paint what depends on nothing but its arguments."""
    context = Context(density=density)
    width, height = area.right - area.left, area.bottom - area.top
    node = place(lay_out(widget, Limits(width, width, height, height), context), area.left, area.top, area)
    painter = Painter(theme(dark=dark), context)
    painter.paint(node, area)
    return node, tuple(painter.operations)


_SUBWIDGETS = ("app_bar", "body", "leading", "trailing", "bottom_bar", "fab")


def fields_in(widget: Widget) -> Iterator[TextField]:
    """Yield the text fields of a screen that is not laid out yet, in order."""
    if isinstance(widget, TextField):
        yield widget
        return
    for name in _SUBWIDGETS:
        inner = getattr(widget, name, None)
        if isinstance(inner, Widget):
            yield from fields_in(inner)
    for child in (*getattr(widget, "children", ()), *getattr(widget, "actions", ())):
        part = child[0] if isinstance(child, tuple) else child
        if isinstance(part, Widget):
            yield from fields_in(part)


def find_field(widget: Widget, key: str) -> TextField | None:
    """Return the text field with a key."""
    return next((field for field in fields_in(widget) if field.key == key), None)


def build_scene(phone: Phone) -> Scene:
    """Return what `phone` shows now."""
    return _Builder(phone).build()
