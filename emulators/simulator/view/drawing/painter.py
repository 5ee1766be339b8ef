"""The placed tree, turned into a display list: plain tuples that say what to draw where.

An operation is `(kind, bounds, clip, *arguments)`. `bounds` is the pixel box it can touch, already clipped; `clip` the
box to clip to, None where nothing sticks out. Lists are compared to find what changed and hashed to name a picture, so
they hold only strings, bytes, numbers and tuples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rlfactory.emulators.simulator.view import widgets as w
from rlfactory.emulators.simulator.view.compose import Context
from rlfactory.emulators.simulator.view.drawing.text import FontKey, TextBlock, clean, icon_glyph, text_width
from rlfactory.emulators.simulator.view.fields import FieldText
from rlfactory.emulators.simulator.view.layout import Limits, Node, Rect, lay_out, place
from rlfactory.emulators.simulator.view.theme import DISABLED, Argb, Theme, text_style, theme

Operation = tuple[Any, ...]
Box = tuple[int, int, int, int]


class Painter:
    """Collects the operations of one picture."""

    def __init__(self, theme: Theme, context: Context) -> None:
        self.operations: list[Operation] = []
        self.theme = theme
        self.context = context
        self._clip = Rect(0, 0, 0, 0)
        self._behind = theme.color("surface")
        """Colour of the nearest box around what is being painted."""

    # --- primitives, in pixels

    def _add(self, kind: str, bounds: Box, *arguments: object) -> None:
        left, top, right, bottom = self._clip
        if bounds[0] >= right or bounds[1] >= bottom or bounds[2] <= left or bounds[3] <= top:
            return
        if bounds[0] >= left and bounds[1] >= top and bounds[2] <= right and bounds[3] <= bottom:
            self.operations.append((kind, bounds, None, *arguments))
            return
        clip = (left, top, right, bottom)
        seen = (max(bounds[0], left), max(bounds[1], top), min(bounds[2], right), min(bounds[3], bottom))
        self.operations.append((kind, seen, clip, *arguments))

    def rect(self, box: Box, color: Argb) -> None:
        """Fill a box whose edges are whole pixels."""
        if box[2] > box[0] and box[3] > box[1]:
            self._add("rect", box, box, color)

    def rounded(self, box: Box, radius: float, color: Argb) -> None:
        if box[2] > box[0] and box[3] > box[1]:
            radius = min(radius, (box[2] - box[0]) / 2, (box[3] - box[1]) / 2)
            self._add("rrect", box, box, radius, color) if radius > 0 else self.rect(box, color)

    def outline(self, box: Box, radius: float, stroke: float, color: Argb) -> None:
        """Draw a border inside the box."""
        if box[2] > box[0] and box[3] > box[1]:
            radius = min(radius, (box[2] - box[0]) / 2, (box[3] - box[1]) / 2)
            self._add("outline", box, box, radius, stroke, color)

    def circle(self, x: float, y: float, radius: float, color: Argb) -> None:
        self._add("circle", _around(x, y, radius), x, y, radius, color)

    def arc(self, x: float, y: float, radius: float, start: float, sweep: float, stroke: float, color: Argb) -> None:
        self._add("arc", _around(x, y, radius + stroke / 2), x, y, radius, start, sweep, stroke, color)

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: float, color: Argb) -> None:
        edge = stroke / 2 + 1
        bounds = _whole(min(x1, x2) - edge, min(y1, y2) - edge, max(x1, x2) + edge, max(y1, y2) + edge)
        self._add("line", bounds, x1, y1, x2, y2, stroke, color)

    def polygon(self, points: tuple[tuple[float, float], ...], color: Argb) -> None:
        xs, ys = [x for x, _ in points], [y for _, y in points]
        self._add("polygon", _whole(min(xs), min(ys), max(xs), max(ys)), points, color)

    def shadow(self, box: Box, radius: float, height: float) -> None:
        spread = math.ceil(height * 2)
        bounds = (box[0] - spread, box[1] - spread, box[2] + spread, box[3] + 2 * spread)
        self._add("shadow", bounds, box, radius, height)

    def text(self, x: float, baseline: float, text: str, font: FontKey, color: Argb) -> None:
        """Draw one line of clean text; `x` is its left end."""
        if not text or text.isspace():
            return
        size = font[1]
        # Glyphs may lean out of their advance and line; a font's size is ample room for that.
        bounds = _whole(x - size / 2, baseline - size * 1.2, x + text_width(text, font) + size / 2, baseline + size / 2)
        self._add("text", bounds, x, baseline, text, font, color)

    def icon(self, box: Box, name: str, size: float, color: Argb) -> None:
        """Draw an icon in the middle of a box."""
        x = (box[0] + box[2] - size) / 2
        top = (box[1] + box[3] - size) / 2
        # The icon font draws on a 24-unit grid whose top lies 21 units above the baseline.
        glyph, font = icon_glyph(name), ("Icons", float(size), False)
        self._add("text", _whole(x, top, x + size, top + size), round(x), round(top + size * 0.875), glyph, font, color)

    # --- widgets

    def paint(self, node: Node, clip: Rect, behind: str = "surface") -> None:
        """Append what a placed tree looks like inside `clip`, on a ground of the colour `behind`."""
        self._behind = self.theme.color(behind if behind != "wallpaper" else "surface")
        self._paint(node, clip)

    def _paint(self, node: Node, clip: Rect) -> None:
        widget = node.widget
        if node.visible.empty and not node.children:
            return
        self._clip = clip
        around = self._behind
        if widget.background or widget.border or widget.elevation:
            self._paint_box(node, widget)
        draw = _DRAWERS.get(type(widget))
        if draw is not None:
            draw(self, node, widget)
        if node.children:
            inner = node.visible if node.scroll_extent else clip
            if not inner.empty:
                for child in node.children:
                    self._paint(child, inner)
        self._behind = around

    def _paint_box(self, node: Node, widget: w.Widget) -> None:
        box: Box = (node.x, node.y, node.x + node.width, node.y + node.height)
        radius = widget.radius * self.context.density
        if widget.elevation:
            self.shadow(box, radius, widget.elevation * self.context.density)
        if widget.background == "wallpaper":
            self._add("wallpaper", box, box, self.theme.dark)
        elif widget.background:
            self._behind = self.theme.color(widget.background)
            self.rounded(box, radius, self._behind)
        if widget.border:
            self.outline(box, radius, self.context.px(1), self.theme.color(widget.border))

    def content_box(self, node: Node) -> Box:
        """Return the box of `node` without its padding."""
        px, (left, top, right, bottom) = self.context.px, node.widget.padding
        return (node.x + px(left), node.y + px(top), node.x + node.width - px(right), node.y + node.height - px(bottom))

    def block(self, block: TextBlock, box: Box, align: str, color: Argb) -> None:
        """Draw broken text into a box, from its top."""
        baseline = box[1] + block.baseline
        for line, width in zip(block.lines, block.widths, strict=True):
            spare = max(box[2] - box[0] - width, 0.0)
            x = box[0] + {"start": 0, "center": round(spare / 2), "end": round(spare)}[align]
            self.text(x, baseline, line, block.font, color)
            baseline += block.line_height


def _whole(left: float, top: float, right: float, bottom: float) -> Box:
    return math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)


def _around(x: float, y: float, radius: float) -> Box:
    return _whole(x - radius - 1, y - radius - 1, x + radius + 1, y + radius + 1)


# --- how each primitive looks --------------------------------------------------------------------------------------


def _draw_text(painter: Painter, node: Node, widget: w.Text) -> None:
    assert isinstance(node.content, TextBlock)
    painter.block(node.content, painter.content_box(node), widget.text_align, painter.theme.color(widget.color))


def _draw_icon(painter: Painter, node: Node, widget: w.Icon) -> None:
    size = painter.context.px(widget.size)
    painter.icon(painter.content_box(node), widget.icon, size, painter.theme.color(widget.color))


def _draw_picture(painter: Painter, node: Node, widget: w.Picture) -> None:
    box = painter.content_box(node)
    scale = (box[2] - box[0]) / max(widget.source_width_px, 1)
    painter._add("picture", box, box, scale, widget.operations)


def _draw_photo(painter: Painter, node: Node, widget: w.Photo) -> None:
    box = painter.content_box(node)
    painter._add("photo", box, box, widget.data, widget.cover)


def _draw_divider(painter: Painter, node: Node, _: w.Divider) -> None:
    painter.rect(painter.content_box(node), painter.theme.color("outline_variant"))


def _center(painter: Painter, node: Node) -> tuple[float, float]:
    left, top, right, bottom = painter.content_box(node)
    return (left + right) / 2, (top + bottom) / 2


def _draw_switch(painter: Painter, node: Node, widget: w.Switch) -> None:
    x, y = _center(painter, node)
    density, color = painter.context.density, painter.theme.color
    box = _whole(x - 26 * density, y - 16 * density, x + 26 * density, y + 16 * density)
    middle = (box[1] + box[3]) / 2
    fade = "" if widget.enabled else DISABLED
    if widget.checked:
        painter.rounded(box, 16 * density, color("primary" if widget.enabled else "on_surface/12"))
        thumb = box[2] - 16 * density
        painter.circle(thumb, middle, 12 * density, color("on_primary" if widget.enabled else "surface"))
        size = round(16 * density)
        half = size / 2
        tick: Box = _whole(thumb - half, middle - half, thumb + half, middle + half)
        painter.icon(tick, "check", size, color("primary" + fade))
    else:
        painter.rounded(box, 16 * density, color("surface_container_highest"))
        painter.outline(box, 16 * density, max(2 * density, 1), color("outline" if widget.enabled else "on_surface/12"))
        painter.circle(box[0] + 16 * density, middle, 8 * density, color("outline" + fade))


def _draw_checkbox(painter: Painter, node: Node, widget: w.Checkbox) -> None:
    x, y = _center(painter, node)
    half = 9 * painter.context.density
    box = (round(x - half), round(y - half), round(x + half), round(y + half))
    fade = "" if widget.enabled else DISABLED
    radius = 2 * painter.context.density
    if widget.checked:
        painter.rounded(box, radius, painter.theme.color(("primary" if widget.enabled else "on_surface") + fade))
        painter.icon(box, "check-bold", round(half * 1.8), painter.theme.color("on_primary"))
    else:
        stroke = max(painter.context.px(2), 1)
        painter.outline(box, radius, stroke, painter.theme.color("on_surface_variant" + fade))


def _draw_radio(painter: Painter, node: Node, widget: w.Radio) -> None:
    x, y = _center(painter, node)
    density = painter.context.density
    role = ("primary" if widget.checked else "on_surface_variant") + ("" if widget.enabled else DISABLED)
    painter.arc(x, y, 9 * density, 0, 360, max(2 * density, 1), painter.theme.color(role))
    if widget.checked:
        painter.circle(x, y, 5 * density, painter.theme.color(role))


def slider_track(node: Node, context: Context) -> tuple[int, int]:
    """Return the x of the slider's two ends, where its value is 0 and 1."""
    edge = context.px(16)
    left = node.x + context.px(node.widget.padding[0]) + edge
    right = node.x + node.width - context.px(node.widget.padding[2]) - edge
    return left, max(right, left + 1)


