"""Screenshots made ready for a model: scaled down by the model's own rule, then encoded. Knows no device.

The rule is `qwen_vl_utils.smart_resize`: both sides become multiples of the patch multiple, the pixel count stays
within the maximum, the shape stays as near as that allows. Every device scales by this one function, so that a
simulated and a real phone give equal pictures of equal screens.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any, Final

import numpy as np
import PIL.Image

from rlfactory.emulators.device.device import Image, ImageFormat, ImageSpec

_PNG_LEVEL = 1
"""Screens are flat: higher levels take three times as long for a few per cent."""
_WEBP_METHOD = 2
"""Takes a third longer than 0, and the pictures a third less room."""

STRIP_PX: Final = 128
"""Rows of a picture that are scaled and encoded together: a JPEG has a restart marker after each strip, so that a strip
whose pixels have not changed is the same bytes again."""
_MCU_PX: Final = 16
"""Rows that JPEG encodes at a time."""
_RESTART: Final = re.compile(b"\xff[\xd0-\xd7]")
_FRAME_HEADER, _SCAN_HEADER = 0xC0, 0xDA


def smart_size(width_px: int, height_px: int, *, max_pixels: int | None, multiple_px: int) -> tuple[int, int]:
    """Return (width, height) that a picture of the given size is scaled to.

    As `qwen_vl_utils.smart_resize`, without its minimum: sides are rounded to multiples of `multiple_px`; when that is
    more than `max_pixels`, both are divided by the same factor and rounded down, but never below one multiple.
    Raises: ValueError: a size or limit below 1.
    """
    if min(width_px, height_px, multiple_px) < 1 or (max_pixels is not None and max_pixels < 1):
        raise ValueError(f"sizes must be positive: {width_px}x{height_px}, {max_pixels=}, {multiple_px=}")
    width = max(multiple_px, round(width_px / multiple_px) * multiple_px)
    height = max(multiple_px, round(height_px / multiple_px) * multiple_px)
    if max_pixels is not None and width * height > max_pixels:
        shrink = math.sqrt(width_px * height_px / max_pixels)
        width = max(multiple_px, math.floor(width_px / shrink / multiple_px) * multiple_px)
        height = max(multiple_px, math.floor(height_px / shrink / multiple_px) * multiple_px)
    return width, height


def scale(pixels: np.ndarray[Any, Any], spec: ImageSpec, rows: tuple[int, int] | None = None) -> PIL.Image.Image:
    """Return RGB or RGBX pixels (uint8 [H, W, 3 or 4]) at the size that `spec` asks for.

    Args: rows: of the result, from a strip's first one to (without) the first of another; None: all.
    """
    height, width, channels = pixels.shape
    mode = "RGB" if channels == 3 else "RGBX"
    size = smart_size(width, height, max_pixels=spec.max_pixels, multiple_px=spec.multiple_px)
    top, bottom = rows or (0, size[1])
    if size == (width, height):
        part = np.ascontiguousarray(pixels[top:bottom])
        return PIL.Image.frombuffer(mode, (width, bottom - top), part, "raw", mode, 0, 1)
    picture = PIL.Image.frombuffer(mode, (width, height), np.ascontiguousarray(pixels), "raw", mode, 0, 1)
    scaled = PIL.Image.new(mode, (size[0], bottom - top))
    for y in range(top, bottom, STRIP_PX):
        end = min(y + STRIP_PX, bottom)
        box = (0, y * height / size[1], width, end * height / size[1])
        strip = picture.resize((size[0], end - y), PIL.Image.Resampling.BILINEAR, box=box, reducing_gap=1.0)
        scaled.paste(strip, (0, y - top))
    return scaled


def encode(pixels: np.ndarray[Any, Any], spec: ImageSpec) -> Image:
    """Return a screenshot (uint8 [H, W, 3], or [H, W, 4] whose fourth channel is ignored) as `spec` wants it."""
    picture = scale(pixels, spec)
    if picture.mode == "RGBX" and spec.format != "jpeg":
        picture = picture.convert("RGB")
    with _scratch_file() as file:
        if spec.format == "png":
            picture.save(file, "PNG", compress_level=_PNG_LEVEL)
        elif spec.format == "webp":
            picture.save(file, "WEBP", quality=spec.quality, method=_WEBP_METHOD)
        else:
            _save_jpeg(picture, file, spec)
        file.seek(0)
        return _finished(file.read(), spec.format, (picture.width, picture.height))


def _save_jpeg(picture: PIL.Image.Image, file: IO[bytes], spec: ImageSpec) -> None:
    picture.save(file, "JPEG", quality=spec.quality, restart_marker_rows=STRIP_PX // _MCU_PX)


def jpeg_strips(pixels: np.ndarray[Any, Any], spec: ImageSpec, rows: tuple[int, int]) -> tuple[bytes, list[bytes]]:
    """Return the header of a JPEG of these rows (see `scale`), and the encoded strips."""
    with _scratch_file() as file:
        _save_jpeg(scale(pixels, spec, rows), file, spec)
        file.seek(0)
        data = file.read()
    at = 2
    while data[at + 1] != _SCAN_HEADER:
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    # The bytes of a marker never stand in what is encoded: there 0xff is followed by 0.
    return data[:at], _RESTART.split(data[at:-2])


def joined(header: bytes, strips: Sequence[bytes], size: tuple[int, int]) -> Image:
    """Return the JPEG of this size (width, height) that these strips make, as `encode` makes it of their pixels.

    Args: header: of any of its parts.
    """
    at = 2
    while header[at + 1] != _FRAME_HEADER:
        at += 2 + int.from_bytes(header[at + 2 : at + 4], "big")
    parts = [header[: at + 5] + size[1].to_bytes(2, "big") + header[at + 7 :], strips[0]]
    for number, strip in enumerate(strips[1:]):
        parts += (b"\xff" + bytes((0xD0 + number % 8,)), strip)
    return _finished(b"".join((*parts, b"\xff\xd9")), "jpeg", size)


def _scratch_file() -> IO[bytes]:
    """Return a file in memory, where there are such: Pillow lets other threads run only while it has a descriptor."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("image"), "w+b")
    return tempfile.TemporaryFile()


def unchanged(size: tuple[int, int], spec: ImageSpec) -> bool:
    """Tell whether `spec` wants a picture of this size (width, height) as large as it is."""
    return smart_size(*size, max_pixels=spec.max_pixels, multiple_px=spec.multiple_px) == size


def taken_as_it_is(jpeg: bytes) -> Image:
    """Return a JPEG that a phone encoded itself. Raises: ValueError: it is none."""
    try:
        with PIL.Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as picture:  # reads the header alone
            return _finished(jpeg, "jpeg", (picture.width, picture.height))
    except OSError as error:
        raise ValueError(f"not a JPEG: {jpeg[:40]!r}") from error


def _finished(data: bytes, form: ImageFormat, size: tuple[int, int]) -> Image:
    return Image(
        data=data,
        format=form,
        width_px=size[0],
        height_px=size[1],
        digest=hashlib.blake2b(data, digest_size=16).hexdigest(),
    )
