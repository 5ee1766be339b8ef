"""AndroidWorld's JSON actions: `Reason: ..` and `Action: {"action_type": "click", "x": .., "y": ..}`, device pixels.

Source: the benchmark's M3A prompt and `json_action.py`. Its executor presses Enter after `input_text`, so typed text
ends in a new line here. `swipe` names where the finger goes, `scroll` what is to be seen. Elements have no index:
points are told by x and y.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import CoordinateFrame
from rlfactory.trainer.dialects import json_calls
from rlfactory.trainer.dialects.dialect import ParseError
from rlfactory.trainer.dialects.phone_text import PhoneTextDialect, labelled
from rlfactory.trainer.dialects.verbs import (
    DIRECTION,
    POINT,
    SWIPED,
    TEXT,
    WORDS,
    Argument,
    Kind,
    Unfit,
    Verbs,
    act,
    choice,
    end,
)

ACTION: Final = "Action:"


def _without_enter(text: Any) -> str:
    if not isinstance(text, str) or not text.endswith("\n"):
        raise Unfit
    return text.removesuffix("\n")


ENTERED: Final = Kind(TEXT.hint, lambda text: f"{TEXT.read(text)}\n", _without_enter)
AT: Final = Argument("x and y", "coordinate", POINT)
"""Two keys of the JSON, one point."""
MAYBE_AT: Final = Argument("x and y", "coordinate", POINT, default=None)


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
    verbs = Verbs(
        act("click", "tap", AT),
        act("double_tap", "double_tap", AT),
        act("long_press", "long_press", AT),
        act("keyboard_enter", "key", key="ENTER"),
        act("navigate_home", "key", key="HOME"),
        act("navigate_back", "key", key="BACK"),
        act("scroll", "scroll", Argument("direction", "direction", DIRECTION), MAYBE_AT),
        act("swipe", "scroll", Argument("direction", "direction", SWIPED), MAYBE_AT),
        act("input_text", "type", Argument("text", "text", ENTERED)),
        act("open_app", "open_app", Argument("app_name", "app", TEXT)),
        act("wait", "wait"),
        end("status", Argument("goal_status", "status", choice({"complete": "success", "infeasible": "failure"}))),
        end("answer", Argument("text", "answer", WORDS), status="success"),
    )

    def write(self, thought: str, action: str) -> str:
        return f"Reason: {thought}\n{ACTION} {action}" if thought else f"{ACTION} {action}"

    def split(self, text: str) -> tuple[str, str]:
        return labelled(text, "Reason:", ACTION)

    def action(self, verb: str, values: Mapping[str, Any]) -> str:
        written = {"action_type": verb, **values}
        if point := written.pop(AT.key, None):
            written |= zip("xy", point, strict=True)
        return json_calls.dump(written)

    def read(self, action: str) -> tuple[Any, Mapping[str, Any]]:
        value = json_calls.decode_all(action)
        if not isinstance(value, dict):
            raise ParseError('the action must be {"action_type": ..}')
        verb = value.get("action_type")
        if verb == "input_text" and (value.keys() & {"x", "y", "index"} or value.get("clear_text")):
            raise ParseError("input_text types into the focused field: click it first, and clear it by keys")
        if "index" in value and "x" not in value:
            raise ParseError('give "x" and "y" in pixels; elements have no index here')
        return verb, value if "x" not in value else {**value, AT.key: [value["x"], value.get("y")]}
