"""Text: the packaged fonts, measuring, breaking into lines. Equal on every host: no system font is ever asked."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import lru_cache

import skia
from font_roboto import font_files
from fonticon_mdi7 import MDI7

from rlfactory.emulators.simulator.view.theme import TextStyle

ELLIPSIS = "…"
MONOSPACE_EM = 0.6
"""Advance of every character of monospaced text, in parts of the font size."""

Face = str
"""A weight of Roboto (`theme.Weight`), or "Icons"."""

FontKey = tuple[Face, float, bool]
"""A font as display lists name it: face, size in pixels, monospaced. A plain tuple: lists are hashed."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text broken into lines, in pixels of its own box."""

    lines: tuple[str, ...]
    widths: tuple[float, ...]
    width: int
    height: int
    line_height: int
    baseline: int
    """Of the first line, from the top."""
    font: FontKey


@lru_cache(maxsize=16)
def _typeface(face: Face) -> skia.Typeface:
    path = icon_font_file() if face == "Icons" else font_files["Roboto" if face == "Regular" else f"Roboto{face}"]
    # Not Typeface.MakeFromFile: that would read the host's font configuration first.
    typeface = skia.FontMgr.New_Custom_Empty().makeFromFile(path, 0)
    if typeface is None:
        raise FileNotFoundError(f"the font {path} of the package is missing or broken")
    return typeface


@lru_cache(maxsize=512)
def font(key: FontKey) -> skia.Font:
    """Return the font ready to draw with: grey anti-aliasing and no hinting, so that pixels depend on nothing else."""
    face, size_px, _ = key
    made = skia.Font(_typeface(face), size_px)
    made.setEdging(skia.Font.Edging.kAntiAlias)
    made.setHinting(skia.FontHinting.kNone)
    made.setSubpixel(True)
    return made


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """Return `text` with what no font can draw replaced: tabs, control characters, lone surrogates."""
    text = text.replace("\t", "    ").replace("\r", "")
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-8", "replace").decode("utf-8")
    # Zero-width joiners and variation selectors would be drawn as boxes.
    return "".join(c for c in text if c == "\n" or (ord(c) >= 32 and c not in "\u200b\u200d\ufe0e\ufe0f\x7f"))


@lru_cache(maxsize=16384)
def text_width(text: str, key: FontKey) -> float:
    """Return the advance of one line of clean text, in pixels."""
    if key[2]:
        return len(text) * MONOSPACE_EM * key[1]
    return float(font(key).measureText(text))


def _fit(text: str, limit: float, key: FontKey) -> int:
    """Return how many leading characters fit into `limit` pixels (at least 1)."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(text[:middle], key) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _break_line(paragraph: str, limit: float, key: FontKey) -> list[str]:
    """Break at blanks where possible, inside a word where not. Blanks stay at line ends, so no character is lost."""
    lines: list[str] = []
    while paragraph and text_width(paragraph.rstrip(" "), key) > limit:
        count = _fit(paragraph, limit, key)
        if count < len(paragraph) and paragraph[count] == " ":
            end = count + 1
        else:
            end = paragraph.rfind(" ", 0, count) + 1 or count
        lines.append(paragraph[:end])
        paragraph = paragraph[end:]
    lines.append(paragraph)
    return lines


def break_lines(text: str, limit: float, key: FontKey) -> list[str]:
    """Return the lines of clean text within `limit` pixels; joined (plus newlines) they are the text."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.extend(_break_line(paragraph, limit, key))
    return lines


def _ellipsize(line: str, limit: float, key: FontKey) -> str:
    line = line.rstrip(" ")
    while line and text_width(line + ELLIPSIS, key) > limit:
        count = _fit(line, max(limit - text_width(ELLIPSIS, key), 1.0), key)
        line = line[: min(count, len(line) - 1)].rstrip(" ")
    return line + ELLIPSIS


@lru_cache(maxsize=8192)
def text_block(
    text: str, style: TextStyle, limit_px: int, max_lines: int | None, density: float, *, monospace: bool = False
) -> TextBlock:
    """Break `text` into lines of at most `limit_px`; past `max_lines` the last line ends in an ellipsis.

    Raises nothing for any text: what the fonts lack is drawn as a box.
    """
    key = (style.weight, style.size * density, monospace)
    limit = max(float(limit_px), 1.0)
    lines = break_lines(clean(text), limit, key)
    if max_lines is not None and len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], _ellipsize(lines[max_lines - 1], limit, key)]
    widths = tuple(text_width(line.rstrip(" "), key) for line in lines)
    line_height = max(1, round(style.line_height * density))
    metrics = font((style.weight, key[1], False)).getMetrics()
    glyphs = metrics.fDescent - metrics.fAscent
    return TextBlock(
        lines=tuple(lines),
        widths=widths,
        width=min(-int(-max(widths) // 1), int(limit)),
        height=line_height * len(lines),
        line_height=line_height,
        baseline=round((line_height - glyphs) / 2 - metrics.fAscent),
        font=key,
    )


@lru_cache(maxsize=1024)
def icon_glyph(name: str) -> str:
    """Return the character of the icon font that draws `name`.

    Raises: ValueError: no such icon; the message names close ones.
    """
    attribute = name.replace("-", "_")
    value = vars(MDI7).get(attribute) or vars(MDI7).get(f"{attribute}_")
    if attribute.startswith("_") or not isinstance(value, str):
        close = difflib.get_close_matches(attribute, [key for key in vars(MDI7) if not key.startswith("_")], 5)
        raise ValueError(f"unknown icon {name!r}; close: {', '.join(key.replace('_', '-') for key in close) or 'none'}")
    return value.rpartition(".")[2]


def icon_font_file() -> str:
    """Return the path of the icon font."""
    return str(MDI7.__font_file__)
