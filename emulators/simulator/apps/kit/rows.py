"""Rows, buttons, bars and pages that several apps share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.view import widgets as ui

SIDE = 24.0
"""The margin of list content that has no icon, in dp."""


def page(system: System, title: str, children: Iterable[ui.Widget], *, large: bool = True) -> ui.Scaffold:
    """Return a page with a back arrow over a scrolling list."""
    return ui.Scaffold(
        app_bar=ui.AppBar(title=title, on_back=system.back, large=large),
        body=ui.Scroll(key="content", children=(*children, ui.Spacer(height=24)), height="fill"),
    )


# --- rows ------------------------------------------------------------------------------------------------------------


def row(
    key: str,
    title: str,
    *,
    subtitle: str = "",
    icon: str = "",
    on_tap: ui.Callback | None = None,
    enabled: bool = True,
    trailing: ui.Widget | None = None,
) -> ui.ListItem:
    """Return a list row with an optional plain icon."""
    leading = ui.Icon(icon=icon) if icon else None
    return ui.ListItem(
        key=key, title=title, subtitle=subtitle, leading=leading, trailing=trailing, on_tap=on_tap, enabled=enabled
    )


def switch_row(
    key: str, title: str, checked: bool, on_change: Callable[[bool], None], *, subtitle: str = "", icon: str = ""
) -> ui.ListItem:
    """Return a list row that ends in a switch."""
    switch = ui.Switch(key=f"{key}_switch", description=title, checked=checked, on_change=on_change)
    return row(key, title, subtitle=subtitle, icon=icon, trailing=switch)


def main_switch(key: str, title: str, checked: bool, on_change: Callable[[bool], None]) -> ui.Widget:
    """Return the pill at the top of a Settings page that turns the whole page's feature on and off."""
    switch = ui.Switch(key=f"{key}_switch", description=title, checked=checked, on_change=on_change)
    bar = ui.Row(
        key=key,
        children=(ui.Text(text=title, style="title_medium", weight=1), switch),
        padding=(24, 16, 20, 16),
        background="primary_container" if checked else "surface_container_high",
        radius=28,
        on_tap=lambda: on_change(not checked),
        width="fill",
    )
    return ui.Column(children=(bar,), padding=(16, 8, 16, 8))


def section(title: str) -> ui.Text:
    """Return the heading of a group of rows."""
    return ui.Text(text=title, style="title_small", color="primary", padding=(SIDE, 20, SIDE, 8))


def note(text: str) -> ui.Widget:
    """Return an explanatory paragraph, as at the foot of a Settings page."""
    return ui.Column(
        children=(
            ui.Icon(icon="information-outline"),
            ui.Text(text=text, style="body_medium", color="on_surface_variant"),
        ),
        gap=16,
        align="start",
        padding=(SIDE, 20, SIDE, 20),
    )


def empty_state(icon: str, title: str, subtitle: str = "") -> ui.Widget:
    """Return what a list shows when it has nothing to show."""
    texts = [ui.Text(text=title, style="title_medium", color="on_surface_variant", text_align="center")]
    if subtitle:
        texts.append(ui.Text(text=subtitle, color="on_surface_variant", text_align="center"))
    return ui.Centered(
        children=(ui.Icon(icon=icon, size=72, color="outline_variant"), *texts),
        gap=16,
        width="fill",
        padding=(32, 120, 32, 32),
    )


def centered_page(
    icon: str, color: str, size: float, texts: Sequence[ui.Text], *, gap: float, side: float
) -> ui.Widget:
    """Return what introduces an app: a large disc and a few words in the middle of the screen."""
    return ui.Centered(
        children=(ui.Avatar(icon=icon, color=color, size=size), *texts),
        gap=gap,
        width="fill",
        height="fill",
        padding=(side, 0, side, 0),
    )


# --- buttons and bars ------------------------------------------------------------------------------------------------


def bar_button(key: str, icon: str, description: str, on_tap: ui.Callback) -> ui.IconButton:
    """Return an icon to tap, as at the end of an app bar."""
    return ui.IconButton(key=key, icon=icon, description=description, on_tap=on_tap)


def more_button(key: str, on_tap: ui.Callback) -> ui.IconButton:
    """Return the three dots that open a menu; the menu's `anchor` is the same key."""
    return bar_button(key, "dots-vertical", "More options", on_tap)


def icon_tile(
    key: str, icon: str, text: str, on_tap: ui.Callback, *, gap: float, padding: tuple[float, float, float, float]
) -> ui.Widget:
    """Return one of a row of actions: an icon over its name."""
    label = ui.Text(text=text, style="label_large", color="primary", text_align="center")
    return ui.Column(
        key=key,
        children=(ui.Icon(icon=icon, color="primary"), label),
        gap=gap,
        align="center",
        weight=1,
        padding=padding,
        radius=16,
        on_tap=on_tap,
    )


def icon_box(
    icon: str, size: float, *, color: str = "on_surface_variant", icon_size: float = 24, **look: Any
) -> ui.Column:
    """Return an icon in the middle of a square; `look` are further fields of the box."""
    return ui.Centered(children=(ui.Icon(icon=icon, size=icon_size, color=color),), width=size, height=size, **look)


def search_bar_title(hint: str, value: str, on_change: Callable[[str], None], on_back: ui.Callback) -> ui.Widget:
    """Return an app bar that holds a search field."""
    field = ui.TextField(
        key="search_src_text", value=value, on_change=on_change, hint=hint, kind="plain", autofocus=True, weight=1
    )
    back = bar_button("search_back", "arrow-left", "Back", on_back)
    clear = bar_button("search_clear", "close", "Clear search", lambda: on_change(""))
    children: tuple[ui.Widget, ...] = (back, field, clear) if value else (back, field)
    return ui.Row(children=children, padding=(4, 8, 8, 8), gap=4, width="fill", height=64)


def search_pill(key: str, hint: str, on_tap: ui.Callback, *, padding: tuple[float, float, float, float]) -> ui.Widget:
    """Return the round bar above a list that opens its search."""
    pill = ui.Row(
        key=key,
        description=hint,
        children=(ui.Icon(icon="magnify"), ui.Text(text=hint, color="on_surface_variant", weight=1)),
        gap=16,
        padding=(20, 0, 16, 0),
        height=52,
        width="fill",
        background="surface_container_high",
        radius=26,
        on_tap=on_tap,
    )
    return ui.Column(children=(pill,), padding=padding)


# --- texts -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def slug(text: str) -> str:
    """Return a text as part of a resource-id: lower case, with underscores."""
    return "_".join("".join(c.lower() if c.isascii() and c.isalnum() else " " for c in text).split())


def plural(count: int, unit: str) -> str:
    """Return "1 item", "2 items"."""
    return f"{count} {unit}{'' if count == 1 else 's'}"


def format_size(size_bytes: int) -> str:
    """Return a file size as Android writes it (powers of 1000)."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size_bytes} B" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"
