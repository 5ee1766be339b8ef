"""Text fields: where their text, label and cursor go, which character lies under a finger, where fields are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rlfactory.emulators.simulator.view.compose import Context
from rlfactory.emulators.simulator.view.drawing.text import FontKey, break_lines, clean, font, text_width
from rlfactory.emulators.simulator.view.theme import TextStyle, text_style
from rlfactory.emulators.simulator.view.widgets import TextField, Widget

BULLET = "•"


@dataclass(frozen=True, slots=True)
class FieldText:
    """The inside of a field, in pixels relative to the field's content box."""

    lines: tuple[str, ...]
    starts: tuple[int, ...]
    """Index in the value of each line's first character."""
    font: FontKey
    line_height: int
    baseline: int
    """Of a line, from its top."""
    left: int
    top: int
    """Where the first line starts, before scrolling."""
    view_width: int
    view_height: int
    """The window through which the text is seen."""
    shift: int
    """How far a single line is pushed to the left so that the cursor is seen."""
    scroll_extent: int
    scroll_offset: int
    focused: bool
    cursor: int
    is_hint: bool
    """The lines are the hint, not the value."""
    label_floats: bool
    height: int

    def position(self, index: int) -> tuple[float, int]:
        """Return x and top of the gap before character `index`, relative to the content box, scrolled."""
        line = max((i for i, start in enumerate(self.starts) if start <= index), default=0)
        before = "" if self.is_hint else self.lines[line][: index - self.starts[line]]
        x = self.left + text_width(before, self.font) - self.shift
        return x, self.top + line * self.line_height - self.scroll_offset

    def index_at(self, x: float, y: float) -> int:
        """Return the gap nearest to a point relative to the content box."""
        if self.is_hint:
            return 0
        line = min(max(int((y - self.top + self.scroll_offset) // self.line_height), 0), len(self.lines) - 1)
        text = self.lines[line]
        target = x - self.left + self.shift
        nearest = min(range(len(text) + 1), key=lambda count: abs(text_width(text[:count], self.font) - target))
        if nearest == len(text) and line + 1 < len(self.lines) and text.endswith(" "):
            nearest -= 1
        return self.starts[line] + nearest


def _starts(lines: list[str], text: str) -> tuple[int, ...]:
    starts, position = [], 0
    for line in lines:
        starts.append(position)
        position += len(line)
        if text[position : position + 1] == "\n":
            position += 1
    return tuple(starts)


def _shown(field: TextField) -> tuple[str, bool]:
    """Return what the field shows and whether that is its hint. The lengths of value and shown text are equal."""
    if field.value:
        if field.password:
            return BULLET * len(field.value), False
        shown = clean(field.value)
        # An index of the value must be one of the shown text; odd characters become boxes of one.
        return (shown if len(shown) == len(field.value) else _one_by_one(field.value)), False
    return clean(field.hint), True


def _one_by_one(value: str) -> str:
    return "".join(clean(c) if len(clean(c)) == 1 else " " if c == "\t" else "\ufffd" for c in value)


def layout_field(field: TextField, width: int, min_h: int, max_h: int, context: Context) -> FieldText:
    """Return the inside of a text field that is `width` pixels wide."""
    style: TextStyle = text_style(field.style)
    key: FontKey = (style.weight, style.size * context.text_density, field.monospace)
    focused = bool(field.key) and field.key == context.focus
    boxed = field.kind == "outlined"
    side, above = (context.px(16), context.px(16)) if boxed else (0, 0)
    shown, is_hint = _shown(field)
    floats = bool(field.label) and (focused or bool(field.value))
    if is_hint and field.label and not floats:
        shown = ""
    line_height = max(1, round(style.line_height * context.text_density))
    view_width = max(width - 2 * side, 1)
    lines = break_lines(shown, view_width, key) if field.multiline else [shown.replace("\n", " ")]
    cursor = min(max(context.cursor, 0), len(field.value)) if focused else 0
    natural = line_height * len(lines) + 2 * above
    height = min(max(natural, min_h, context.px(56) if boxed else context.px(0)), max(max_h, 1))
    view_height = max(height - 2 * above, 1)
    extent = max(line_height * len(lines) - view_height, 0) if field.multiline else 0
    shift = 0
    if not field.multiline and focused and not is_hint:
        shift = max(0, int(text_width(lines[0][:cursor], key)) - view_width + context.px(2))
    metrics = font((key[0], key[1], False)).getMetrics()
    top = above if field.multiline else (height - line_height) // 2
    return FieldText(
        lines=tuple(lines),
        starts=_starts(lines, field.value) if not is_hint else (0,) * len(lines),
        font=key,
        line_height=line_height,
        baseline=round((line_height - (metrics.fDescent - metrics.fAscent)) / 2 - metrics.fAscent),
        left=side,
        top=top,
        view_width=view_width,
        view_height=view_height,
        shift=shift,
        scroll_extent=extent,
        scroll_offset=min(max(context.scroll_px.get(field.key, 0), 0), extent),
        focused=focused,
        cursor=cursor,
        is_hint=is_hint,
        label_floats=floats,
        height=height,
    )


_PARTS = ("app_bar", "body", "leading", "trailing", "bottom_bar", "fab")


def fields_in(widget: Widget) -> Iterator[TextField]:
    """Yield the text fields of a screen that is not laid out yet, in order."""
    if isinstance(widget, TextField):
        yield widget
        return
    for name in _PARTS:
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