def _draw_slider(painter: Painter, node: Node, widget: w.Slider) -> None:
    left, right = slider_track(node, painter.context)
    _, y = _center(painter, node)
    density, color = painter.context.density, painter.theme.color
    value = min(max(widget.value, 0.0), 1.0)
    thumb = left + (right - left) * value
    half = 8 * density
    role = "primary" if widget.enabled else "on_surface" + DISABLED
    inactive = "primary_container" if widget.enabled else "on_surface/12"
    gap, outer = 6 * density, painter._clip
    ends = _whole(left - gap, y - half, right + gap, y + half)
    # Both parts are the whole track, each seen on its side of the thumb: round outside, straight inside.
    painter._clip = outer.clip(Rect(ends[0], ends[1], round(thumb - gap), ends[3]))
    painter.rounded(ends, half, color(role))
    painter._clip = outer.clip(Rect(round(thumb + gap), ends[1], ends[2], ends[3]))
    painter.rounded(ends, half, color(inactive))
    painter._clip = outer
    bar = _whole(thumb - 2 * density, y - 22 * density, thumb + 2 * density, y + 22 * density)
    painter.rounded(bar, 2 * density, color(role))


def _draw_field(painter: Painter, node: Node, widget: w.TextField) -> None:
    field = node.content
    assert isinstance(field, FieldText)
    left, top, right, bottom = painter.content_box(node)
    if widget.kind == "outlined":
        _draw_field_box(painter, (left, top, right, bottom), widget, field)
    outer, caret = painter._clip, painter.context.px(2)
    painter._clip = outer.clip(Rect(left - caret, top, right, bottom))
    if not painter._clip.empty:
        _draw_field_text(painter, left, top, widget, field)
    painter._clip = outer
    if widget.label:
        _draw_label(painter, left, top, widget, field)


