"""The JSON-RPC methods of uiautomator2's server (com.wetest.uia2), on a simulated phone."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

from rlfactory.emulators.device.device import ImageSpec
from rlfactory.emulators.device.keys import KEY_NAMES
from rlfactory.emulators.device.ui import UiNode, to_xml
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread
from rlfactory.emulators.simulator.wire.uia2_selector import Selector, find_all

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

MS_PER_STEP: Final = 5
"""uiautomator moves a finger every 5 ms."""
MAX_WAIT_MS: Final = 300_000
_POLL_MS: Final = 250
_META_CTRL: Final = 0x1000
_MAX_SWIPES: Final = 100
_KEYS: Final = {
    **{name: name.upper() for name in ("home", "back", "menu", "search", "enter", "camera", "power")},
    **{f"volume_{name}": f"VOLUME_{name.upper()}" for name in ("up", "down", "mute")},
    **{name: f"DPAD_{name.upper()}" for name in ("left", "right", "up", "down", "center")},
    **{"delete": "DEL", "del": "DEL", "recent": "APP_SWITCH"},
}
_FLAGS: Final = (
    *("checkable", "checked", "clickable", "enabled", "focusable", "focused"),
    *("long_clickable", "scrollable", "selected"),
)
_ROTATIONS: Final = {"natural": 0, "n": 0, "left": 1, "l": 1, "upsidedown": 2, "u": 2, "right": 3, "r": 3}


class RpcError(Exception):
    """The reply is an error; the message is what Java's exception would say."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class _NotFoundError(RpcError):
    def __init__(self, selector: Selector) -> None:
        super().__init__(-32001, f"androidx.test.uiautomator.UiObjectNotFoundException: {dict(selector)}")


