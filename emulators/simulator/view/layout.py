"""Measuring and placing: a widget tree in, a tree of `Node`s in whole pixels out.

One pass in Flutter's manner: limits go down, sizes come up, the parent sets the offset. `place` then makes positions
absolute and computes what of each node is visible. Lengths here are pixels, always whole: edges stay crisp, and the
bounds that accessibility reports are the ones drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rlfactory.emulators.simulator.view import widgets as w
from rlfactory.emulators.simulator.view.compose import Context, compose
from rlfactory.emulators.simulator.view.drawing.text import TextBlock, text_block
from rlfactory.emulators.simulator.view.fields import FieldText, layout_field
from rlfactory.emulators.simulator.view.theme import text_style

UNBOUNDED = 1 << 24
"""The maximum of an axis that may grow at will (inside a scrolling list)."""

SWITCH_DP = (52.0, 32.0)
CHECKBOX_DP = 40.0
SLIDER_DP = 44.0


class Rect(NamedTuple):
    """Pixels; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    def clip(self, other: Rect) -> Rect:
        """Return what both cover; empty ones have no positive width or height."""
        left, top, right, bottom = self
        far_left, far_top, far_right, far_bottom = other
        if left >= far_left and top >= far_top and right <= far_right and bottom <= far_bottom:
            return self  # most boxes lie inside of what clips them
        return Rect(max(left, far_left), max(top, far_top), min(right, far_right), min(bottom, far_bottom))

    @property
    def empty(self) -> bool:
        return self.right <= self.left or self.bottom <= self.top

    def contains(self, x: int, y: int) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom


NOWHERE = Rect(0, 0, 0, 0)


class Limits(NamedTuple):
    """What a parent allows: pixels, inclusive. Equal minimum and maximum fix the size."""

    min_w: int
    max_w: int
    min_h: int
    max_h: int

    @property
    def widest(self) -> int:
        """What takes all the width there is takes this; its least where the width may grow at will."""
        return self.max_w if self.max_w < UNBOUNDED // 2 else self.min_w


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """A widget with its place. Offsets are relative to the parent until `place`, then absolute."""

    widget: w.Widget
    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    children: list[Node] = field(default_factory=list)
    parent: Node | None = None
    content: TextBlock | FieldText | None = None
    scroll_offset: int = 0
    scroll_extent: int = 0
    """How far the content can scroll, in pixels."""
    visible: Rect = NOWHERE
    """The part of the node inside all its clipping ancestors."""

    @property
    def rect(self) -> Rect:
        return Rect(self.x, self.y, self.x + self.width, self.y + self.height)


def clamp(value: int, low: int, high: int) -> int:
    return low if value < low else high if value > high else value


def lay_out(widget: w.Widget, limits: Limits, context: Context) -> Node:
    """Return the node of `widget` with its size within `limits` (children placed relative to it)."""
    node = Node(widget)
    min_w, max_w, min_h, max_h = inner = _own_limits(widget, limits, context)
    left = top = right = bottom = 0
    if any(widget.padding):
        left, top, right, bottom = (context.px(edge) for edge in widget.padding)
        # Padding that does not fit gives way, so that nothing ever leaves its box.
        left, top = min(left, max_w), min(top, max_h)
        inner = Limits(
            max(min_w - left - right, 0),
            max(max_w - left - right, 0),
            max(min_h - top - bottom, 0),
            max(max_h - top - bottom, 0),
        )
    inside = compose(widget, context)
    if inside is not None:
        child = lay_out(inside, inner, context)
        node.children.append(child)
        width, height = child.width, child.height
    else:
        width, height = _placer(type(widget))(widget, node, inner, context)
    node.width = clamp(width + left + right, min_w, max_w)
    node.height = clamp(height + top + bottom, min_h, max_h)
    if left or top:
        for child in node.children:
            child.x += left
            child.y += top
    return node


def _own_limits(widget: w.Widget, limits: Limits, context: Context) -> Limits:
    if widget.width == widget.height == "wrap" and not widget.min_height:
        return limits  # most widgets
    min_w, max_w, min_h, max_h = limits
    if widget.width == "fill":
        min_w = max_w if max_w < UNBOUNDED // 2 else min_w
    elif widget.width != "wrap":
        min_w = max_w = clamp(context.px(widget.width), min_w if min_w == max_w else 0, max_w)
    if widget.height == "fill":
        min_h = max_h if max_h < UNBOUNDED // 2 else min_h
    elif widget.height != "wrap":
        min_h = max_h = clamp(context.px(widget.height), min_h if min_h == max_h else 0, max_h)
    if widget.min_height:
        min_h = clamp(context.px(widget.min_height), min_h, max_h)
    return Limits(min_w, max_w, min_h, max_h)


# --- rows and columns ----------------------------------------------------------------------------------------------


def _axis_limits(limits: Limits, *, vertical: bool) -> tuple[int, int, int, int]:
    """Return (main minimum, main maximum, cross minimum, cross maximum); the same call turns them back."""
    min_w, max_w, min_h, max_h = limits
    return (min_h, max_h, min_w, max_w) if vertical else (min_w, max_w, min_h, max_h)


