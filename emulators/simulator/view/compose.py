"""Material's composite widgets, spelt out in boxes, texts and icons.

A composite stays in the placed tree (it is what is tapped and what accessibility names); what stands here is how it
looks. `compose(widget, context)` returns None for what `layout.py` places itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rlfactory.emulators.simulator.view import widgets as w
from rlfactory.emulators.simulator.view.theme import DISABLED


@dataclass(frozen=True, slots=True)
class Context:
    """What the look of a screen depends on besides its widgets."""

    density: float
    """Pixels per dp."""
    font_scale: float = 1.0
    """The user's text size: what Android's sp are more than dp."""
    scroll_px: Mapping[str, int] = field(default_factory=dict)
    focus: str = ""
    cursor: int = 0
    select_all: bool = False
    keyboard: bool = False

    @property
    def text_density(self) -> float:
        """Pixels per sp."""
        return self.density * self.font_scale

    def px(self, dp: float) -> int:
        """Return a length in pixels; what is thicker than nothing stays at least one pixel."""
        pixels = round(dp * self.density)
        return pixels if pixels or dp <= 0 else 1


LARGE_TITLE_DP = 84.0
"""Height of the title that stands above a scrolling list under a large bar."""

BUTTON_COLORS = {
    "filled": ("primary", "on_primary", None),
    "tonal": ("secondary_container", "on_secondary_container", None),
    "outlined": (None, "primary", "outline"),
    "text": (None, "primary", None),
}


def _button(button: w.Button, _: Context) -> w.Widget:
    background, content, border = BUTTON_COLORS[button.kind]
    if not button.enabled:
        background = "on_surface/12" if background else None
        content, border = "on_surface" + DISABLED, "on_surface/12" if border else None
    side = 12.0 if button.kind == "text" else 24.0
    label: tuple[w.Widget, ...] = (w.Text(text=button.text, style="label_large", color=content, max_lines=1),)
    if button.icon:
        label = (w.Icon(icon=button.icon, size=18, color=content), *label)
    return w.Row(
        children=label,
        gap=8,
        justify="center",
        min_height=40,
        padding=(side - 8 if button.icon and side > 12 else side, 0, side, 0),
        background=background,
        border=border,
        radius=20,
    )


def _icon_button(button: w.IconButton, _: Context) -> w.Widget:
    color = button.color if button.enabled else "on_surface" + DISABLED
    return w.Stack(
        children=w.centered(w.Icon(icon=button.icon, size=button.size, color=color)),
        width=button.diameter,
        height=button.diameter,
        background=button.container,
        radius=button.diameter / 2,
    )


def _fab(fab: w.Fab, _: Context) -> w.Widget:
    children: tuple[w.Widget, ...] = (w.Icon(icon=fab.icon, color="on_primary_container"),)
    if fab.text:
        children += (w.Text(text=fab.text, style="label_large", color="on_primary_container", max_lines=1),)
    return w.Row(
        children=children,
        gap=12,
        justify="center",
        height=56,
        padding=(16, 0, 20 if fab.text else 16, 0),
        background="primary_container",
        radius=16,
        elevation=3,
    )


def _avatar(avatar: w.Avatar, _: Context) -> w.Widget:
    content: w.Widget
    if avatar.icon:
        content = w.Icon(icon=avatar.icon, size=avatar.size * 0.6, color="#FFFFFF")
    else:
        style = "headline_large" if avatar.size >= 72 else "title_large" if avatar.size >= 48 else "title_medium"
        content = w.Text(text=avatar.letter[:1].upper(), style=style, color="#FFFFFF")
    return w.Stack(
        children=w.centered(content),
        width=avatar.size,
        height=avatar.size,
        background=avatar.color,
        radius=avatar.size / 2,
    )


def _list_item(item: w.ListItem, _: Context) -> w.Widget:
    fade = "" if item.enabled else DISABLED
    lines = [
        ("title", item.title, item.title_style, item.title_color, item.max_lines),
        ("summary", item.subtitle, "body_medium", "on_surface_variant", max(item.max_lines, 2)),
    ]
    texts = tuple(
        w.Text(key=f"android:id/{key}", text=text, style=style, color=_faded(color, fade), max_lines=most)
        for key, text, style, color, most in lines[: 2 if item.subtitle else 1]
    )
    children: tuple[w.Widget, ...] = (w.Column(children=texts, weight=1),)
    gap = 20.0
    if item.leading is not None:
        leading = item.leading
        if isinstance(leading, w.Icon) and not item.enabled:
            leading = replace(leading, color="on_surface" + DISABLED)
        gap = 24.0 if isinstance(leading, w.Icon) else 16.0
        children = (leading, *children)
    if item.trailing is not None:
        children += (item.trailing,)
    tight = isinstance(item.trailing, w.IconButton | w.Checkbox)
    return w.Row(children=children, gap=gap, min_height=64, padding=(24, 14, 12 if tight else 24, 14))


def _faded(color: str, fade: str) -> str:
    """Return a role at the opacity of what is disabled; literal colours have none."""
    return color if "#" in color else color + fade


def _tab_bar(bar: w.TabBar, _: Context) -> w.Widget:
    make = _bottom_tab if bar.place == "bottom" else _top_tab
    tabs = tuple(make(bar, index, tab) for index, tab in enumerate(bar.tabs))
    if bar.place == "bottom":
        return w.Row(children=tabs, height=80, align="stretch", background="surface_container")
    return w.Column(children=(w.Row(children=tabs, align="stretch"), w.Divider()))


def _select(bar: w.TabBar, index: int) -> Callable[[], None] | None:
    on_select = bar.on_select
    return None if on_select is None else lambda: on_select(index)


class TabBox(w.Column):
    """One tab of a `TabBar`, as it is tapped and named."""

    text: str = ""


def _top_tab(bar: w.TabBar, index: int, tab: w.Tab) -> w.Widget:
    chosen = index == bar.index
    color = "primary" if chosen else "on_surface_variant"
    content: tuple[w.Widget, ...] = (w.Icon(icon=tab.icon, color=color),) if tab.icon else ()
    if tab.text:
        content += (w.Text(text=tab.text, style="title_small", color=color, max_lines=1, text_align="center"),)
    line = w.Column(width=56, height=3, background="primary" if chosen else None, radius=1.5)
    return TabBox(
        text=tab.text,
        description=tab.description or tab.text,
        selected=chosen,
        on_tap=_select(bar, index),
        weight=1,
        height=64 if tab.icon and tab.text else 48,
        align="center",
        children=(w.Column(children=content, gap=2, align="center", justify="center", weight=1), line),
    )


def _bottom_tab(bar: w.TabBar, index: int, tab: w.Tab) -> w.Widget:
    chosen = index == bar.index
    icon = w.Icon(icon=tab.icon, color="on_secondary_container" if chosen else "on_surface_variant")
    pill = w.Stack(
        children=w.centered(icon), width=64, height=32, radius=16, background="secondary_container" if chosen else None
    )
    color = "on_surface" if chosen else "on_surface_variant"
    return TabBox(
        text=tab.text,
        description=tab.description or tab.text,
        selected=chosen,
        on_tap=_select(bar, index),
        weight=1,
        align="center",
        justify="center",
        gap=4,
        children=(pill, w.Text(text=tab.text, style="label_medium", color=color, max_lines=1)),
    )


def _app_bar(bar: w.AppBar, _: Context) -> w.Widget:
    row = _bar_row(bar, title=not bar.large)
    return w.Column(children=(row, _large_title(bar))) if bar.large else row


def _bar_row(bar: w.AppBar, *, title: bool) -> w.Row:
    children: tuple[w.Widget, ...] = ()
    if bar.on_back is not None:
        label = "Navigate up" if bar.navigation_icon == "arrow-left" else bar.navigation_icon.replace("-", " ").title()
        children = (
            w.IconButton(icon=bar.navigation_icon, description=label, on_tap=bar.on_back, color="on_surface"),
            w.Spacer(width=8),
        )
    text = bar.title if title else ""
    children += (w.Text(text=text, style="title_large", max_lines=1, weight=1), *bar.actions)
    right = 4 if not bar.actions or isinstance(bar.actions[-1], w.IconButton) else 16
    return w.Row(children=children, height=64, padding=(4 if bar.on_back else 20, 0, right, 0))


def _large_title(bar: w.AppBar) -> w.Widget:
    return w.Column(
        children=(w.Text(text=bar.title, style="settings_title", max_lines=1),),
        height=LARGE_TITLE_DP,
        justify="end",
        padding=(24, 0, 24, 16),
    )


def _scaffold(screen: w.Scaffold, context: Context) -> w.Widget:
    bar, body = screen.app_bar, screen.body
    if isinstance(bar, w.AppBar) and bar.large and isinstance(body, w.Scroll):
        # The large title scrolls away with the list; then the bar itself shows the title.
        gone = context.scroll_px.get(body.key, 0) >= context.px(LARGE_TITLE_DP - 16)
        body = replace(body, children=(_large_title(bar), *body.children))
        bar = replace(bar, large=False, title=bar.title if gone else "")
    middle: list[tuple[w.Widget, w.Align, w.Align]] = [(body, "stretch", "stretch")]
    if screen.fab is not None:
        middle.append((w.Column(children=(screen.fab,), padding=(16, 16, 16, 16)), "end", "end"))
    children: tuple[w.Widget, ...] = (w.Stack(children=tuple(middle), weight=1, width="fill"),)
    if bar is not None:
        children = (bar, *children)
    if screen.bottom_bar is not None and not context.keyboard:
        children += (screen.bottom_bar,)
    return w.Column(children=children, height="fill", width="fill")


def _dialog(dialog: w.Dialog, _: Context) -> w.Widget:
    parts: list[w.Widget] = []
    if dialog.icon:
        parts.append(w.Column(children=(w.Icon(icon=dialog.icon, color="secondary"),), align="center"))
    if dialog.title:
        align: Any = "center" if dialog.icon else "start"
        parts.append(w.Text(key="android:id/alertTitle", text=dialog.title, style="headline_small", text_align=align))
    if dialog.body is not None:
        parts.append(w.Column(children=(dialog.body,), weight=1))
    if dialog.actions:
        parts.append(_dialog_actions(dialog.actions))
    return w.Column(
        children=tuple(parts),
        gap=16,
        padding=(24, 24, 24, 16 if dialog.actions else 24),
        background="surface_container_high",
        radius=28,
        width="fill",
    )


def _dialog_actions(actions: tuple[w.Action, ...]) -> w.Widget:
    # Android's ids: the last action is the positive one.
    ids = ("android:id/button1", "android:id/button2", "android:id/button3")
    buttons = tuple(
        w.Button(
            key=ids[len(actions) - 1 - index] if len(actions) - 1 - index < len(ids) else "",
            text=action.text,
            kind="text",
            on_tap=action.on_tap,
            enabled=action.enabled,
        )
        for index, action in enumerate(actions)
    )
    if sum(len(action.text) for action in actions) > 34:
        return w.Column(children=buttons, align="end")
    return w.Row(children=buttons, gap=8, justify="end")


class MenuRow(w.Row):
    """One entry of a `Menu`, as it is tapped and named."""

    text: str = ""


def _menu(menu: w.Menu, _: Context) -> w.Widget:
    return w.Column(
        children=tuple(_menu_row(action) for action in menu.items),
        padding=(0, 8, 0, 8),
        background="surface_container",
        radius=8,
        elevation=2,
    )


def _menu_row(action: w.Action) -> w.Widget:
    fade = "" if action.enabled else DISABLED
    children: tuple[w.Widget, ...] = (w.Text(key="android:id/title", text=action.text, color="on_surface" + fade),)
    if action.icon:
        children = (w.Icon(icon=action.icon, color="on_surface_variant" + fade), *children)
    return MenuRow(
        text=action.text,
        children=children,
        gap=12,
        min_height=48,
        padding=(16, 8, 40, 8),
        on_tap=action.on_tap,
        enabled=action.enabled,
    )


_COMPOSERS: dict[type[w.Widget], Callable[[Any, Context], w.Widget]] = {
    w.AppBar: _app_bar,
    w.Avatar: _avatar,
    w.Button: _button,
    w.Dialog: _dialog,
    w.Fab: _fab,
    w.IconButton: _icon_button,
    w.ListItem: _list_item,
    w.Menu: _menu,
    w.Scaffold: _scaffold,
    w.TabBar: _tab_bar,
}


def compose(widget: w.Widget, context: Context) -> w.Widget | None:
    """Return the boxes that a composite widget consists of, None for a primitive."""
    composer = _COMPOSERS.get(type(widget))
    return None if composer is None else composer(widget, context)


def own_toggle(item: w.Widget) -> w.Switch | w.Checkbox | None:
    """Return the switch that a tap anywhere on a list row toggles, None where the row has none or its own action."""
    if isinstance(item, w.ListItem) and item.on_tap is None and isinstance(item.trailing, w.Switch | w.Checkbox):
        return item.trailing
    return None