class Uia2Methods:
    """Calls by name: each public method is one, as is each entry of `_METHODS`.

    What needs the phone runs in its thread; waiting never holds it.
    """

    def __init__(self, thread: PhoneThread) -> None:
        self._thread = thread
        self._finger = Finger()
        self._cleared_toast = ""

    async def call(self, name: str, params: list[Any]) -> object:
        """Return the result of a method.

        Raises: RpcError: unknown method, wrong parameters, no such object.
        """
        try:
            if name in ("waitForExists", "waitUntilGone"):
                return await self._wait(params[0], int(params[1]), wanted=name == "waitForExists")
            method = _METHODS.get(name)
            if method is None:
                raise RpcError(-32601, f"Method not found: {name}")
            return await self._thread.call(lambda phone: method(self, phone, *params))
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise RpcError(-32602, f"java.lang.IllegalArgumentException: {name}: {error}") from error

    async def _wait(self, selector: Selector, timeout_ms: int, *, wanted: bool) -> bool:
        """Wait on the phone's own clock: a virtual one runs on at once, a real one takes its time."""
        left_ms = min(max(timeout_ms, 0), MAX_WAIT_MS)
        virtual = self._thread.phone.config.clock == "virtual"
        while True:
            if await self._thread.call(lambda phone: bool(find_all(phone.ui_tree(), selector))) is wanted:
                return True
            if left_ms <= 0:
                return False
            step_ms = min(left_ms, _POLL_MS)
            left_ms -= step_ms
            if virtual:
                await self._thread.call(methodcaller("advance", step_ms))
            else:
                await asyncio.sleep(step_ms / 1000)

    # --- the screen

    def device_info(self, phone: Phone) -> dict[str, object]:
        return {
            "currentPackageName": phone.foreground.partition("/")[0],
            "displayHeight": phone.height_px,
            "displayRotation": phone.state.display.rotation,
            "displaySizeDpX": phone.width_px * 160 // phone.density_dpi,
            "displaySizeDpY": phone.height_px * 160 // phone.density_dpi,
            "displayWidth": phone.width_px,
            "productName": "sdk_phone",
            "screenOn": phone.state.view.screen_on,
            "sdkInt": 33,
            "naturalOrientation": phone.state.display.rotation == 0,
        }

    def dump_window_hierarchy(
        self, phone: Phone, compressed: bool = False, depth: int = 50, active_only: bool = False
    ) -> str:
        return to_xml(phone.ui_tree(), rotation=phone.state.display.rotation, max_depth=max(1, int(depth)))

    def take_screenshot(self, phone: Phone, scale: float = 1, quality: int = 80) -> str:
        pixels = None if scale >= 1 else max(1, round(phone.width_px * phone.height_px * scale * scale))
        image = phone.encode(ImageSpec(format="jpeg", quality=min(max(int(quality), 1), 100), max_pixels=pixels))
        return base64.b64encode(image.data).decode()

    # --- touch

    def click(self, phone: Phone, *params: Any) -> bool:
        if isinstance(params[0], dict):
            x, y = _one(phone, params[0]).bounds.center
            phone.tap(x, y)
        elif len(params) > 2:
            phone.long_press(round(params[0]), round(params[1]), int(params[2]))
        else:
            phone.tap(round(params[0]), round(params[1]))
        return True

    def swipe(self, phone: Phone, x1: float, y1: float, x2: float, y2: float, steps: int) -> bool:
        phone.swipe(round(x1), round(y1), round(x2), round(y2), _swipe_ms(steps))
        return True

    def swipe_points(self, phone: Phone, points: list[float], steps: int) -> bool:
        """The finger goes through all points; what counts here is where it starts and ends."""
        moves = len(points) // 2 - 1
        return self.swipe(phone, points[0], points[1], points[-2], points[-1], steps * max(1, moves))

    def drag(self, phone: Phone, x1: float, y1: float, x2: float, y2: float, steps: int) -> bool:
        phone.drag(round(x1), round(y1), round(x2), round(y2), _swipe_ms(steps))
        return True

    def drag_to(self, phone: Phone, selector: Selector, *target: Any) -> bool:
        x1, y1 = _one(phone, selector).bounds.center
        x2, y2 = _one(phone, target[0]).bounds.center if isinstance(target[0], dict) else (target[0], target[1])
        return self.drag(phone, x1, y1, x2, y2, int(target[-1]))

    def inject_input_event(self, phone: Phone, action: int, x: float, y: float, meta: int = 0) -> bool:
        self._finger.move(phone, int(action), round(x), round(y))
        return True

    # --- keys and text

    def press_key(self, phone: Phone, name: str) -> bool:
        if name not in _KEYS:
            raise ValueError(f"unknown key {name!r}")
        phone.key(_KEYS[name])
        return True

    def press_key_code(self, phone: Phone, code: int, meta: int = 0) -> bool:
        if int(code) not in KEY_NAMES:
            raise ValueError(f"unknown key code {code}")
        phone.key(KEY_NAMES[int(code)], int(meta or 0))
        return True

    def set_clipboard(self, phone: Phone, label: str | None, text: str) -> None:
        phone.system.clipboard = str(text)

    def paste_clipboard(self, phone: Phone) -> bool:
        phone.type_text(phone.system.clipboard)
        return True

    def clear_input_text(self, phone: Phone) -> bool:
        phone.key("A", _META_CTRL)
        phone.key("DEL")
        return True

    def set_text(self, phone: Phone, selector: Selector, text: str) -> bool:
        node = _one(phone, selector)
        if not node.focused:
            phone.tap(*node.bounds.center)
        self.clear_input_text(phone)
        if text:
            phone.type_text(str(text))
        return True

    # --- the system's surface

    def set_orientation(self, phone: Phone, name: str) -> None:
        turns = _ROTATIONS[name]
        phone.shell(f"settings put system accelerometer_rotation 0; settings put system user_rotation {turns}")

    def freeze_rotation(self, phone: Phone, frozen: bool) -> None:
        phone.shell(f"settings put system accelerometer_rotation {0 if frozen else 1}")

    def get_last_toast(self, phone: Phone) -> str | None:
        toast = phone.state.view.toast
        return toast if toast and toast != self._cleared_toast else None

    def clear_last_toast(self, phone: Phone) -> None:
        self._cleared_toast = phone.state.view.toast

    def make_toast(self, phone: Phone, text: str, duration_ms: float = 2000) -> None:
        self._cleared_toast = ""
        phone.system.toast(str(text))

    # --- objects

    def exist(self, phone: Phone, selector: Selector) -> bool:
        return bool(find_all(phone.ui_tree(), selector))

    def _scroll(self, phone: Phone, selector: Selector, vertical: bool, towards_end: bool, steps: int) -> bool:
        """Swipe once within a scrollable; False when nothing moved."""
        before = phone.ui_tree()
        bounds = _one(phone, selector).bounds
        x, y = bounds.center
        inset_x, inset_y = (bounds.right - bounds.left) // 10, (bounds.bottom - bounds.top) // 10
        start = (x, bounds.bottom - inset_y) if vertical else (bounds.right - inset_x, y)
        end = (x, bounds.top + inset_y) if vertical else (bounds.left + inset_x, y)
        if not towards_end:
            start, end = end, start
        phone.swipe(*start, *end, _swipe_ms(steps))
        return phone.ui_tree() != before

    def scroll_forward(self, phone: Phone, selector: Selector, vertical: bool = True, steps: int = 55) -> bool:
        return self._scroll(phone, selector, vertical, True, steps)

    def scroll_backward(self, phone: Phone, selector: Selector, vertical: bool = True, steps: int = 55) -> bool:
        return self._scroll(phone, selector, vertical, False, steps)

    fling_forward, fling_backward = scroll_forward, scroll_backward

    def scroll_to_end(
        self, phone: Phone, selector: Selector, vertical: bool = True, swipes: int = 1000, steps: int = 55
    ) -> bool:
        return self._scroll_far(phone, selector, vertical, True, swipes, steps)

    def scroll_to_beginning(
        self, phone: Phone, selector: Selector, vertical: bool = True, swipes: int = 1000, steps: int = 55
    ) -> bool:
        return self._scroll_far(phone, selector, vertical, False, swipes, steps)

    def _scroll_far(
        self, phone: Phone, selector: Selector, vertical: bool, towards_end: bool, swipes: int, steps: int
    ) -> bool:
        """Scroll until nothing moves any more; False when that did not come within `swipes`."""
        moves = range(min(swipes, _MAX_SWIPES))
        return any(not self._scroll(phone, selector, vertical, towards_end, steps) for _ in moves)

    def scroll_to(self, phone: Phone, selector: Selector, target: Selector, vertical: bool = True) -> bool:
        """Scroll to the beginning, then forward until the target shows."""
        if self.exist(phone, target):
            return True
        self.scroll_to_beginning(phone, selector, vertical)
        for _ in range(_MAX_SWIPES):
            if self.exist(phone, target) or not self.scroll_forward(phone, selector, vertical):
                break
        return self.exist(phone, target)


