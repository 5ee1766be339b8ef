"""Material 3 as Google's own apps wear it: colour roles, the type scale, a few sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Weight = Literal["Light", "Regular", "Medium", "Bold"]
Argb = int
"""0xAARRGGBB"""


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Sizes in sp (this phone's font scale is 1, so sp = dp)."""

    size: float
    line_height: float
    weight: Weight = "Regular"


TYPE_SCALE: Final[Mapping[str, TextStyle]] = {
    "display_large": TextStyle(57, 64),
    "display_medium": TextStyle(45, 52),
    "display_small": TextStyle(36, 44),
    "headline_large": TextStyle(32, 40),
    "headline_medium": TextStyle(28, 36),
    "headline_small": TextStyle(24, 32),
    "title_large": TextStyle(22, 28),
    "title_medium": TextStyle(16, 24, "Medium"),
    "title_small": TextStyle(14, 20, "Medium"),
    "body_large": TextStyle(16, 24),
    "body_medium": TextStyle(14, 20),
    "body_small": TextStyle(12, 16),
    "label_large": TextStyle(14, 20, "Medium"),
    "label_medium": TextStyle(12, 16, "Medium"),
    "label_small": TextStyle(11, 16, "Medium"),
    # The phone's own surfaces, outside Material's scale.
    "clock_huge": TextStyle(76, 84, "Light"),
    "settings_item": TextStyle(18, 24),
    "settings_title": TextStyle(36, 44),
    "status_bar": TextStyle(13.5, 18, "Medium"),
    "keyboard_key": TextStyle(22, 28),
    "keyboard_hint": TextStyle(10, 12),
}
"""Roles of text; an unknown role is an error of the app, reported by name."""

COLORS: Final[Mapping[str, tuple[str, str]]] = {
    "primary": ("#0B57D0", "#A8C7FA"),
    "on_primary": ("#FFFFFF", "#062E6F"),
    "primary_container": ("#D3E3FD", "#0842A0"),
    "on_primary_container": ("#041E49", "#D3E3FD"),
    "secondary": ("#00639B", "#7FCFFF"),
    "on_secondary": ("#FFFFFF", "#003355"),
    "secondary_container": ("#C2E7FF", "#004A77"),
    "on_secondary_container": ("#001D35", "#C2E7FF"),
    "tertiary": ("#146C2E", "#6DD58C"),
    "on_tertiary": ("#FFFFFF", "#0A3818"),
    "tertiary_container": ("#C4EED0", "#0F5223"),
    "on_tertiary_container": ("#072711", "#C4EED0"),
    "error": ("#B3261E", "#F2B8B5"),
    "on_error": ("#FFFFFF", "#601410"),
    "error_container": ("#F9DEDC", "#8C1D18"),
    "on_error_container": ("#410E0B", "#F9DEDC"),
    "surface": ("#FDFCFF", "#131314"),
    "surface_container_lowest": ("#FFFFFF", "#0E0E0E"),
    "surface_container_low": ("#F7F9FD", "#1B1B1B"),
    "surface_container": ("#F0F4F9", "#1E1F20"),
    "surface_container_high": ("#E9EEF6", "#282A2C"),
    "surface_container_highest": ("#DDE3EA", "#333537"),
    "surface_variant": ("#E1E3E1", "#444746"),
    "on_surface": ("#1F1F1F", "#E3E3E3"),
    "on_surface_variant": ("#444746", "#C4C7C5"),
    "outline": ("#747775", "#8E918F"),
    "outline_variant": ("#C4C7C5", "#444746"),
    "inverse_surface": ("#303030", "#E3E3E3"),
    "inverse_on_surface": ("#F2F2F2", "#303030"),
    "inverse_primary": ("#A8C7FA", "#0B57D0"),
    "scrim": ("#66000000", "#99000000"),
    "keyboard": ("#E4E8EF", "#1E1F20"),
    "keyboard_key": ("#FFFFFF", "#3A3C3F"),
    "keyboard_special": ("#CBD4E4", "#4B4F56"),
}
"""Role -> its colour in the light and in the dark scheme."""

DISABLED: Final = "/38"
"""Appended to a role: Material's opacity for content of disabled widgets."""


@lru_cache(maxsize=4096)
def parse_color(color: str) -> Argb:
    """Return "#RRGGBB" or "#AARRGGBB" as a number.

    Raises: ValueError: it is neither.
    """
    digits = color.removeprefix("#")
    if not color.startswith("#") or len(digits) not in {6, 8}:
        raise ValueError(f"unknown colour {color!r}: want a role of the theme, #RRGGBB or #AARRGGBB")
    value = int(digits, 16)
    return value if len(digits) == 8 else 0xFF000000 | value


def with_alpha(color: Argb, alpha: int) -> Argb:
    """Return the colour at `alpha` (0..255) times its own opacity."""
    return ((color >> 24) * alpha // 255) << 24 | color & 0xFFFFFF


class Theme:
    """The colours of a scheme as numbers."""

    __slots__ = ("_colors", "dark", "name")

    def __init__(self, *, dark: bool) -> None:
        self.dark = dark
        self.name = "dark" if dark else "light"
        self._colors = {role: parse_color(colors[dark]) for role, colors in COLORS.items()}

    def color(self, color: str) -> Argb:
        """Return a role, a role at some opacity ("on_surface/38", in percent) or a literal as a number.

        Raises: ValueError: unknown.
        """
        known = self._colors.get(color)
        if known is None:
            role, slash, percent = color.partition("/")
            solid = self._colors.get(role)
            known = with_alpha(solid, int(percent) * 255 // 100) if slash and solid is not None else parse_color(color)
            self._colors[color] = known
        return known

    def is_light(self, color: Argb) -> bool:
        """Say whether dark content reads well on `color`."""
        red, green, blue = color >> 16 & 255, color >> 8 & 255, color & 255
        return red * 299 + green * 587 + blue * 114 > 150_000


@lru_cache(maxsize=2)
def theme(*, dark: bool) -> Theme:
    """Return the light or the dark scheme."""
    return Theme(dark=dark)


def text_style(role: str) -> TextStyle:
    """Return a text role's style. Raises: ValueError: no such role."""
    try:
        return TYPE_SCALE[role]
    except KeyError:
        raise ValueError(f"unknown text style {role!r}; there are {', '.join(sorted(TYPE_SCALE))}") from None
