"""Putting the screen together: what the phone's state looks like right now."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from rlfactory.emulators.device.language import LANGUAGE_KEY, words_of
from rlfactory.emulators.simulator.view import editing
from rlfactory.emulators.simulator.view import widgets as w
from rlfactory.emulators.simulator.view.compose import Context
from rlfactory.emulators.simulator.view.drawing.painter import Operation, Painter
from rlfactory.emulators.simulator.view.fields import fields_in, find_field
from rlfactory.emulators.simulator.view.layout import Limits, Node, Rect, lay_out, place
from rlfactory.emulators.simulator.view.scene import Layer, LayerKind, Scene, walk
from rlfactory.emulators.simulator.view.system_ui import interruptions
from rlfactory.emulators.simulator.view.system_ui import overlays as systemui
from rlfactory.emulators.simulator.view.system_ui.keyboard import EnterKind, KeyboardLook, fitting_row_dp, keyboard
from rlfactory.emulators.simulator.view.system_ui.overlays import navigation_picture, status_picture
from rlfactory.emulators.simulator.view.theme import Theme, theme
from rlfactory.emulators.simulator.view.translation import translated

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.machine.state import Interruption
    from rlfactory.emulators.simulator.machine.task_stack import ActivityRecord
    from rlfactory.emulators.simulator.phone import Phone

Window = TypeVar("Window")
DIALOG_MARGIN_DP = 28.0
DIALOG_MAX_DP = 560.0


def build_scene(phone: Phone) -> Scene:
    """Return what `phone` shows now."""
    return _Builder(phone).build() if phone.state.view.screen_on else _dark_screen(phone)


def task_picture(phone: Phone, record: ActivityRecord) -> tuple[Operation, ...]:
    """Return what an activity's window looks like, bars and dialogs left out: its card in the overview."""
    return _Builder(phone, record).picture()


def _dark_screen(phone: Phone) -> Scene:
    width, height = phone.width_px, phone.height_px
    context = Context(density=phone.density_dpi / 160)
    area = Rect(0, 0, width, height)
    nothing = place(lay_out(w.Spacer(), Limits(width, width, height, height), context), 0, 0, area)
    black = (("rect", tuple(area), None, tuple(area), 0xFF000000),)
    return Scene(width, height, context, (Layer("window", nothing, area, systemui.PACKAGE, lambda: black),))


def _font_scale(phone: Phone) -> float:
    """Return the text size of Settings, 0.5 to 2; what is no number counts as 1."""
    try:
        scale = float(phone.state.settings.get("system", "font_scale", "1.0"))
    except ValueError:
        return 1.0
    return 1.0 if math.isnan(scale) else min(max(scale, 0.5), 2.0)


