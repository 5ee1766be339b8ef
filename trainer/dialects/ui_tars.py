"""UI-TARS: `Thought: ..` and `Action: click(point='<point>x y</point>')`. Source: the project's mobile prompt.

1.5 writes pixels of the image as delivered; earlier models `start_box='(x,y)'` in thousandths.
A text that ends in a new line is submitted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from rlfactory.envs.api.types import JSON, CoordinateFrame
from rlfactory.trainer.dialects.dialect import ParseError, Unrenderable
from rlfactory.trainer.dialects.literal_calls import LiteralCall, choice_of, read_call, text_of, write_text
from rlfactory.trainer.dialects.phone_text import FINISH, PHONE, PhoneTextDialect, cannot, unknown

ACTION: Final = "Action:"
DIRECTIONS: Final = ("up", "down", "left", "right")
_TWO_NUMBERS: Final = re.compile(r"\D*?(-?\d{1,9}(?:\.\d{1,9})?)[\s,]+(-?\d{1,9}(?:\.\d{1,9})?)\D*")
KNOWN: Final = (
    *("click", "long_press", "type", "scroll", "open_app", "drag", "press_home", "press_back", "wait", "finished"),
)


def _prompt(point: str, start: str, end: str) -> str:
    """Return the prompt, with points as a generation writes them: `name='..'`."""
    return (
        "You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform "
        "the next action to complete the task.\n## Output Format\nThought: ...\nAction: ...\n\n## Action Space\n"
        f"click({point})\nlong_press({point})\ntype(content='') # a new line at its end submits it\n"
        f"scroll({point}, direction='down or up or right or left')\nopen_app(app_name='')\ndrag({start}, {end})\n"
        "press_home()\npress_back()\nwait()\nfinished(content='xxx') # the answer, if one is asked for"
    )


class UiTars(PhoneTextDialect):
    """UI-TARS 1.5."""

    name = "ui_tars_1_5"
    frame = CoordinateFrame.IMAGE_PX
    point_key: ClassVar[str] = "point"
    start_key: ClassVar[str] = "start_point"
    end_key: ClassVar[str] = "end_point"
    shape: ClassVar[str] = "<point>{x} {y}</point>"
    prompt = _prompt(
        "point='<point>x1 y1</point>'", "start_point='<point>x1 y1</point>'", "end_point='<point>x2 y2</point>'"
    )

    def write(self, thought: str, action: str) -> str:
        return f"Thought: {thought}\n{ACTION} {action}" if thought else f"{ACTION} {action}"

    def split(self, text: str) -> tuple[str, str]:
        thought, found, action = text.partition(ACTION)
        if not found:
            raise ParseError(f"no {ACTION!r} in your message")
        return thought.strip().removeprefix("Thought:").strip(), action.strip()

    def act(self, arguments: Mapping[str, JSON]) -> str:  # noqa: PLR0911 - one for each action
        match dict(arguments):
            case {"action": "tap", "coordinate": point, **rest} if not rest:
                return f"click({self.point_key}={self._point(point)})"
            case {"action": "long_press", "coordinate": point, **rest} if not rest:
                return f"long_press({self.point_key}={self._point(point)})"
            case {"action": "type", "text": str(text)}:
                return f"type(content={_quoted(text)})"
            case {"action": "scroll", "direction": str(direction), "coordinate": point, **rest} if not rest:
                return f"scroll({self.point_key}={self._point(point)}, direction='{direction}')"
            case {"action": "open_app", "app": str(app)}:
                return f"open_app(app_name={_quoted(app)})"
            case {"action": "drag", "coordinate": start, "coordinate2": end, **rest} if not rest:
                return f"drag({self.start_key}={self._point(start)}, {self.end_key}={self._point(end)})"
            case {"action": "key", "key": "HOME"}:
                return "press_home()"
            case {"action": "key", "key": "BACK"}:
                return "press_back()"
            case {"action": "wait", **rest} if not rest:
                return "wait()"
            case other:
                raise cannot(self, other)

    def end(self, arguments: Mapping[str, JSON]) -> str:
        if arguments.get("status", "success") != "success":
            raise Unrenderable("UI-TARS cannot report failure")
        return f"finished(content={_quoted(str(arguments.get('answer', '')))})"

    def read(self, action: str) -> tuple[str, dict[str, Any]]:
        call = read_call(action)
        if call.name == "finished":
            answer = text_of(call, "content", default="")
            return FINISH, {"status": "success", **({"answer": answer} if answer else {})}
        return PHONE, self._phone(call)

    def _phone(self, call: LiteralCall) -> dict[str, Any]:  # noqa: PLR0911 - one for each action
        match call.name:
            case "click":
                return {"action": "tap", "coordinate": self._read_point(call, self.point_key)}
            case "long_press":
                return {"action": "long_press", "coordinate": self._read_point(call, self.point_key)}
            case "type":
                return {"action": "type", "text": text_of(call, "content")}
            case "scroll":
                direction = choice_of(call, "direction", DIRECTIONS)
                point = self._read_point(call, self.point_key)
                return {"action": "scroll", "direction": direction, "coordinate": point}
            case "open_app":
                return {"action": "open_app", "app": text_of(call, "app_name")}
            case "drag":
                start, end = self._read_point(call, self.start_key), self._read_point(call, self.end_key)
                return {"action": "drag", "coordinate": start, "coordinate2": end}
            case "press_home" | "press_back":
                return {"action": "key", "key": call.name.removeprefix("press_").upper()}
            case "wait":
                return {"action": "wait"}
            case other:
                raise unknown(other, KNOWN)

    def _point(self, point: JSON) -> str:
        match point:
            case [int() | float() as x, int() | float() as y]:
                return f"'{self.shape.format(x=x, y=y)}'"
            case _:
                raise Unrenderable(f"{point} is no point")

    def _read_point(self, call: LiteralCall, key: str) -> list[int | float]:
        value = call.named.get(key)
        found = _TWO_NUMBERS.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise ParseError(f"{call.name} needs {key}='{self.shape.format(x='x', y='y')}'")
        return [float(each) if "." in each else int(each) for each in found.groups()]


class UiTars1(UiTars):
    """The first UI-TARS: boxes in thousandths."""

    name = "ui_tars"
    frame = CoordinateFrame.PERMILLE_1000
    point_key = "start_box"
    start_key = "start_box"
    end_key = "end_box"
    shape = "({x},{y})"
    prompt = _prompt("start_box='(x1,y1)'", "start_box='(x1,y1)'", "end_box='(x2,y2)'")


def _quoted(text: str) -> str:
    return write_text(text, quote="'")
