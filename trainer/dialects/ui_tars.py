"""UI-TARS: `Thought: ..` and `Action: click(point='<point>x y</point>')`. Source: the project's mobile prompt.

1.5 writes pixels of the image as delivered; earlier models `start_box='(x,y)'` in thousandths.
A text that ends in a new line is submitted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import CoordinateFrame
from rlfactory.trainer.dialects.literal_calls import read_call, write_literal
from rlfactory.trainer.dialects.phone_text import PhoneTextDialect, labelled
from rlfactory.trainer.dialects.verbs import DIRECTION, POINT, TEXT, Argument, Kind, Unfit, Verbs, act, end

ACTION, QUOTE = "Action:", "'"
_TWO_NUMBERS: Final = re.compile(r"\D*?(-?\d{1,9}(?:\.\d{1,9})?)[\s,]+(-?\d{1,9}(?:\.\d{1,9})?)\D*")


def _read_point(value: Any) -> list[int | float]:
    found = _TWO_NUMBERS.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Unfit
    return [float(each) if "." in each else int(each) for each in found.groups()]


class UiTars(PhoneTextDialect):
    """One generation of UI-TARS. `shape`: how a point is written; then the names of its arguments."""

    def __init__(self, name: str, frame: CoordinateFrame, shape: str, *, point: str, start: str, end_: str) -> None:
        self.name, self.frame = name, frame
        kind = Kind(f", as in '{shape.format('x', 'y')}'", _read_point, lambda value: shape.format(*POINT.write(value)))
        at = Argument(point, "coordinate", kind)
        self.verbs = Verbs(
            act("click", "tap", at),
            act("long_press", "long_press", at),
            act("type", "type", Argument("content", "text", TEXT)),
            act("scroll", "scroll", at, Argument("direction", "direction", DIRECTION)),
            act("open_app", "open_app", Argument("app_name", "app", TEXT)),
            act("drag", "drag", Argument(start, "coordinate", kind), Argument(end_, "coordinate2", kind)),
            act("press_home", "key", key="HOME"),
            act("press_back", "key", key="BACK"),
            act("wait", "wait"),
            end("finished", Argument("content", "answer", TEXT, default=""), status="success"),
        )
        first, second = shape.format("x1", "y1"), shape.format("x2", "y2")
        where = f"{point}='{first}'"
        self.prompt = (
            "You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform "
            "the next action to complete the task.\n## Output Format\nThought: ...\nAction: ...\n\n## Action Space\n"
            f"click({where})\nlong_press({where})\ntype(content='') # a new line at its end submits it\n"
            f"scroll({where}, direction='down or up or right or left')\nopen_app(app_name='')\n"
            f"drag({start}='{first}', {end_}='{second}')\n"
            "press_home()\npress_back()\nwait()\nfinished(content='xxx') # the answer, if one is asked for"
        )

    def write(self, thought: str, action: str) -> str:
        return f"Thought: {thought}\n{ACTION} {action}" if thought else f"{ACTION} {action}"

    def split(self, text: str) -> tuple[str, str]:
        return labelled(text, "Thought:", ACTION)

    def action(self, verb: str, values: Mapping[str, Any]) -> str:
        return f"{verb}({', '.join(f'{key}={write_literal(value, quote=QUOTE)}' for key, value in values.items())})"

    def read(self, action: str) -> tuple[str, Mapping[str, Any]]:
        call = read_call(action)
        return call.name, self.values(call)


UI_TARS_1_5: Final = UiTars(
    *("ui_tars_1_5", CoordinateFrame.IMAGE_PX, "<point>{} {}</point>"),
    point="point",
    start="start_point",
    end_="end_point",
)
UI_TARS: Final = UiTars(
    *("ui_tars", CoordinateFrame.PERMILLE_1000, "({},{})"), point="start_box", start="start_box", end_="end_box"
)
