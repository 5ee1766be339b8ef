"""What the numbers in a phone call mean: from a session's coordinate frame to device pixels and back. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from rlfactory.envs.api.types import CoordinateFrame, Observation


@dataclass(frozen=True, kw_only=True, slots=True)
class ScreenSize:
    """Sides of the phone in its orientation and of the image as delivered, in pixels."""

    width_px: int
    height_px: int
    image_width_px: int
    image_height_px: int

    @classmethod
    def of(cls, seen: Observation) -> ScreenSize:
        """Return the sides in an observation; without an image those of the phone stand for it."""
        image = seen.image
        return cls(
            width_px=seen.width_px,
            height_px=seen.height_px,
            image_width_px=image.width_px if image else seen.width_px,
            image_height_px=image.height_px if image else seen.height_px,
        )


def frame_sides(frame: CoordinateFrame, size: ScreenSize) -> tuple[int, int]:
    """Return the largest coordinates of the frame plus one, (x, y): valid values are 0 <= v < side.

    The per-mille frames include their upper end, which stands for the last pixel.
    """
    match frame:
        case CoordinateFrame.DEVICE_PX:
            return size.width_px, size.height_px
        case CoordinateFrame.IMAGE_PX:
            return size.image_width_px, size.image_height_px
        case CoordinateFrame.PERMILLE_999:
            return 1000, 1000
        case CoordinateFrame.PERMILLE_1000:
            return 1001, 1001
        case _:
            assert_never(frame)


def to_device(frame: CoordinateFrame, size: ScreenSize, x: float, y: float) -> tuple[int, int]:
    """Return the device pixel that (x, y) of the frame names, clipped to the screen's last pixel."""
    x_px, y_px = _scale(frame, size, x, y)
    return min(round(x_px), size.width_px - 1), min(round(y_px), size.height_px - 1)


def from_device(frame: CoordinateFrame, size: ScreenSize, x_px: int, y_px: int) -> tuple[int, int]:
    """Return the whole-number coordinates of the frame that come nearest to a device pixel."""
    unit_x, unit_y = _scale(frame, size, 1.0, 1.0)
    side_x, side_y = frame_sides(frame, size)
    return min(round(x_px / unit_x), side_x - 1), min(round(y_px / unit_y), side_y - 1)


def _scale(frame: CoordinateFrame, size: ScreenSize, x: float, y: float) -> tuple[float, float]:
    match frame:
        case CoordinateFrame.DEVICE_PX:
            return x, y
        case CoordinateFrame.IMAGE_PX:
            return x * size.width_px / size.image_width_px, y * size.height_px / size.image_height_px
        case CoordinateFrame.PERMILLE_999:
            return x / 999 * size.width_px, y / 999 * size.height_px
        case CoordinateFrame.PERMILLE_1000:
            return x / 1000 * size.width_px, y / 1000 * size.height_px
        case _:
            assert_never(frame)
