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
import sys
import tempfile
from typing import IO, Any

import numpy as np
import PIL.Image

from rlfactory.emulators.device.device import Image, ImageFormat, ImageSpec

_PNG_LEVEL = 1
"""Screens are flat: higher levels take three times as long for a few per cent."""


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


def scale(pixels: np.ndarray[Any, Any], spec: ImageSpec) -> PIL.Image.Image:
    """Return RGB or RGBX pixels (uint8 [H, W, 3 or 4]) at the size that `spec` asks for."""
    height, width, channels = pixels.shape
    mode = "RGB" if channels == 3 else "RGBX"
    picture = PIL.Image.frombuffer(mode, (width, height), np.ascontiguousarray(pixels), "raw", mode, 0, 1)
    size = smart_size(width, height, max_pixels=spec.max_pixels, multiple_px=spec.multiple_px)
    if size == (width, height):
        return picture
    return picture.resize(size, PIL.Image.Resampling.BILINEAR, reducing_gap=1.0)


def encode(pixels: np.ndarray[Any, Any], spec: ImageSpec) -> Image:
    """Return a screenshot (uint8 [H, W, 3], or [H, W, 4] whose fourth channel is ignored) as `spec` wants it."""
    picture = scale(pixels, spec)
    if picture.mode == "RGBX" and spec.format != "jpeg":
        picture = picture.convert("RGB")
    with _scratch_file() as file:
        if spec.format == "png":
            picture.save(file, "PNG", compress_level=_PNG_LEVEL)
        elif spec.format == "webp":
            picture.save(file, "WEBP", quality=spec.quality, method=0)
        else:
            picture.save(file, "JPEG", quality=spec.quality)
        file.seek(0)
        return _finished(file.read(), spec.format, picture)


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
            return _finished(jpeg, "jpeg", picture)
    except OSError as error:
        raise ValueError(f"not a JPEG: {jpeg[:40]!r}") from error


def _finished(data: bytes, form: ImageFormat, picture: PIL.Image.Image) -> Image:
    return Image(
        data=data,
        format=form,
        width_px=picture.width,
        height_px=picture.height,
        digest=hashlib.blake2b(data, digest_size=16).hexdigest(),
    )
