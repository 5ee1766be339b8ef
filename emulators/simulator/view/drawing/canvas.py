"""Display lists, drawn with Skia."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import skia

from rlfactory.emulators.simulator.view.drawing.painter import Box, Operation
from rlfactory.emulators.simulator.view.drawing.text import MONOSPACE_EM, FontKey, font, text_width
from rlfactory.emulators.simulator.view.theme import Argb


@lru_cache(maxsize=512)
def _fill(color: Argb) -> skia.Paint:
    return skia.Paint(Color=color, AntiAlias=True)


@lru_cache(maxsize=512)
def _crisp(color: Argb) -> skia.Paint:
    return skia.Paint(Color=color, AntiAlias=False)


@lru_cache(maxsize=512)
def _stroke(color: Argb, width: float) -> skia.Paint:
    return skia.Paint(
        Color=color, AntiAlias=True, Style=skia.Paint.kStroke_Style, StrokeWidth=width, StrokeCap=skia.Paint.kRound_Cap
    )


@lru_cache(maxsize=4096)
def _blob(text: str, key: FontKey) -> skia.TextBlob | None:
    """Return the glyphs of one line ready to draw; None where there is nothing to see."""
    if not key[2]:
        return skia.TextBlob.MakeFromText(text, font(key))
    cell = MONOSPACE_EM * key[1]
    plain = (key[0], key[1], False)
    points = [skia.Point(index * cell + (cell - text_width(c, plain)) / 2, 0.0) for index, c in enumerate(text)]
    return skia.TextBlob.MakeFromPosText(text, points, font(plain))


def _draw_rect(canvas: skia.Canvas, box: Box, color: Argb) -> None:
    canvas.drawRect(skia.Rect.MakeLTRB(*box), _crisp(color))


def _draw_rounded(canvas: skia.Canvas, box: Box, radius: float, color: Argb) -> None:
    canvas.drawRoundRect(skia.Rect.MakeLTRB(*box), radius, radius, _fill(color))


def _draw_outline(canvas: skia.Canvas, box: Box, radius: float, stroke: float, color: Argb) -> None:
    half = stroke / 2
    inner = skia.Rect.MakeLTRB(box[0] + half, box[1] + half, box[2] - half, box[3] - half)
    corner = max(radius - half, 0.0)
    canvas.drawRoundRect(inner, corner, corner, _stroke(color, stroke))


def _draw_circle(canvas: skia.Canvas, x: float, y: float, radius: float, color: Argb) -> None:
    canvas.drawCircle(x, y, radius, _fill(color))


def _draw_arc(
    canvas: skia.Canvas, x: float, y: float, radius: float, start: float, sweep: float, stroke: float, color: Argb
) -> None:
    oval = skia.Rect.MakeLTRB(x - radius, y - radius, x + radius, y + radius)
    if abs(sweep) >= 360:
        canvas.drawOval(oval, _stroke(color, stroke))
    else:
        canvas.drawArc(oval, start, sweep, False, _stroke(color, stroke))


def _draw_line(canvas: skia.Canvas, x1: float, y1: float, x2: float, y2: float, stroke: float, color: Argb) -> None:
    canvas.drawLine(x1, y1, x2, y2, _stroke(color, stroke))


def _draw_polygon(canvas: skia.Canvas, points: tuple[tuple[float, float], ...], color: Argb) -> None:
    canvas.drawPath(skia.Path.Polygon([skia.Point(x, y) for x, y in points], isClosed=True), _fill(color))


def _draw_shadow(canvas: skia.Canvas, box: Box, radius: float, height: float) -> None:
    # Three soft steps instead of an image filter: a blur of this size would cost more than the rest of the screen.
    left, top, right, bottom = box
    for step, alpha in ((1.5, 0x07), (1.0, 0x0A), (0.4, 0x12)):
        grow = height * step
        shape = skia.Rect.MakeLTRB(left - grow, top - grow * 0.4, right + grow, bottom + grow * 1.4)
        canvas.drawRoundRect(shape, radius + grow, radius + grow, _fill(alpha << 24))


def _draw_text(canvas: skia.Canvas, x: float, baseline: float, text: str, key: FontKey, color: Argb) -> None:
    blob = _blob(text, key)
    if blob is not None:
        canvas.drawTextBlob(blob, x, baseline, _fill(color))


@lru_cache(maxsize=4)
def _wallpaper(box: Box, dark: bool) -> skia.Image:
    """Return the home screen's background, drawn once per size."""
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    surface = skia.Surface.MakeRaster(_image_info(width, height))
    canvas = surface.getCanvas()
    sky = [0xFF0E1B33, 0xFF20395C, 0xFF3B4F70] if dark else [0xFF6FA8DC, 0xFFA9CBEA, 0xFFF3E3D3]
    shader = skia.GradientShader.MakeLinear([skia.Point(0, 0), skia.Point(0, height * 0.85)], sky)
    canvas.drawPaint(skia.Paint(Shader=shader))
    hills = (0.62, 0xFF7C9CC0), (0.70, 0xFF54799F), (0.79, 0xFF35597E), (0.88, 0xFF1D3B5C)
    for index, (base, color) in enumerate(hills):
        canvas.drawPath(_hill(width, height, base, index), _fill(_darker(color) if dark else color))
    return surface.makeImageSnapshot()


