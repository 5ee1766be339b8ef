"""Qwen's `mobile_use`: the phone as one Hermes tool. Source: the cookbooks of Qwen2.5-VL and Qwen3-VL.

Two things are added to what was published: Qwen2.5-VL gets the action `answer` (tasks that ask a question need it),
and other tools of a session stand beside `mobile_use` under their own names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rlfactory.envs.api.types import JSON, CoordinateFrame, ToolCall, ToolResult, ToolSchema
from rlfactory.trainer.dialects import hermes, json_calls
from rlfactory.trainer.dialects.dialect import Parsed, ParseError
from rlfactory.trainer.dialects.verbs import FINISH, PHONE, Argument, Verbs, act, choice, end

MOBILE_USE: Final = "mobile_use"
_BUTTONS: Final = {"Back": "BACK", "Home": "HOME", "Menu": "MENU", "Enter": "ENTER"}
_POINT: Final = Argument("coordinate", "coordinate")
_TIME: Final = Argument("time", "seconds", default=None)
_VERBS: Final = (
    # A button before a key event by name: a family that has both says Back by its button.
    act("system_button", "key", Argument("button", "key", choice(_BUTTONS))),
    act("key", "key", Argument("text", "key")),
    act("click", "tap", _POINT),
    act("long_press", "long_press", _POINT, _TIME),
    act("swipe", "swipe", _POINT, Argument("coordinate2", "coordinate2")),
    act("type", "type", Argument("text", "text")),
    end("answer", Argument("text", "answer"), status="success"),
    act("open", "open_app", Argument("text", "app")),
    act("wait", "wait", _TIME),
    end("terminate", Argument("status", "status", default="success")),
)
_DOES: Final[Mapping[str, str]] = {
    "key": "Perform a key event on the mobile device, by its name in adb's `keyevent` syntax.",
    "click": "Click the point on the screen with coordinate (x, y).",
    "long_press": "Press the point on the screen with coordinate (x, y) for specified seconds.",
    "swipe": "Swipe from the starting point with coordinate (x, y) to the end point with coordinates2 (x2, y2).",
    "type": "Input the specified text into the activated input box.",
    "answer": "Output the answer and end the task.",
    "system_button": "Press the system button.",
    "open": "Open an app on the device.",
    "wait": "Wait specified seconds for the change to happen.",
    "terminate": "Terminate the current task and report its completion status.",
}


_DECLARED: Final = {CoordinateFrame.PERMILLE_999: (999, 999), CoordinateFrame.PERMILLE_1000: (1000, 1000)}


@dataclass(frozen=True, kw_only=True, slots=True)
class QwenDialect:
    """One generation of Qwen-VL."""

    name: str
    frame: CoordinateFrame
    multiple_px: int
    actions: tuple[str, ...]
    special_tokens: bool = False

    @property
    def _verbs(self) -> Verbs:
        return Verbs(*(verb for verb in _VERBS if verb.name in self.actions))

    def system_prompt(self, tools: Sequence[ToolSchema], *, image_px: tuple[int, int]) -> str:
        signatures = [json_calls.signature(tool) for tool in tools if tool.name not in (PHONE, FINISH)]
        if any(tool.name in (PHONE, FINISH) for tool in tools):
            signatures.insert(0, self._mobile_use(self._declared_px(image_px)))
        return hermes.system_prompt(signatures)

    def first_message(self, goal: str) -> str:
        return f"The user query: {goal}"

    def next_message(self, results: Sequence[ToolResult]) -> str:
        return hermes.responses(results, silent=frozenset({PHONE, FINISH}))

    def error_message(self, error: ParseError) -> str:
        return f"<tool_response>\nmalformed: {error}\n</tool_response>"

    def render(self, calls: Sequence[ToolCall], *, thought: str = "") -> str:
        written = [hermes.render(*self._to_family(call)) for call in calls]
        return "\n".join([thought, *written] if thought else written)

    def parse(self, text: str) -> Parsed:
        thought, found = hermes.split(text)
        calls = [self._from_family(str(index), name, values) for index, (name, values) in enumerate(found)]
        return Parsed(calls=tuple(calls), thought=thought)

    def _declared_px(self, image_px: tuple[int, int]) -> tuple[int, int]:
        return image_px if self.frame is CoordinateFrame.IMAGE_PX else _DECLARED[self.frame]

    def _mobile_use(self, declared_px: tuple[int, int]) -> dict[str, JSON]:
        point: dict[str, JSON] = {"type": "array", "description": "(x, y): pixels from the left and top edges."}
        properties: dict[str, JSON] = {
            "action": {
                "type": "string",
                "enum": list(self.actions),
                "description": "\n".join(f"* `{action}`: {_DOES[action]}" for action in self.actions),
            },
            "coordinate": {**point, "description": f"{point['description']} For click, long_press and swipe."},
            "coordinate2": {**point, "description": f"{point['description']} The end of a swipe."},
            "text": {"type": "string", "description": "For key, type, open and answer."},
            "time": {"type": "number", "description": "The seconds to wait. For long_press and wait."},
            "button": {
                "type": "string",
                "enum": list(_BUTTONS),
                "description": "For system_button.",
            },
            "status": {"type": "string", "enum": ["success", "failure"], "description": "For terminate."},
        }
        return {
            "name": MOBILE_USE,
            "description": "Use a touchscreen to interact with a mobile device, and take screenshots.\n"
            "* This is an interface to a mobile device with touchscreen. You can perform actions like clicking, "
            "typing, swiping, etc.\n"
            f"* The screen's resolution is {declared_px[0]}x{declared_px[1]}.\n"
            "* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element.",
            "parameters": {"type": "object", "properties": properties, "required": ["action"]},
        }

    def _to_family(self, call: ToolCall) -> tuple[str, dict[str, JSON]]:
        if call.name not in (PHONE, FINISH):
            return call.name, dict(call.arguments)
        action, values = self._verbs.write(call.name, call.arguments)
        return MOBILE_USE, {"action": action, **values}

    def _from_family(self, call_id: str, name: str, values: Mapping[str, Any]) -> ToolCall:
        if name != MOBILE_USE:
            return ToolCall(id=call_id, name=name, arguments=values)
        tool, arguments = self._verbs.read(values.get("action"), values)
        return ToolCall(id=call_id, name=tool, arguments=arguments)


QWEN2_5_VL: Final = QwenDialect(name="qwen2_5_vl", frame=CoordinateFrame.IMAGE_PX, multiple_px=28, actions=tuple(_DOES))
QWEN3_VL: Final = QwenDialect(
    name="qwen3_vl",
    frame=CoordinateFrame.PERMILLE_999,
    multiple_px=32,
    actions=tuple(action for action in _DOES if action not in ("key", "open")),
)
GUI_OWL: Final = QwenDialect(name="gui_owl", frame=CoordinateFrame.PERMILLE_1000, multiple_px=32, actions=tuple(_DOES))