def _limits_of(main_min: int, main_max: int, cross_min: int, cross_max: int, *, vertical: bool) -> Limits:
    if vertical:
        return Limits(cross_min, cross_max, main_min, main_max)
    return Limits(main_min, main_max, cross_min, cross_max)


def _flex(widget: Any, node: Node, limits: Limits, context: Context) -> tuple[int, int]:
    """Lay out a Row or Column; the common work of both axes."""
    vertical = not isinstance(widget, w.Row)
    main_min, main_max, cross_min, cross_max = _axis_limits(limits, vertical=vertical)
    children: tuple[w.Widget, ...] = widget.children
    gap = context.px(widget.gap) if widget.gap else 0
    nodes = _flex_children(widget, children, gap, limits, context)
    cross = max((n.width if vertical else n.height for n in nodes), default=0)
    cross = clamp(cross, cross_min, cross_max)
    if widget.align == "stretch" and cross_min != cross_max:
        nodes = [_stretched(n, cross, context, vertical=vertical) for n in nodes]
    used = sum(n.height if vertical else n.width for n in nodes) + gap * max(len(nodes) - 1, 0)
    main = clamp(used, main_min, main_max)
    _offset(nodes, widget.align, widget.justify, gap, main, used, cross, vertical=vertical)
    node.children = nodes
    return (cross, main) if vertical else (main, cross)


def _flex_children(
    widget: Any, children: tuple[w.Widget, ...], gap: int, limits: Limits, context: Context
) -> list[Node]:
    vertical = not isinstance(widget, w.Row)
    main_min, main_max, cross_min, cross_max = _axis_limits(limits, vertical=vertical)
    if widget.align != "stretch" or cross_min != cross_max:
        cross_min = 0
    remaining = main_max - gap * max(len(children) - 1, 0)
    shares = sum(child.weight for child in children) if main_max < UNBOUNDED // 2 else 0.0
    nodes: list[Node | None] = []
    for child in children:
        if child.weight and shares:
            nodes.append(None)
            continue
        placed = lay_out(child, _limits_of(0, max(remaining, 0), cross_min, cross_max, vertical=vertical), context)
        remaining -= placed.height if vertical else placed.width
        nodes.append(placed)
    if shares:
        tight = main_min == main_max or _fills(widget, vertical=vertical)
        for index, child in enumerate(children):
            if nodes[index] is None:
                share = max(int(remaining * child.weight / shares), 0)
                remaining -= share
                shares -= child.weight
                low = share if tight else 0
                nodes[index] = lay_out(child, _limits_of(low, share, cross_min, cross_max, vertical=vertical), context)
    return [n for n in nodes if n is not None]


def _fills(widget: Any, *, vertical: bool) -> bool:
    """A row with weighted children takes all the width there is, as in Android; a column only when told to."""
    return not vertical or widget.height == "fill"


def _stretched(node: Node, cross: int, context: Context, *, vertical: bool) -> Node:
    have, main = (node.width, node.height) if vertical else (node.height, node.width)
    if have == cross or not isinstance(node.widget.width if vertical else node.widget.height, str):
        return node
    return lay_out(node.widget, _limits_of(main, main, cross, cross, vertical=vertical), context)