def _one(phone: Phone, selector: Selector) -> UiNode:
    """Return the first node that a selector means. Raises: RpcError: there is none."""
    found = find_all(phone.ui_tree(), selector)
    if not found:
        raise _NotFoundError(selector)
    return found[0]


def _swipe_ms(steps: float) -> int:
    return max(1, int(steps)) * MS_PER_STEP


def _describe(node: UiNode) -> dict[str, object]:
    bounds = dict(zip(("left", "top", "right", "bottom"), node.bounds, strict=True))
    return {
        "bounds": bounds,
        "visibleBounds": bounds,
        "childCount": len(node.children),
        "className": node.class_name,
        "contentDescription": node.description or None,
        "packageName": node.package,
        "resourceName": node.resource_id or None,
        "text": node.text,
        **{_camel(flag): getattr(node, flag) for flag in _FLAGS},
    }


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


_METHODS: Final[dict[str, Callable[..., object]]] = {
    **{_camel(name): each for name, each in vars(Uia2Methods).items() if not name.startswith("_") and name != "call"},
    "clearTextField": lambda self, phone, selector: self.set_text(phone, selector, ""),
    "count": lambda _, phone, selector: len(find_all(phone.ui_tree(), selector)),
    "getClipboard": lambda _, phone: phone.system.clipboard,
    "getText": lambda _, phone, selector: _one(phone, selector).text,
    "objInfo": lambda _, phone, selector: _describe(_one(phone, selector)),
    "objInfoOfAllInstances": lambda _, phone, selector: [_describe(n) for n in find_all(phone.ui_tree(), selector)],
    "openNotification": lambda _, phone: phone.shell("cmd statusbar expand-notifications").exit_code == 0,
    "openQuickSettings": lambda _, phone: phone.shell("cmd statusbar expand-settings").exit_code == 0,
    "sleep": lambda _, phone: phone.key("SLEEP"),
    "wakeUp": lambda _, phone: phone.key("WAKEUP"),
}
"""By the names that clients call them by."""


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
