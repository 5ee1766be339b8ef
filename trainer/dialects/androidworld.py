"""AndroidWorld's JSON actions: `Reason: ..` and `Action: {"action_type": "click", "x": .., "y": ..}`, device pixels.

Source: the benchmark's M3A prompt and `json_action.py`. Its executor presses Enter after `input_text`, so typed text
ends in a new line here. `swipe` names where the finger goes, `scroll` what is to be seen. Elements have no index:
points are told by x and y.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import JSON, CoordinateFrame
from rlfactory.trainer.dialects import json_calls
from rlfactory.trainer.dialects.dialect import ParseError, Unrenderable
from rlfactory.trainer.dialects.phone_text import FINISH, PHONE, SCROLL_OF, PhoneTextDialect, cannot, unknown

ACTION: Final = "Action:"
TOUCHES: Final = {"click": "tap", "double_tap": "double_tap", "long_press": "long_press"}
KEYS: Final = {"keyboard_enter": "ENTER", "navigate_home": "HOME", "navigate_back": "BACK"}
ENDINGS: Final = {"complete": "success", "infeasible": "failure"}
KNOWN: Final = (*TOUCHES, *KEYS, "scroll", "swipe", "input_text", "open_app", "wait", "status", "answer")
_TYPE_OF: Final = {action: name for name, action in TOUCHES.items()}
_KEY_OF: Final = {key: name for name, key in KEYS.items()}
_ENDING_OF: Final = {status: name for name, status in ENDINGS.items()}


class AndroidWorld(PhoneTextDialect):
    """AndroidWorld's reference agents."""

    name = "androidworld"
    frame = CoordinateFrame.DEVICE_PX
    prompt = (
        "You operate a phone. You are given a task and screenshots. Answer with a reason and one action as JSON:\n"
        'Reason: ...\nAction: {"action_type": ...}\n\nThe actions, x and y in pixels of the phone\'s screen:\n'
        '{"action_type": "click", "x": <x>, "y": <y>}\n{"action_type": "double_tap", "x": <x>, "y": <y>}\n'
        '{"action_type": "long_press", "x": <x>, "y": <y>}\n'
        '{"action_type": "input_text", "text": <text>} types into the focused field and presses Enter\n'
        '{"action_type": "scroll", "direction": <up|down|left|right>, "x": <optional>, "y": <optional>}\n'
        '{"action_type": "open_app", "app_name": <name>}\n{"action_type": "keyboard_enter"}\n'
        '{"action_type": "navigate_home"}\n{"action_type": "navigate_back"}\n{"action_type": "wait"}\n'
        '{"action_type": "answer", "text": <answer>} answers the question and ends the task\n'
        '{"action_type": "status", "goal_status": <"complete"|"infeasible">} ends the task'
    )

    def write(self, thought: str, action: str) -> str:
        return f"Reason: {thought}\n{ACTION} {action}" if thought else f"{ACTION} {action}"

    def split(self, text: str) -> tuple[str, str]:
        thought, found, action = text.partition(ACTION)
        if not found:
            raise ParseError(f"no {ACTION!r} in your message")
        return thought.strip().removeprefix("Reason:").strip(), action

    def act(self, arguments: Mapping[str, JSON]) -> str:
        match dict(arguments):
            case {"action": str(action), "coordinate": point, **rest} if action in _TYPE_OF and not rest:
                return _written(_TYPE_OF[action], **_xy(point))
            case {"action": "scroll", "direction": direction, **rest} if rest.keys() <= {"coordinate"}:
                return _written("scroll", direction=direction, **(_xy(rest["coordinate"]) if rest else {}))
            case {"action": "type", "text": str(text)} if text.endswith("\n"):
                return _written("input_text", text=text.removesuffix("\n"))
            case {"action": "key", "key": str(key)} if key in _KEY_OF:
                return _written(_KEY_OF[key])
            case {"action": "open_app", "app": app}:
                return _written("open_app", app_name=app)
            case {"action": "wait", **rest} if not rest:
                return _written("wait")
            case other:
                raise cannot(self, other)

    def end(self, arguments: Mapping[str, JSON]) -> str:
        status = str(arguments.get("status", "success"))
        answer = arguments.get("answer", "")
        if not answer:
            return _written("status", goal_status=_ENDING_OF[status])
        if status != "success":
            raise Unrenderable(f"{self.name} cannot give an answer and report failure")
        return _written("answer", text=answer)

    def read(self, action: str) -> tuple[str, dict[str, Any]]:
        value = json_calls.decode_all(action)
        if not isinstance(value, dict):
            raise ParseError('the action must be {"action_type": ..}')
        match value:
            case {"action_type": "status", "goal_status": str(status)} if status in ENDINGS:
                return FINISH, {"status": ENDINGS[status]}
            case {"action_type": "answer", "text": str(text)} if text:
                return FINISH, {"status": "success", "answer": text}
            case _:
                return PHONE, _phone(value)


def _phone(value: Mapping[str, Any]) -> dict[str, Any]:
    match value:
        case {"action_type": str(kind)} if kind in TOUCHES:
            return {"action": TOUCHES[kind], "coordinate": _point(value)}
        case {"action_type": ("scroll" | "swipe") as kind, "direction": str(direction)} if direction in SCROLL_OF:
            seen = direction if kind == "scroll" else SCROLL_OF[direction]
            where = {"coordinate": _point(value)} if "x" in value or "index" in value else {}
            return {"action": "scroll", "direction": seen, **where}
        case {"action_type": "input_text", "text": str(text)}:
            if value.keys() & {"x", "y", "index"} or value.get("clear_text"):
                raise ParseError("input_text types into the focused field: click it first, and clear it by keys")
            return {"action": "type", "text": f"{text}\n"}
        case {"action_type": str(kind)} if kind in KEYS:
            return {"action": "key", "key": KEYS[kind]}
        case {"action_type": "open_app", "app_name": str(app)}:
            return {"action": "open_app", "app": app}
        case {"action_type": "wait"}:
            return {"action": "wait"}
        case {"action_type": str(kind)} if kind in KNOWN:
            raise ParseError(f"{kind} lacks what it needs, or has it wrong")
        case _:
            raise unknown(value.get("action_type"), KNOWN)


def _point(value: Mapping[str, Any]) -> list[int | float]:
    match value:
        case {"x": int() | float() as x, "y": int() | float() as y}:
            return [x, y]
        case _:
            raise ParseError('give "x" and "y" in pixels; elements have no index here')


def _xy(point: JSON) -> dict[str, JSON]:
    match point:
        case [x, y]:
            return {"x": x, "y": y}
        case _:
            raise Unrenderable(f"{point} is no point")


def _written(action_type: str, **values: JSON) -> str:
    return json_calls.dump({"action_type": action_type, **values})
