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
from rlfactory.trainer.dialects.dialect import Parsed, ParseError, Unrenderable

PHONE, FINISH, MOBILE_USE = "phone", "finish", "mobile_use"

_BUTTONS: Final[Mapping[str, str]] = {"BACK": "Back", "HOME": "Home", "MENU": "Menu", "ENTER": "Enter"}
_KEYS: Final[Mapping[str, str]] = {button: key for key, button in _BUTTONS.items()}

_ARGUMENTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "key": ("text",),
    "click": ("coordinate",),
    "long_press": ("coordinate", "time"),
    "swipe": ("coordinate", "coordinate2"),
    "type": ("text",),
    "answer": ("text",),
    "system_button": ("button",),
    "open": ("text",),
    "wait": ("time",),
    "terminate": ("status",),
}
_OPTIONAL: Final = frozenset({"time", "status"})

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
            "button": {"type": "string", "enum": list(_KEYS), "description": "For system_button."},
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
        written = _finish_to_family(call.arguments) if call.name == FINISH else _phone_to_family(call.arguments)
        if written["action"] not in self.actions:
            raise Unrenderable(f"{self.name} has no action {written['action']!r}")
        return MOBILE_USE, written

    def _from_family(self, call_id: str, name: str, values: Mapping[str, Any]) -> ToolCall:
        if name != MOBILE_USE:
            return ToolCall(id=call_id, name=name, arguments=values)
        action = values.get("action")
        if action not in self.actions:
            raise ParseError(f'"action" is {action!r}; choose one of {", ".join(self.actions)}')
        takes = _ARGUMENTS_OF[action]
        missing = [key for key in takes if key not in values and key not in _OPTIONAL]
        if missing:
            raise ParseError(f"{action} needs {' and '.join(repr(key) for key in missing)}")
        # Models like to fill in what other actions take; that is no mistake worth a turn.
        return _to_session(call_id, action, {key: values[key] for key in takes if key in values})


def _phone_to_family(arguments: Mapping[str, JSON]) -> dict[str, JSON]:  # noqa: PLR0911
    match dict(arguments):
        case {"action": "tap", "coordinate": point}:
            return {"action": "click", "coordinate": point}
        case {"action": "long_press", "coordinate": point, **rest}:
            return {"action": "long_press", "coordinate": point, **_renamed(rest, "seconds", "time")}
        case {"action": "swipe", "coordinate": start, "coordinate2": end, **rest} if not rest:
            return {"action": "swipe", "coordinate": start, "coordinate2": end}
        case {"action": "type", "text": text}:
            return {"action": "type", "text": text}
        case {"action": "key", "key": str(key)} if key in _BUTTONS:
            return {"action": "system_button", "button": _BUTTONS[key]}
        case {"action": "key", "key": key}:
            return {"action": "key", "text": key}
        case {"action": "open_app", "app": app}:
            return {"action": "open", "text": app}
        case {"action": "wait", **rest}:
            return {"action": "wait", **_renamed(rest, "seconds", "time")}
        case other:
            raise Unrenderable(f"mobile_use cannot say {other}")


def _finish_to_family(arguments: Mapping[str, JSON]) -> dict[str, JSON]:
    match dict(arguments):
        case {"answer": str(answer), **rest} if answer and rest.get("status", "success") == "success":
            return {"action": "answer", "text": answer}
        case {"answer": str(answer)} if answer:
            raise Unrenderable("mobile_use cannot give an answer and report failure")
        case {"status": status}:
            return {"action": "terminate", "status": status}
        case _:
            return {"action": "terminate", "status": "success"}


def _to_session(call_id: str, action: str, values: dict[str, Any]) -> ToolCall:
    """Return the session's call; `values` holds only what the action takes, and all that it needs."""
    match action:
        case "click":
            arguments = {"action": "tap", **values}
        case "key":
            arguments = {"action": "key", "key": values["text"]}
        case "system_button":
            button = values["button"]
            if button not in _KEYS:
                raise ParseError(f'"button" is {button!r}; choose one of {", ".join(_KEYS)}')
            arguments = {"action": "key", "key": _KEYS[button]}
        case "open":
            arguments = {"action": "open_app", "app": values["text"]}
        case "answer":
            return ToolCall(id=call_id, name=FINISH, arguments={"status": "success", "answer": values["text"]})
        case "terminate":
            return ToolCall(id=call_id, name=FINISH, arguments={"status": "success", **values})
        case _:
            arguments = {"action": action, **_renamed(values, "time", "seconds")}
    return ToolCall(id=call_id, name=PHONE, arguments=arguments)


def _renamed(values: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in values.items()}


QWEN2_5_VL: Final = QwenDialect(
    name="qwen2_5_vl", frame=CoordinateFrame.IMAGE_PX, multiple_px=28, actions=tuple(_ARGUMENTS_OF)
)
QWEN3_VL: Final = QwenDialect(
    name="qwen3_vl",
    frame=CoordinateFrame.PERMILLE_999,
    multiple_px=32,
    actions=tuple(action for action in _ARGUMENTS_OF if action not in ("key", "open")),
)
GUI_OWL: Final = QwenDialect(
    name="gui_owl", frame=CoordinateFrame.PERMILLE_1000, multiple_px=32, actions=tuple(_ARGUMENTS_OF)
)
