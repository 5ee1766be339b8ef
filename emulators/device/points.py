"""Points of an action must lie on the screen."""

from __future__ import annotations

from rlfactory.emulators.device.device import DeviceAction, DoubleTap, Drag, LongPress, Swipe, Tap
from rlfactory.emulators.device.errors import ActionRejected


def require_on_screen(action: DeviceAction, width_px: int, height_px: int) -> None:
    """Check the points of an action.

    Raises: ActionRejected: a point lies off the screen of `width_px` x `height_px`.
    """
    match action:
        case Tap(x, y) | DoubleTap(x, y) | LongPress(x, y):
            points: tuple[tuple[int, int], ...] = ((x, y),)
        case Swipe(x1, y1, x2, y2) | Drag(x1, y1, x2, y2):
            points = ((x1, y1), (x2, y2))
        case _:
            points = ()
    for x, y in points:
        if not (0 <= x < width_px and 0 <= y < height_px):
            raise ActionRejected(f"point ({x}, {y}) is off the screen of {width_px} x {height_px} pixels")