def _draw_field_box(painter: Painter, box: Box, widget: w.TextField, field: FieldText) -> None:
    role = "primary" if field.focused else "outline" if widget.enabled else "on_surface/12"
    stroke = painter.context.px(2 if field.focused else 1)
    painter.outline(box, 4 * painter.context.density, stroke, painter.theme.color(role))


def _draw_field_text(painter: Painter, left: int, top: int, widget: w.TextField, field: FieldText) -> None:
    role = "on_surface_variant" if field.is_hint else "on_surface"
    color = painter.theme.color(role + ("" if widget.enabled else DISABLED))
    selected = field.focused and painter.context.select_all and not field.is_hint
    y = top + field.top - field.scroll_offset
    x = left + field.left - field.shift
    for line in field.lines:
        if selected:
            end = round(x + text_width(line.rstrip(" "), field.font))
            painter.rect((x, y, end, y + field.line_height), painter.theme.color("primary/30"))
        painter.text(x, y + field.baseline, line, field.font, color)
        y += field.line_height
    if field.focused and not selected:
        at, line_top = field.position(field.cursor)
        thick = painter.context.px(2)
        edge = left + round(at) - thick // 2 - 1
        caret = (edge, top + line_top, edge + thick, top + line_top + field.line_height)
        painter.rect(caret, painter.theme.color("primary"))


