"""Touch events one by one, as uiautomator2's `touch.down`, `move` and `up` send them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

LONG_PRESS_S: Final = 0.5
_SLOP_DP: Final = 8


class Finger:
    """Touch events that come one by one, put together into the gesture they make when the finger lifts."""

    def __init__(self) -> None:
        self._down: tuple[int, int, float] | None = None

    def move(self, phone: Phone, action: int, x: int, y: int) -> None:
        """Take one event: 0 down, 1 up, 2 move (MotionEvent)."""
        if action == 0:
            self._down = (x, y, time.monotonic())
        elif action == 1 and self._down is not None:
            start_x, start_y, since_s = self._down
            self._down = None
            held_s = time.monotonic() - since_s
            if max(abs(x - start_x), abs(y - start_y)) > phone.density_dpi * _SLOP_DP / 160:
                phone.swipe(start_x, start_y, x, y, max(1, round(held_s * 1000)))
            elif held_s >= LONG_PRESS_S:
                phone.long_press(x, y, round(held_s * 1000))
            else:
                phone.tap(x, y)
