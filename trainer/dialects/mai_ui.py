"""MAI-UI: `<thinking>` and one `mobile_use` tool call; directions for swipes, drags with two points. Thousandths (999).

Source: the project's mobile prompt. `ask_user` is refused: there is nobody to ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import JSON, CoordinateFrame
from rlfactory.trainer.dialects import hermes
from rlfactory.trainer.dialects.dialect import ParseError
from rlfactory.trainer.dialects.phone_text import FINISH, PHONE, SCROLL_OF, PhoneTextDialect, cannot, unknown

OPEN, CLOSE = "<thinking>", "</thinking>"
TOUCHES: Final = {"click": "tap", "double_click": "double_tap", "long_press": "long_press"}
BUTTONS: Final = {"back": "BACK", "home": "HOME", "menu": "MENU", "enter": "ENTER"}
ENDINGS: Final = {"success": "success", "fail": "failure"}
KNOWN: Final = (*TOUCHES, "swipe", "drag", "type", "open", "system_button", "wait", "answer", "terminate")
_NAME_OF: Final = {action: name for name, action in TOUCHES.items()}
_BUTTON_OF: Final = {key: button for button, key in BUTTONS.items()}


class MaiUi(PhoneTextDialect):
    """MAI-UI."""

    name = "mai_ui"
    frame = CoordinateFrame.PERMILLE_999
    multiple_px = 32
    prompt = (
        "You are a GUI agent. You are given a task and your action history, with screenshots. "
        "Perform the next action.\n"
        "For each step return your thinking, then one tool call:\n"
        "<thinking>\n...\n</thinking>\n<tool_call>\n"
        '{"name": "mobile_use", "arguments": <args-json-object>}\n</tool_call>\n\n'
        "The actions, with coordinates from 0 to 999 on both axes:\n"
        '{"action": "click", "coordinate": [x, y]}\n{"action": "double_click", "coordinate": [x, y]}\n'
        '{"action": "long_press", "coordinate": [x, y]}\n{"action": "type", "text": ""}\n'
        '{"action": "swipe", "direction": "up or down or left or right"} # may have a coordinate\n'
        '{"action": "open", "text": "app_name"}\n'
        '{"action": "drag", "start_coordinate": [x1, y1], "end_coordinate": [x2, y2]}\n'
        '{"action": "system_button", "button": "back, home, menu or enter"}\n{"action": "wait"}\n'
        '{"action": "terminate", "status": "success or fail"}\n{"action": "answer", "text": "xxx"}'
    )

    def write(self, thought: str, action: str) -> str:
        return f"{OPEN}\n{thought}\n{CLOSE}\n{action}" if thought else action

    def split(self, text: str) -> tuple[str, str]:
        thought, closed, action = text.partition(CLOSE)
        if closed:
            return thought.strip().removeprefix(OPEN).strip(), action
        if text.lstrip().startswith(OPEN):
            raise ParseError(f"{OPEN} is not closed by {CLOSE}")
        return "", text

    def act(self, arguments: Mapping[str, JSON]) -> str:  # noqa: PLR0911 - one for each action
        match dict(arguments):
            case {"action": str(action), "coordinate": point, **rest} if action in _NAME_OF and not rest:
                return _written(_NAME_OF[action], coordinate=point)
            case {"action": "scroll", "direction": str(direction), **rest} if rest.keys() <= {"coordinate"}:
                return _written("swipe", direction=SCROLL_OF[direction], **rest)
            case {"action": "drag", "coordinate": start, "coordinate2": end, **rest} if not rest:
                return _written("drag", start_coordinate=start, end_coordinate=end)
            case {"action": "key", "key": str(key)} if key in _BUTTON_OF:
                return _written("system_button", button=_BUTTON_OF[key])
            case {"action": "open_app", "app": app}:
                return _written("open", text=app)
            case {"action": "type", "text": text}:
                return _written("type", text=text)
            case {"action": "wait", **rest} if not rest:
                return _written("wait")
            case other:
                raise cannot(self, other)

    def end(self, arguments: Mapping[str, JSON]) -> str:
        match dict(arguments):
            case {"answer": str(answer), **rest} if answer and rest.get("status", "success") == "success":
                return _written("answer", text=answer)
            case {"status": "failure", **rest} if not rest.get("answer"):
                return _written("terminate", status="fail")
            case {**rest} if not rest.get("answer"):
                return _written("terminate", status="success")
            case other:
                raise cannot(self, other)

    def read(self, action: str) -> tuple[str, dict[str, Any]]:
        said, calls = hermes.split(action)
        if said or len(calls) != 1:
            raise ParseError(f"write one tool call after {CLOSE}, and nothing else")
        [(name, values)] = calls
        if name != "mobile_use":
            raise unknown(name, ("mobile_use",))
        match values:
            case {"action": "answer", "text": str(text)} if text:
                return FINISH, {"status": "success", "answer": text}
            case {"action": "terminate", "status": str(status)} if status in ENDINGS:
                return FINISH, {"status": ENDINGS[status]}
            case {"action": "ask_user"}:
                raise ParseError("there is no user to ask; decide yourself")
            case _:
                return PHONE, _phone(values)


def _phone(values: Mapping[str, Any]) -> dict[str, Any]:  # noqa: PLR0911 - one for each action
    match values:
        case {"action": str(action), "coordinate": list(point)} if action in TOUCHES:
            return {"action": TOUCHES[action], "coordinate": point}
        case {"action": "swipe", "direction": str(direction)} if direction in SCROLL_OF:
            where = {"coordinate": values["coordinate"]} if "coordinate" in values else {}
            return {"action": "scroll", "direction": SCROLL_OF[direction], **where}
        case {"action": "drag", "start_coordinate": list(start), "end_coordinate": list(end)}:
            return {"action": "drag", "coordinate": start, "coordinate2": end}
        case {"action": "system_button", "button": str(button)} if button in BUTTONS:
            return {"action": "key", "key": BUTTONS[button]}
        case {"action": "open", "text": str(app)}:
            return {"action": "open_app", "app": app}
        case {"action": "type", "text": str(text)}:
            return {"action": "type", "text": text}
        case {"action": "wait"}:
            return {"action": "wait"}
        case {"action": str(action)} if action in KNOWN:
            raise ParseError(f"{action} lacks what it needs, or has it wrong")
        case _:
            raise unknown(values.get("action"), KNOWN)


def _written(action: str, **values: JSON) -> str:
    return hermes.render("mobile_use", {"action": action, **values})
