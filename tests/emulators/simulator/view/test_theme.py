"""Names of colours, icons and text styles."""

from __future__ import annotations

import pytest

from rlfactory.emulators.simulator.view.drawing.text import font, icon_glyph
from rlfactory.emulators.simulator.view.theme import text_style, theme


def test_colours_are_roles_or_literals() -> None:
    light = theme(dark=False)
    assert light.color("#102030") == 0xFF102030
    assert light.color("#80102030") == 0x80102030
    assert light.color("on_primary/50") == 0x7FFFFFFF
    assert light.is_light(light.color("surface"))
    assert not theme(dark=True).is_light(theme(dark=True).color("surface"))


@pytest.mark.parametrize("color", ["primery", "#12345", "", "nothing/50", "#GGGGGG"])
def test_unknown_colours_are_refused(color: str) -> None:
    with pytest.raises(ValueError):
        theme(dark=False).color(color)


def test_unknown_icons_name_close_ones() -> None:
    with pytest.raises(ValueError, match="wifi"):
        icon_glyph("wifii")


def test_unknown_styles_name_all() -> None:
    with pytest.raises(ValueError, match="body_large"):
        text_style("body_huge")


def test_a_missing_font_is_named() -> None:
    with pytest.raises(KeyError):
        font(("Comic", 10.0, False))
