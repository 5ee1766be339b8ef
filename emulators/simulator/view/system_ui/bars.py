"""Pictures that depend on a few facts only, kept from frame to frame: status bar and navigation bar."""

from __future__ import annotations

from functools import lru_cache

from rlfactory.emulators.simulator.view.compose import Context
from rlfactory.emulators.simulator.view.drawing.painter import Operation, Painter
from rlfactory.emulators.simulator.view.layout import Limits, Node, Rect, lay_out, place
from rlfactory.emulators.simulator.view.system_ui import overlays as systemui
from rlfactory.emulators.simulator.view.theme import theme
from rlfactory.emulators.simulator.view.widgets import Widget


@lru_cache(maxsize=256)
def status_picture(
    facts: systemui.StatusFacts, color: str, width: int, height: int, density: float
) -> tuple[Node, tuple[Operation, ...]]:
    """Return the status bar, placed, and its display list."""
    return _still(systemui.status_bar(facts, color), Rect(0, 0, width, height), density, dark=False)


@lru_cache(maxsize=64)
def navigation_picture(
    color: str, background: str | None, area: Rect, density: float, *, keyboard_open: bool, dark: bool
) -> tuple[Node, tuple[Operation, ...]]:
    """Return the navigation bar, placed, and its display list."""
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