def _draw_label(painter: Painter, left: int, top: int, widget: w.TextField, field: FieldText) -> None:
    role = ("primary" if field.focused else "on_surface_variant") + ("" if widget.enabled else DISABLED)
    color, label = painter.theme.color(role), clean(widget.label)
    style = text_style("body_small" if field.label_floats else "body_large")
    font: FontKey = (style.weight, style.size * painter.context.density, False)
    x = left + field.left
    if field.label_floats and widget.kind == "outlined":
        pad, height = painter.context.px(4), painter.context.px(2)
        gap = (x - pad, top - height, round(x + text_width(label, font)) + pad, top + height + 1)
        painter.rect(gap, painter._behind)
        painter.text(x, top + round(style.size * 0.36 * painter.context.density), label, font, color)
    elif not field.label_floats:
        painter.text(x, top + field.top + field.baseline, label, font, color)


def _draw_canvas(painter: Painter, node: Node, widget: w.Canvas) -> None:
    left, top, _, _ = painter.content_box(node)
    for kind, *arguments in widget.operations:
        _CANVAS[str(kind)](painter, left, top, painter.context.density, *arguments)


def _canvas_box(left: int, top: int, scale: float, edges: tuple[float, ...]) -> Box:
    x1, y1, x2, y2 = edges
    return round(left + x1 * scale), round(top + y1 * scale), round(left + x2 * scale), round(top + y2 * scale)


def _canvas_text(p: Painter, x: int, y: int, s: float, cx: float, cy: float, text: str, role: str, color: str) -> None:
    style = text_style(role)
    font: FontKey = (style.weight, style.size * s, False)
    shown = clean(text).replace("\n", " ")
    left = x + cx * s - text_width(shown, font) / 2
    p.text(round(left), round(y + (cy + style.size * 0.36) * s), shown, font, p.theme.color(color))


def _canvas_icon(
    p: Painter, x: int, y: int, s: float, cx: float, cy: float, size: float, icon: str, color: str
) -> None:
    half = size / 2
    box = _canvas_box(x, y, s, (cx - half, cy - half, cx + half, cy + half))
    p.icon(box, icon, round(size * s), p.theme.color(color))


_CANVAS: dict[str, Callable[..., None]] = {
    "rect": lambda p, x, y, s, x1, y1, x2, y2, c: p.rect(_canvas_box(x, y, s, (x1, y1, x2, y2)), p.theme.color(c)),
    "rrect": lambda p, x, y, s, x1, y1, x2, y2, radius, c: p.rounded(
        _canvas_box(x, y, s, (x1, y1, x2, y2)), radius * s, p.theme.color(c)
    ),
    "circle": lambda p, x, y, s, cx, cy, r, c: p.circle(x + cx * s, y + cy * s, r * s, p.theme.color(c)),
    "ring": lambda p, x, y, s, cx, cy, r, w, c: p.arc(x + cx * s, y + cy * s, r * s, 0, 360, w * s, p.theme.color(c)),
    "arc": lambda p, x, y, s, cx, cy, r, start, sweep, w, c: p.arc(
        x + cx * s, y + cy * s, r * s, start, sweep, w * s, p.theme.color(c)
    ),
    "line": lambda p, x, y, s, x1, y1, x2, y2, w, c: p.line(
        x + x1 * s, y + y1 * s, x + x2 * s, y + y2 * s, w * s, p.theme.color(c)
    ),
    "polygon": lambda p, x, y, s, points, c: p.polygon(
        tuple((x + px * s, y + py * s) for px, py in points), p.theme.color(c)
    ),
    "text": _canvas_text,
    "icon": _canvas_icon,
}

_DRAWERS: dict[type[w.Widget], Callable[[Painter, Node, Any], None]] = {
    w.Canvas: _draw_canvas,
    w.Checkbox: _draw_checkbox,
    w.Divider: _draw_divider,
    w.Icon: _draw_icon,
    w.Photo: _draw_photo,
    w.Picture: _draw_picture,
    w.Radio: _draw_radio,
    w.Slider: _draw_slider,
    w.Switch: _draw_switch,
    w.Text: _draw_text,
    w.TextField: _draw_field,
}


def still_picture(widget: w.Widget, area: Rect, density: float, *, dark: bool) -> tuple[Node, tuple[Operation, ...]]:
    """Return what depends on nothing but these arguments, placed in `area`, and its display list."""
    context = Context(density=density)
    width, height = area.right - area.left, area.bottom - area.top
    node = place(lay_out(widget, Limits(width, width, height, height), context), area.left, area.top, area)
    painter = Painter(theme(dark=dark), context)
    painter.paint(node, area)
    return node, tuple(painter.operations)
