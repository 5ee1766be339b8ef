"""MAI-UI: `<thinking>` and one `mobile_use` tool call; directions for swipes, drags with two points. Thousandths (999).

Source: the project's mobile prompt. `ask_user` is refused: there is nobody to ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import CoordinateFrame
from rlfactory.trainer.dialects import hermes, thinking
from rlfactory.trainer.dialects.dialect import ParseError
from rlfactory.trainer.dialects.phone_text import PhoneTextDialect
from rlfactory.trainer.dialects.verbs import POINT, SWIPED, TEXT, WORDS, Argument, Verbs, act, choice, end

OPEN, CLOSE, TOOL = "<thinking>", "</thinking>", "mobile_use"
WHERE: Final = Argument("coordinate", "coordinate", POINT)


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
    verbs = Verbs(
        act("click", "tap", WHERE),
        act("double_click", "double_tap", WHERE),
        act("long_press", "long_press", WHERE),
        act(
            *("swipe", "scroll", Argument("direction", "direction", SWIPED)),
            Argument("coordinate", "coordinate", POINT, default=None),
        ),
        act(
            *("drag", "drag", Argument("start_coordinate", "coordinate", POINT)),
            Argument("end_coordinate", "coordinate2", POINT),
        ),
        act("type", "type", Argument("text", "text", TEXT)),
        act("open", "open_app", Argument("text", "app", TEXT)),
        act(
            *("system_button", "key"),
            Argument("button", "key", choice({"back": "BACK", "home": "HOME", "menu": "MENU", "enter": "ENTER"})),
        ),
        act("wait", "wait"),
        end("answer", Argument("text", "answer", WORDS), status="success"),
        end("terminate", Argument("status", "status", choice({"success": "success", "fail": "failure"}))),
    )

    def write(self, thought: str, action: str) -> str:
        return f"{OPEN}\n{thought}\n{CLOSE}\n{action}" if thought else action

    def split(self, text: str) -> tuple[str, str]:
        return thinking.split(text, OPEN, CLOSE)

    def action(self, verb: str, values: Mapping[str, Any]) -> str:
        return hermes.render(TOOL, {"action": verb, **values})

    def read(self, action: str) -> tuple[Any, Mapping[str, Any]]:
        said, calls = hermes.split(action)
        if said or len(calls) != 1:
            raise ParseError(f"write one tool call after {CLOSE}, and nothing else")
        [(name, values)] = calls
        if name != TOOL:
            raise ParseError(f"no tool {name!r}; choose one of {TOOL}")
        if values.get("action") == "ask_user":
            raise ParseError("there is no user to ask; decide yourself")
        return values.get("action"), values
