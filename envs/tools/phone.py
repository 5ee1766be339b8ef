"""The phone as a tool: from a model's arguments to one device action."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from rlfactory.emulators.device.device import (
    DeviceAction,
    DoubleTap,
    Drag,
    LongPress,
    OpenApp,
    PressKey,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from rlfactory.emulators.device.errors import ActionRejected, DeviceTimeout
from rlfactory.envs.api.coordinates import ScreenSize, frame_sides, to_device
from rlfactory.envs.api.tracing import part
from rlfactory.envs.api.types import JSON, CoordinateFrame, ToolSchema
from rlfactory.envs.tools.arguments import (
    Arguments,
    object_schema,
    read_choice,
    read_point,
    read_seconds,
    read_text,
    refuse_unknown,
)
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext

MAX_TEXT_CHARS: Final = 4_000
MAX_WAIT_S: Final = 20.0
MAX_PRESS_S: Final = 10.0
SETTLE_TIMEOUT_S: Final = 5.0
SLOW_S: Final = 1.0
"""For an action and the look at what it did, on average over a turn: a phone that takes longer, beyond what an action
takes by its own definition, is to blame when the turn's time runs out. A screen that never rests is not."""

ARGUMENTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "tap": ("coordinate",),
    "double_tap": ("coordinate",),
    "long_press": ("coordinate", "seconds"),
    "swipe": ("coordinate", "coordinate2", "seconds"),
    "drag": ("coordinate", "coordinate2", "seconds"),
    "scroll": ("coordinate", "direction", "distance"),
    "type": ("text",),
    "key": ("key",),
    "open_app": ("app",),
    "wait": ("seconds",),
}
"""What each action takes beside `action`; `seconds`, `distance` and scroll's `coordinate` have defaults."""

FINGER: Final[Mapping[str, tuple[int, int]]] = {"up": (0, 1), "down": (0, -1), "left": (1, 0), "right": (-1, 0)}
"""Where the finger moves so that the screen shows more of what lies in a direction."""
DISTANCES: Final[Mapping[str, float]] = {"short": 0.2, "medium": 0.4, "long": 0.7}
"""Of the screen's side."""


def phone_schema(frame: CoordinateFrame, size: ScreenSize) -> ToolSchema:
    """Return the tool's schema, with the range of coordinates that this session's frame has."""
    side_x, side_y = frame_sides(frame, size)
    point: dict[str, JSON] = {
        "type": "array",
        "items": {"type": "number"},
        "minItems": 2,
        "maxItems": 2,
    }
    where = f"[x, y] from the top left corner; x from 0 to {side_x - 1}, y from 0 to {side_y - 1}"
    return object_schema(
        "phone",
        "Act on the phone once, as a finger or a keyboard would.",
        {
            "action": {"type": "string", "enum": list(ARGUMENTS_OF)},
            "coordinate": {
                **point,
                "description": f"{where}. For tap, double_tap, long_press; where swipe and drag begin; what to "
                "scroll, by default the middle.",
            },
            "coordinate2": {**point, "description": "[x, y] where swipe and drag end."},
            "direction": {
                "type": "string",
                "enum": list(FINGER),
                "description": "For scroll: what is to be seen, as in down for what follows below.",
            },
            "distance": {"type": "string", "enum": list(DISTANCES), "description": "For scroll; default medium."},
            "text": {
                "type": "string",
                "maxLength": MAX_TEXT_CHARS,
                "description": "For type: entered into the focused field; a newline is the Enter key.",
            },
            "key": {"type": "string", "description": "For key: HOME, BACK, ENTER, DEL, APP_SWITCH, MENU, ..."},
            "app": {"type": "string", "description": "For open_app: the app's label or package."},
            "seconds": {
                "type": "number",
                "minimum": 0,
                "maximum": MAX_WAIT_S,
                "description": "How long wait, long_press, swipe and drag take.",
            },
        },
        required=["action"],
    )