class _Builder:
    """Puts the layers of one scene together, bottom to top."""

    def __init__(self, phone: Phone, record: ActivityRecord | None = None) -> None:
        self.phone = phone
        self.view = phone.state.view
        self.width, self.height = phone.width_px, phone.height_px
        self.words = words_of(phone.state.settings.get("system", LANGUAGE_KEY, "en-US"))
        self.theme: Theme = theme(dark=systemui.is_dark(phone))
        record = record or phone.state.tasks.front.top
        self.token = record.token
        self.activity, self.package = record.activity, record.package
        self.context = Context(density=phone.density_dpi / 160, font_scale=_font_scale(phone))
        self.status_px = self.context.px(systemui.STATUS_BAR_DP)
        self.navigation_px = self.context.px(systemui.NAVIGATION_BAR_DP)
        self.bottom = self.height - self.navigation_px
        self.layers: list[Layer] = []

    def build(self) -> Scene:
        clock = self.phone.state.clock
        readings = clock.readings
        screen = self._told(self.activity.build(self.phone.system))
        popup = self._told(self.activity.dialog(self.phone.system))
        tells_seconds = clock.readings != readings
        if self.view.loading and self.phone.state.clock.uptime_ms() < self.view.loaded_at_ms:
            screen, popup = interruptions.still_loading(screen, self.view.loading), None
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
            self.bottom -= self.context.px(look.height_dp)
        self._window(screen)
        self._bars(screen)
        if popup is not None:
            self._popup(popup)
        if look is not None:
            self._keyboard(look)
        if self.view.toolbar:
            self._toolbar()
        if self.view.overlay:
            self._overlay()
        if self.view.toast and self.phone.state.clock.uptime_ms() < self.view.toast_until_ms:
            self._toast()
        if (interruption := interruptions.showing(self.phone)) is not None:
            self._interruption(interruption)
        return Scene(self.width, self.height, self.context, tuple(self.layers), tells_seconds=tells_seconds)

    def picture(self) -> tuple[Operation, ...]:
        self.context = replace(self.context, scroll_px=self.activity.scroll_px)
        self._window(self._told(self.activity.build(self.phone.system)))
        return self.layers[0].paint()

    def _told(self, window: Window) -> Window:
        """Return a window in the phone's language."""
        return translated(window, self.words) if self.words else window

    def _settle_focus(self, window: w.Widget) -> None:
        """Take the focus from a field that is gone; give it to one that asks for it on its first appearance."""
        fields = list(fields_in(window)) if isinstance(window, w.Widget) else []
        asking = next((field for field in fields if field.autofocus and field.key and field.enabled), None)
        name = "" if asking is None else f"{self.token}/{asking.key}"
        if asking is not None and name != self.view.autofocused:
            self.activity.focus, self.activity.cursor = asking.key, len(asking.value)
            self.view.keyboard_open, self.view.keyboard_page, self.view.select_all = True, "letters", False
        elif self.activity.focus and all(field.key != self.activity.focus for field in fields):
            self.activity.focus, self.view.keyboard_open, self.view.select_all = "", False, False
        self.view.autofocused = name

    def _keyboard_look(self, window: w.Widget) -> KeyboardLook | None:
        if not self.view.keyboard_open or not self.activity.focus:
            return None
        field = find_field(window, self.activity.focus)
        if field is None:
            return None
        enter: EnterKind = "newline" if field.multiline else "done" if field.on_submit else "next"
        row_dp = fitting_row_dp(self.height / self.context.density)
        return KeyboardLook(self.view.keyboard_page, self.view.shift, field.number, enter, row_dp)

    def _painted(
        self, node: Node, area: Rect, before: tuple[Operation, ...] = (), behind: str = "surface"
    ) -> Callable[[], tuple[Operation, ...]]:
        context = self.context

        def paint() -> tuple[Operation, ...]:
            painter = Painter(self.theme, context)
            painter.paint(node, area, behind)
            return (*before, *painter.operations)

        return paint

    def _fill(self, area: Rect, color: str) -> tuple[Operation, ...]:
        kind = "wallpaper" if color == "wallpaper" else "rect"
        value = self.theme.dark if kind == "wallpaper" else self.theme.color(color)
        return () if area.empty else ((kind, tuple(area), None, tuple(area), value),)

    def _window(self, screen: w.Widget) -> None:
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
        bar = screen.app_bar if isinstance(screen, w.Scaffold) else None
        if bar is not None and bar.background:
            operations += self._fill(Rect(0, 0, self.width, self.status_px), bar.background)
        if isinstance(screen, w.Scaffold) and screen.bottom_bar is not None and not self.context.keyboard:
            operations += self._fill(Rect(0, self.bottom, self.width, self.height), "surface_container")
        self.layers.append(Layer("window", node, area, self.package, self._painted(node, area, operations, background)))

    def _bars(self, screen: w.Widget) -> None:
        bar = screen.app_bar if isinstance(screen, w.Scaffold) else None
        ground = screen.background or "surface"
        self._status("#E6202124" if self._is_light((bar.background if bar else None) or ground) else "#F2FFFFFF")
        self._navigation(ground)

    def _is_light(self, color: str) -> bool:
        return color != "wallpaper" and self.theme.is_light(self.theme.color(color))

    def _status(self, color: str) -> None:
        facts = systemui.status_facts(self.phone)
        size = (self.width, self.status_px, self.context.density)
        node, operations = status_picture(facts, color, *size)
        self.layers.append(Layer("status", node, node.rect, systemui.PACKAGE, lambda: operations))

    def _navigation(self, ground: str, *, keyboard_open: bool = False) -> None:
        """Draw the three buttons on what lies below; the keyboard brings its own ground."""
        area = Rect(0, self.height - self.navigation_px, self.width, self.height)
        color, background = "#5F6368" if self._is_light(ground) else "#FFFFFF", ground if keyboard_open else None
        node, operations = navigation_picture(
            color, background, area, self.context.density, keyboard_open=keyboard_open, dark=self.theme.dark
        )
        self.layers.append(Layer("navigation", node, area, systemui.PACKAGE, lambda: operations))

    def _interruption(self, shown: Interruption) -> None:
        window = self._told(interruptions.window(self.phone, shown))
        if isinstance(window, w.Dialog):
            self._popup(window, shown.package)
            return
        banner = shown.kind == "banner"
        area = Rect(0, self.status_px, self.width, self.height - self.navigation_px)
        height = Limits(self.width, self.width, 0 if banner else area.bottom - area.top, area.bottom - area.top)
        node = place(lay_out(window, height, self.context), 0, area.top, area)
        kind: LayerKind = "banner" if banner else "dialog"
        self.layers.append(Layer(kind, node, area, shown.package, self._painted(node, area)))

    def _popup(self, popup: w.Dialog | w.Menu, package: str = "") -> None:
        whole = Rect(0, 0, self.width, self.height)
        if isinstance(popup, w.Dialog):
            area, node = self._dialog(popup)
            before = self._fill(whole, "scrim")
            kind: LayerKind = "dialog"
        else:
            area, node = self._menu(popup)
            before, kind = (), "menu"
        paint = self._painted(node, area, before)
        self.layers.append(Layer(kind, node, area, package or self.package, paint, popup.on_dismiss))

    def _dialog(self, dialog: w.Dialog) -> tuple[Rect, Node]:
        area = Rect(0, self.status_px, self.width, max(self.bottom, self.status_px + 1))
        px = self.context.px
        width = min(self.width - 2 * px(DIALOG_MARGIN_DP), px(DIALOG_MAX_DP))
        room = max(area.bottom - area.top - 2 * px(16), 1)
        node = lay_out(dialog, Limits(width, width, 0, room), self.context)
        x, y = (self.width - node.width) // 2, area.top + (area.bottom - area.top - node.height) // 2
        return area, place(node, x, y, area)

    def _menu(self, menu: w.Menu) -> tuple[Rect, Node]:
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
        package = "com.google.android.inputmethod.latin"
        self.layers.append(Layer("keyboard", node, node.rect, package, lambda: operations))
        self._navigation("keyboard", keyboard_open=True)

    def _toolbar(self) -> None:
        """Float the actions on the selected text above its field, below it where there is no room above."""
        window = next(layer for layer in reversed(self.layers) if layer.kind in {"window", "dialog"})
        nodes = (node for node in walk(window.node) if isinstance(node.widget, w.TextField))
        node = next((n for n in nodes if n.widget.key == self.activity.focus), None)
        if node is None or node.visible.empty:
            return
        bar = lay_out(text_toolbar(self.phone, node.widget), Limits(0, self.width, 0, self.height), self.context)
        px = self.context.px
        x = min(max(node.x + (node.width - bar.width) // 2, px(8)), max(self.width - bar.width - px(8), 0))
        above = node.visible.top - bar.height - px(8)
        y = above if above >= self.status_px else min(node.visible.top + px(48), self.bottom - bar.height)
        area = Rect(0, self.status_px, self.width, max(self.bottom, self.status_px + 1))
        place(bar, x, y, area)
        self.layers.append(Layer("toolbar", bar, area, self.package, self._painted(bar, area)))

    def _overlay(self) -> None:
        view = self.view

        def close() -> None:
            view.overlay = ""

        shade = view.overlay == "shade"
        screen = systemui.shade(self.phone, close) if shade else systemui.recents(self.phone, close, task_picture)
        whole = Rect(0, 0, self.width, self.height)
        area = Rect(0, self.status_px, self.width, self.height - self.navigation_px)
        size = max(area.bottom - area.top, 1)
        node = lay_out(replace(screen, background=None), Limits(self.width, self.width, size, size), self.context)
        place(node, 0, area.top, area)
        before = self._fill(whole, screen.background or "surface")
        kind: LayerKind = "shade" if shade else "recents"
        package = systemui.PACKAGE if shade else self.phone.state.tasks.home.package
        self.layers = [Layer(kind, node, area, package, self._painted(node, area, before), close)]
        self._bars(screen)

    def _toast(self) -> None:
        area = Rect(0, 0, self.width, self.height)
        px = self.context.px
        node = lay_out(
            systemui.toast(self.view.toast), Limits(0, self.width - 2 * px(32), 0, area.bottom), self.context
        )
        place(node, (self.width - node.width) // 2, max(self.bottom - node.height - px(40), 0), area)
        self.layers.append(Layer("toast", node, node.rect, systemui.PACKAGE, self._painted(node, area)))


def text_toolbar(phone: Phone, field: w.Widget) -> w.Widget:
    """Return the actions on selected text."""
    has_text = isinstance(field, w.TextField) and bool(field.value)
    actions: list[tuple[str, Callable[[Phone], None]]] = []
    if has_text:
        actions += [("Cut", lambda p: editing.copy(p, cut=True)), ("Copy", editing.copy)]
    if phone.state.clipboard:
        actions.append(("Paste", editing.paste))
    if has_text:
        actions.append(("Select all", editing.open_toolbar))
    items = tuple(
        w.Button(text=text, kind="text", on_tap=lambda action=action: action(phone), min_height=44)  # type: ignore[misc]
        for text, action in actions
    )
    shown = items or (w.Text(text="Nothing to paste", style="body_medium", padding=(16, 12, 16, 12)),)
    return w.Row(
        key="floating_toolbar",
        children=shown,
        background="surface_container_lowest",
        radius=22,
        elevation=3,
        padding=(4, 0, 4, 0),
    )
