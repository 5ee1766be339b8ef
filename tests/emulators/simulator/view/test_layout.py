"""Layout: everything stays where it belongs, whatever the widgets, the text and the size of the screen."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlfactory.emulators.simulator.phone import Phone
from rlfactory.emulators.simulator.view import widgets as w
from rlfactory.emulators.simulator.view.compose import Context
from rlfactory.emulators.simulator.view.drawing.painter import Painter
from rlfactory.emulators.simulator.view.drawing.text import break_lines, clean, text_block
from rlfactory.emulators.simulator.view.layout import Limits, Node, Rect, lay_out, place
from rlfactory.emulators.simulator.view.scene import walk
from rlfactory.emulators.simulator.view.theme import text_style, theme
from tests.emulators.simulator.gallery import Gallery

ALIGN = st.sampled_from(["start", "center", "end", "stretch"])
JUSTIFY = st.sampled_from(["start", "center", "end", "space_between"])
SIZE = st.sampled_from(["wrap", "fill", 24.0, 120.0])
ANY_TEXT = st.text(max_size=60)


def _leaves() -> st.SearchStrategy[w.Widget]:
    return st.one_of(
        st.builds(w.Text, text=ANY_TEXT, max_lines=st.sampled_from([None, 1, 2]), weight=st.sampled_from([0, 1.0])),
        st.builds(w.Button, text=ANY_TEXT, kind=st.sampled_from(["filled", "text", "outlined"])),
        st.builds(w.Icon, icon=st.just("wifi"), size=st.floats(1, 80)),
        st.builds(w.Switch, checked=st.booleans()),
        st.builds(w.Slider, value=st.floats(0, 1)),
        st.builds(w.Spacer, weight=st.sampled_from([0, 1.0]), width=SIZE, height=SIZE),
        st.builds(w.TextField, value=ANY_TEXT, hint=ANY_TEXT, label=ANY_TEXT, multiline=st.booleans()),
        st.builds(
            w.ListItem,
            title=ANY_TEXT,
            subtitle=ANY_TEXT,
            trailing=st.none() | st.builds(w.Switch, checked=st.booleans()),
        ),
    )


def _boxes(inner: st.SearchStrategy[w.Widget]) -> st.SearchStrategy[w.Widget]:
    children = st.lists(inner, max_size=4).map(tuple)
    return st.one_of(
        st.builds(w.Column, children=children, align=ALIGN, justify=JUSTIFY, width=SIZE, height=SIZE),
        st.builds(w.Row, children=children, align=ALIGN, justify=JUSTIFY, width=SIZE, height=SIZE),
        st.builds(w.Stack, children=st.lists(st.tuples(inner, ALIGN, ALIGN), max_size=3).map(tuple)),
        st.builds(w.Grid, children=children, columns=st.integers(1, 4)),
        st.builds(w.Scroll, children=children, key=st.just("list")),
    )


TREES = st.recursive(_leaves(), _boxes, max_leaves=12)


def _check_inside(node: Node) -> None:
    for child in node.children:
        if not isinstance(node.widget, w.Scroll):
            assert node.rect.left <= child.x
            assert child.rect.right <= node.rect.right
            assert node.rect.top <= child.y
            assert child.rect.bottom <= node.rect.bottom
        _check_inside(child)


@settings(max_examples=150, deadline=None)
@given(TREES, st.integers(1, 800), st.integers(1, 1600), st.floats(0.4, 3.5))
def test_children_lie_inside_their_parents(widget: w.Widget, width: int, height: int, density: float) -> None:
    context = Context(density=density)
    screen = Rect(0, 0, width, height)
    root = place(lay_out(widget, Limits(width, width, height, height), context), 0, 0, screen)
    assert (root.width, root.height) == (width, height)
    _check_inside(root)
    for node in walk(root):
        assert node.visible.empty or node.visible.clip(screen) == node.visible
    painter = Painter(theme(dark=False), context)
    painter.paint(root, screen)
    for _, bounds, clip, *_ in painter.operations:
        assert clip is not None or screen.clip(Rect(*bounds)) == Rect(*bounds)


@settings(deadline=None)
@given(st.text(), st.integers(1, 500), st.sampled_from([None, 1, 3]))
def test_any_text_breaks_into_lines_that_fit(text: str, limit: int, max_lines: int | None) -> None:
    block = text_block(text, text_style("body_large"), limit, max_lines, 2.625)
    assert max_lines is None or len(block.lines) <= max_lines
    assert block.width <= limit
    assert block.height == block.line_height * len(block.lines)


@given(st.text(alphabet="ab \n漢🙂", max_size=80), st.floats(20, 300))
def test_lines_hold_the_whole_text(text: str, limit: float) -> None:
    shown = clean(text)
    joined = "".join(break_lines(shown, limit, ("Regular", 30.0, False)))
    assert joined == shown.replace("\n", "")


@pytest.mark.parametrize(
    "size", [(224, 448), (320, 640), (540, 1200), (720, 1280), (1080, 2400), (1440, 3200), (2400, 1080), (200, 200)]
)
def test_every_size_lays_out(phone: Phone, gallery: Gallery, size: tuple[int, int]) -> None:
    for popup in ("", "menu", "dialog"):
        gallery.popup = popup
        phone.invalidate()
        screen = Rect(0, 0, *size)
        for layer in phone.scene().layers:
            for node in walk(layer.node):
                assert node.visible.empty or node.visible.clip(screen) == node.visible
        assert phone.rgb().shape == (size[1], size[0], 3)