def _darker(color: Argb) -> Argb:
    return 0xFF000000 | (color >> 1 & 0x7F7F7F)


def _hill(width: int, height: int, base: float, index: int) -> skia.Path:
    path = skia.Path()
    path.moveTo(0, height)
    steps = 48
    for step in range(steps + 1):
        x = step / steps
        wave = math.sin(x * (4.2 + index * 1.3) + index * 1.9) * 0.035 + math.sin(x * 9 + index) * 0.012
        path.lineTo(x * width, (base + wave) * height)
    path.lineTo(width, height)
    path.close()
    return path


def _draw_wallpaper(canvas: skia.Canvas, box: Box, dark: bool) -> None:
    canvas.drawImage(_wallpaper(box, dark), box[0], box[1])


def _image_info(width: int, height: int) -> skia.ImageInfo:
    return skia.ImageInfo.Make(width, height, skia.kRGBA_8888_ColorType, skia.kPremul_AlphaType)


def _draw_picture(canvas: skia.Canvas, box: Box, scale: float, operations: Sequence[Operation]) -> None:
    canvas.save()
    canvas.clipRect(skia.Rect.MakeLTRB(*box), doAntiAlias=False)
    canvas.translate(box[0], box[1])
    canvas.scale(scale, scale)
    draw(canvas, operations)
    canvas.restore()


@lru_cache(maxsize=32)
def _decoded(data: bytes) -> skia.Image | None:
    """Return a picture file's pixels; None for what is no picture."""
    image = skia.Image.MakeFromEncoded(skia.Data.MakeWithCopy(data)) if data else None
    return image.makeRasterImage() if image is not None else None


def _draw_photo(canvas: skia.Canvas, box: Box, data: bytes, cover: bool) -> None:
    image, target = _decoded(data), skia.Rect.MakeLTRB(*box)
    if image is None or target.isEmpty():
        return
    ratios = target.width() / image.width(), target.height() / image.height()
    scale = max(ratios) if cover else min(ratios)
    width, height = image.width() * scale, image.height() * scale
    place = skia.Rect.MakeXYWH(target.centerX() - width / 2, target.centerY() - height / 2, width, height)
    canvas.save()
    canvas.clipRect(target, doAntiAlias=False)
    canvas.drawImageRect(image, place, skia.SamplingOptions(skia.FilterMode.kLinear, skia.MipmapMode.kLinear))
    canvas.restore()


_DRAW: dict[str, Callable[..., None]] = {
    "arc": _draw_arc,
    "circle": _draw_circle,
    "line": _draw_line,
    "outline": _draw_outline,
    "photo": _draw_photo,
    "picture": _draw_picture,
    "polygon": _draw_polygon,
    "rect": _draw_rect,
    "rrect": _draw_rounded,
    "shadow": _draw_shadow,
    "text": _draw_text,
    "wallpaper": _draw_wallpaper,
}


def draw(canvas: skia.Canvas, operations: Sequence[Operation], damage: Box | None = None) -> None:
    """Draw a display list; with `damage`, only what lies in that box (the rest of the canvas stays as it is)."""
    if damage is not None:
        canvas.save()
        canvas.clipRect(skia.Rect.MakeLTRB(*damage), doAntiAlias=False)
    for operation in operations:
        bounds, clip = operation[1], operation[2]
        if damage is not None and not meet(bounds, damage):
            continue
        if clip is None:
            _DRAW[operation[0]](canvas, *operation[3:])
            continue
        canvas.save()
        canvas.clipRect(skia.Rect.MakeLTRB(*clip), doAntiAlias=False)
        _DRAW[operation[0]](canvas, *operation[3:])
        canvas.restore()
    if damage is not None:
        canvas.restore()


def meet(one: Box, other: Box) -> bool:
    """Tell whether two boxes have pixels in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def surface_on(pixels: Any) -> skia.Surface:
    """Return a surface that draws into `pixels` (uint8 [H, W, 4], RGBA)."""
    height, width, _ = pixels.shape
    return skia.Surface.MakeRasterDirect(_image_info(width, height), pixels)