def _offset(
    nodes: list[Node], align: str, justify: str, gap: int, main: int, used: int, cross: int, *, vertical: bool
) -> None:
    spare = max(main - used, 0)
    position = {"start": 0, "space_between": 0, "center": spare // 2, "end": spare}[justify]
    extra = spare // (len(nodes) - 1) if justify == "space_between" and len(nodes) > 1 else 0
    for n in nodes:
        across = cross - (n.width if vertical else n.height)
        across = {"start": 0, "stretch": 0, "center": across // 2, "end": across}[align]
        if vertical:
            n.x, n.y = across, min(position, main - n.height)
            position += n.height + gap + extra
        else:
            n.x, n.y = min(position, main - n.width), across
            position += n.width + gap + extra


# --- other boxes ---------------------------------------------------------------------------------------------------


def _stack(widget: w.Stack, node: Node, limits: Limits, context: Context) -> tuple[int, int]:
    min_w, max_w, min_h, max_h = limits
    placed: list[Node | None] = [
        None if "stretch" in (across, down) else lay_out(child, Limits(0, max_w, 0, max_h), context)
        for child, across, down in widget.children
    ]
    known = [n for n in placed if n is not None]
    stretches_all = len(known) < len(placed)
    width = clamp(max((n.width for n in known), default=0), min_w, max_w)
    height = clamp(max((n.height for n in known), default=0), min_h, max_h)
    if stretches_all and min_w != max_w and max_w < UNBOUNDED // 2:
        width = max_w
    if stretches_all and min_h != max_h and max_h < UNBOUNDED // 2:
        height = max_h
    for index, (child, across, down) in enumerate(widget.children):
        n = placed[index]
        if n is None:
            low_w, low_h = width if across == "stretch" else 0, height if down == "stretch" else 0
            n = lay_out(child, Limits(low_w, width, low_h, height), context)
        n.x = {"start": 0, "stretch": 0, "center": (width - n.width) // 2, "end": width - n.width}[across]
        n.y = {"start": 0, "stretch": 0, "center": (height - n.height) // 2, "end": height - n.height}[down]
        node.children.append(n)
    return width, height


def _grid(widget: w.Grid, node: Node, limits: Limits, context: Context) -> tuple[int, int]:
    columns, gap = max(widget.columns, 1), context.px(widget.gap)
    width = limits.widest
    gap = min(gap, width // columns)
    room = max(width - gap * (columns - 1), 0)
    y = 0
    for start in range(0, len(widget.children), columns):
        row_height, x = 0, 0
        for column, child in enumerate(widget.children[start : start + columns]):
            cell = room * (column + 1) // columns - room * column // columns
            n = lay_out(child, Limits(cell, cell, 0, max(limits.max_h - y, 0)), context)
            n.x, n.y = x, min(y, limits.max_h)
            x += cell + gap
            row_height = max(row_height, n.height)
            node.children.append(n)
        y += row_height + gap
    return width, max(y - gap, 0)


def _scroll(widget: w.Scroll, node: Node, limits: Limits, context: Context) -> tuple[int, int]:
    content = w.Column(children=widget.children, gap=widget.gap)
    width = limits.widest
    inner = Node(content)
    _, height = _flex(content, inner, Limits(width, width, 0, UNBOUNDED), context)
    own = clamp(height, limits.min_h, limits.max_h)
    node.scroll_extent = max(height - own, 0)
    node.scroll_offset = clamp(context.scroll_px.get(widget.key, 0), 0, node.scroll_extent)
    node.children = inner.children
    for child in node.children:
        child.y -= node.scroll_offset
    return width, own


# --- leaves --------------------------------------------------------------------------------------------------------


def _text(widget: w.Text, node: Node, limits: Limits, context: Context) -> tuple[int, int]:
    block = text_block(
        widget.text,
        text_style(widget.style),
        limits.max_w,
        widget.max_lines,
        context.text_density,
        monospace=widget.monospace,
    )
    node.content = block
    return block.width, block.height


def _fixed(width_dp: float, height_dp: float) -> Callable[[Any, Node, Limits, Context], tuple[int, int]]:
    return lambda _widget, _node, _limits, context: (context.px(width_dp), context.px(height_dp))


def _icon(widget: w.Icon, _node: Node, _limits: Limits, context: Context) -> tuple[int, int]:
    return context.px(widget.size), context.px(widget.size)


def _divider(_widget: w.Divider | w.Picture, _node: Node, limits: Limits, context: Context) -> tuple[int, int]:
    return limits.widest, context.px(1)


def _slider(_widget: w.Slider, _node: Node, limits: Limits, context: Context) -> tuple[int, int]:
    return limits.widest, context.px(SLIDER_DP)


def _empty(_widget: w.Widget, _node: Node, _limits: Limits, _context: Context) -> tuple[int, int]:
    return 0, 0


def _field(widget: w.TextField, node: Node, limits: Limits, context: Context) -> tuple[int, int]:
    width = limits.max_w if limits.max_w < UNBOUNDED // 2 else max(limits.min_w, context.px(200))
    content = layout_field(widget, width, limits.min_h, limits.max_h, context)
    node.content = content
    node.scroll_extent, node.scroll_offset = content.scroll_extent, content.scroll_offset
    return width, content.height


_PLACERS: dict[type[w.Widget], Callable[[Any, Node, Limits, Context], tuple[int, int]]] = {
    w.Canvas: _empty,
    w.Checkbox: _fixed(CHECKBOX_DP, CHECKBOX_DP),
    w.Column: _flex,
    w.Divider: _divider,
    w.Grid: _grid,
    w.Icon: _icon,
    w.Photo: _empty,
    w.Picture: _divider,
    w.Radio: _fixed(CHECKBOX_DP, CHECKBOX_DP),
    w.Row: _flex,
    w.Scroll: _scroll,
    w.Slider: _slider,
    w.Spacer: _empty,
    w.Stack: _stack,
    w.Switch: _fixed(*SWITCH_DP),
    w.Text: _text,
    w.TextField: _field,
    w.Widget: _empty,
}


def _placer(kind: type[w.Widget]) -> Callable[[Any, Node, Limits, Context], tuple[int, int]]:
    """Return what places a widget of this kind: as the primitive that it is, itself or by inheritance."""
    if kind not in _PLACERS:
        _PLACERS[kind] = next(_PLACERS[base] for base in kind.__mro__ if base in _PLACERS)
    return _PLACERS[kind]


# --- placing -------------------------------------------------------------------------------------------------------


def place(node: Node, x: int, y: int, clip: Rect, parent: Node | None = None) -> Node:
    """Make the positions of `node` and all below absolute and note what of each is visible; return `node`."""
    node.x, node.y, node.parent = x, y, parent
    node.visible = node.rect.clip(clip)
    inner = node.visible if node.scroll_extent or isinstance(node.widget, w.Scroll) else clip
    for child in node.children:
        place(child, x + child.x, y + child.y, inner, node)
    return node