def parse_action(arguments: Arguments, frame: CoordinateFrame, size: ScreenSize) -> DeviceAction:  # noqa: PLR0911
    """Return the device action that the arguments mean.

    Raises: Rejected: the message says which argument is wrong, and what would be right.
    """
    kind = read_choice(arguments, "action", tuple(ARGUMENTS_OF))
    refuse_unknown(arguments, ("action", *ARGUMENTS_OF[kind]))
    sides = frame_sides(frame, size)

    def point(name: str) -> tuple[int, int]:
        return to_device(frame, size, *read_point(arguments, name, sides))

    def seconds(default: float, maximum: float = MAX_PRESS_S) -> float:
        return read_seconds(arguments, "seconds", default=default, maximum=maximum)

    match kind:
        case "tap":
            return Tap(*point("coordinate"))
        case "double_tap":
            return DoubleTap(*point("coordinate"))
        case "long_press":
            return LongPress(*point("coordinate"), duration_s=seconds(1.0))
        case "swipe":
            return Swipe(*point("coordinate"), *point("coordinate2"), duration_s=seconds(0.3))
        case "drag":
            return Drag(*point("coordinate"), *point("coordinate2"), duration_s=seconds(1.0))
        case "scroll":
            middle = point("coordinate") if "coordinate" in arguments else (size.width_px // 2, size.height_px // 2)
            return _scroll(arguments, middle, size)
        case "type":
            return TypeText(read_text(arguments, "text", max_chars=MAX_TEXT_CHARS))
        case "key":
            return PressKey(read_text(arguments, "key", max_chars=64).upper().removeprefix("KEYCODE_"))
        case "open_app":
            return OpenApp(read_text(arguments, "app", max_chars=200))
        case _:
            return Wait(seconds(1.0, MAX_WAIT_S))


def _scroll(arguments: Arguments, middle: tuple[int, int], size: ScreenSize) -> Swipe:
    """Return the swipe across a point that shows more of what lies in a direction, cut off at the screen's edges."""
    along_x, along_y = FINGER[read_choice(arguments, "direction", tuple(FINGER))]
    share = DISTANCES[read_choice(arguments, "distance", tuple(DISTANCES), default="medium")]
    half_x, half_y = along_x * share / 2 * size.width_px, along_y * share / 2 * size.height_px

    def inside(value: float, side: int) -> int:
        return max(0, min(side - 1, round(value)))

    x, y = middle
    return Swipe(
        inside(x - half_x, size.width_px),
        inside(y - half_y, size.height_px),
        inside(x + half_x, size.width_px),
        inside(y + half_y, size.height_px),
        duration_s=0.5,
    )


class PhoneTool(Tool):
    """Acts on the session's phone and waits until its screen is at rest."""

    resource = "phone"
    keeps_deadline = True
    policy = ToolPolicy(deterministic=True)

    def __init__(self, context: ToolContext) -> None:
        if context.device is None:
            raise ValueError("the tool 'phone' needs a phone: the task must set needs_device")
        self.schema = phone_schema(context.coordinates, context.screen())
        self._device = context.device
        self._context = context

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        action = parse_action(arguments, self._context.coordinates, self._context.screen())
        if duration_s(action) >= context.timeout_s:
            self.answer_for_lateness()
            raise Rejected(f"it would take longer than the {context.timeout_s:.1f} seconds that are left for this turn")
        started = time.perf_counter()
        deadline = started + context.timeout_s
        try:
            with part("device.act", rl__action__type=type(action).__name__):
                await self._device.act(action, timeout_s=context.timeout_s)
        except ActionRejected as error:
            raise Rejected(str(error)) from error
        acted = time.perf_counter()
        clock = self._context.notes.clock
        clock.actions += 1
        with part("device.settle"):
            settled = await self._device.settle(timeout_s=max(0.0, min(SETTLE_TIMEOUT_S, deadline - acted)))
        settle_s = time.perf_counter() - acted
        clock.settle_s += settle_s
        clock.slow_s += max(0.0, acted - started - duration_s(action))
        clock.slow_s += settle_s if settled.reason != "deadline" else 0.0
        return "Done."

    def answer_for_lateness(self) -> None:
        clock = self._context.notes.clock
        if clock.slow_s > SLOW_S * clock.actions:
            raise DeviceTimeout(
                f"{self._device.info.serial} is slow: {clock.slow_s:.1f} s for {clock.actions} actions of this turn"
            )

    def fork(self, context: ToolContext) -> PhoneTool:
        return PhoneTool(context)


def duration_s(action: DeviceAction) -> float:
    """Return how long an action takes by its own definition."""
    match action:
        case LongPress() | Swipe() | Drag() | Wait():
            return action.duration_s
        case _:
            return 0.0
