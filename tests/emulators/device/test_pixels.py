"""Scaling and encoding of screenshots."""

from __future__ import annotations

import io

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.emulators.device.device import ImageSpec
from rlfactory.emulators.device.pixels import encode, smart_size

SIDES = st.integers(1, 4096)


def _screen(height_px: int, width_px: int, channels: int) -> np.ndarray:
    rows = np.linspace(0, 255, height_px, dtype=np.uint8)[:, None, None]
    columns = np.linspace(0, 255, width_px, dtype=np.uint8)[None, :, None]
    return np.ascontiguousarray(np.broadcast_to(rows ^ columns, (height_px, width_px, channels)))


@given(SIDES, SIDES, st.none() | st.integers(1, 5_000_000), st.sampled_from([1, 14, 28, 32]))
def test_sizes_are_multiples_within_the_limit(width: int, height: int, limit: int | None, multiple: int) -> None:
    scaled_width, scaled_height = smart_size(width, height, max_pixels=limit, multiple_px=multiple)
    assert scaled_width % multiple == 0
    assert scaled_height % multiple == 0
    least = min(scaled_width, scaled_height) == multiple
    assert limit is None or scaled_width * scaled_height <= limit or least


@pytest.mark.parametrize(
    ("size", "limit", "expected"),
    [((1080, 2400), None, (1092, 2408)), ((1080, 2400), 602_112, (504, 1148)), ((1080, 2400), 28 * 28, (28, 28))],
)
def test_sizes_agree_with_qwen(size: tuple[int, int], limit: int | None, expected: tuple[int, int]) -> None:
    assert smart_size(*size, max_pixels=limit, multiple_px=28) == expected


def test_agrees_with_the_original_where_it_is_installed() -> None:
    original = pytest.importorskip("qwen_vl_utils.vision_process").smart_resize
    for width, height, limit in [(1080, 2400, 1_003_520), (540, 1200, 200_704), (720, 1600, 12_845_056)]:
        theirs = original(height, width, factor=28, min_pixels=28 * 28, max_pixels=limit)
        assert smart_size(width, height, max_pixels=limit, multiple_px=28) == (theirs[1], theirs[0])


@pytest.mark.parametrize("image_format", ["jpeg", "png", "webp"])
@pytest.mark.parametrize("limit", [None, 20_000])
def test_three_and_four_channels_give_the_same_bytes(image_format: str, limit: int | None) -> None:
    four = _screen(480, 216, 4).copy()
    four[:, :, 3] = 7
    spec = ImageSpec(format=image_format, max_pixels=limit, multiple_px=4)  # type: ignore[arg-type]
    image = encode(four, spec)
    assert image.data == encode(np.ascontiguousarray(four[:, :, :3]), spec).data
    assert PIL.Image.open(io.BytesIO(image.data)).size == (image.width_px, image.height_px)


def test_png_is_lossless() -> None:
    screen = _screen(64, 48, 3)
    decoded = np.asarray(PIL.Image.open(io.BytesIO(encode(screen, ImageSpec(format="png")).data)))
    assert np.array_equal(decoded, screen)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        smart_size(0, 10, max_pixels=None, multiple_px=1)
