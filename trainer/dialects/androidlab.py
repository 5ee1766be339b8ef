"""AndroidLab's actions on boxes: `tap([x1,y1,x2,y2])`, in pixels of the phone. Source: its XML-mode prompt.

A tap on a box is a tap on its middle; a point is written as the box of this one point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import CoordinateFrame
from rlfactory.trainer.dialects.dialect import ParseError
from rlfactory.trainer.dialects.literal_calls import read_call, write_literal
from rlfactory.trainer.dialects.phone_text import PhoneTextDialect
from rlfactory.trainer.dialects.verbs import (
    DISTANCE,
    NUMBER,
    POINT,
    SWIPED,
    TEXT,
    Argument,
    Kind,
    Unfit,
    Verbs,
    act,
    end,
)

QUOTE: Final = '"'


def _middle(box: Any) -> list[int | float]:
    if isinstance(box, list) and len(box) == 1:
        [box] = box  # as the project's own XML writes bounds: [[x1,y1,x2,y2]]
    match box:
        case [int() | float() as x1, int() | float() as y1, int() | float() as x2, int() | float() as y2]:
            return [x1 if x1 == x2 else (x1 + x2) / 2, y1 if y1 == y2 else (y1 + y2) / 2]
        case _:
            raise Unfit


BOX: Final = Argument(
    "box", "coordinate", Kind(", as in [x1,y1,x2,y2]", _middle, lambda point: [*POINT.write(point), *point])
)


class AndroidLab(PhoneTextDialect):
    """AndroidLab's agents; the action is the last line."""

    name = "androidlab"
    frame = CoordinateFrame.DEVICE_PX
    prompt = (
        "You operate a phone. Think, then write one action as the last line of your message. Boxes are in pixels.\n"
        "tap([x1,y1,x2,y2])\nlong_press([x1,y1,x2,y2])\n"
        'text("words") # types them; a new line at the end is the Enter key\n'
        'swipe([x1,y1,x2,y2], "up|down|left|right", "short|medium|long")\nback()\nhome()\nwait(seconds)\n'
        'finish("message") # the answer, if one is asked for'
    )
    verbs = Verbs(
        act("tap", "tap", BOX),
        act("long_press", "long_press", BOX),
        act("text", "type", Argument("text", "text", TEXT)),
        act(
            *("swipe", "scroll", BOX, Argument("direction", "direction", SWIPED)),
            Argument("dist", "distance", DISTANCE, default="medium"),
        ),
        act("back", "key", key="BACK"),
        act("home", "key", key="HOME"),
        act("wait", "wait", Argument("seconds", "seconds", NUMBER)),
        end("finish", Argument("message", "answer", TEXT, default=""), status="success"),
    )

    def write(self, thought: str, action: str) -> str:
        return f"{thought}\n{action}" if thought else action

    def split(self, text: str) -> tuple[str, str]:
        thought, _, action = text.strip().rpartition("\n")
        if not action:
            raise ParseError(f"no action in your message; write one of {', '.join(self.verbs.names)}")
        return thought.strip(), action

    def action(self, verb: str, values: Mapping[str, Any]) -> str:
        return f"{verb}({', '.join(write_literal(value, quote=QUOTE) for value in values.values())})"

    def read(self, action: str) -> tuple[str, Mapping[str, Any]]:
        call = read_call(action)
        return call.name, self.values(call)
