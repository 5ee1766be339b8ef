"""AutoGLM and MobileRL: `<think>..</think><answer>do(action="Tap", element=[x,y])</answer>`, in thousandths.

Source: the system prompts of Open-AutoGLM and MobileRL. `Launch`, `Tap`, `Double Tap`, `Long Press`, `Type`, `Swipe`
(two points, or a direction from a point), `Back`, `Home`, `Wait`, and `finish(message=..)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import CoordinateFrame
from rlfactory.trainer.dialects import thinking
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

OPEN, CLOSE, QUOTE = "<answer>", "</answer>", '"'


def _seconds(duration: Any) -> float:
    """Return the seconds of "2 seconds"."""
    number = str(duration).removesuffix("s").removesuffix("second").strip()
    try:
        return float(number) if "." in number else int(number)
    except ValueError:
        raise Unfit from None


DURATION: Final = Kind(', as in "2 seconds"', _seconds, lambda seconds: f"{NUMBER.write(seconds)} seconds")
ELEMENT: Final = Argument("element", "coordinate", POINT)


class AutoGlm(PhoneTextDialect):
    """AutoGLM-Phone."""

    name = "autoglm"
    frame = CoordinateFrame.PERMILLE_1000
    prompt = (
        "You operate a phone. You are given a task and screenshots, and answer with one action:\n"
        "<think>{think}</think><answer>{action}</answer>\n"
        "The actions, with coordinates from [0,0] at the top left to [999,999] at the bottom right:\n"
        'do(action="Launch", app="xxx")\ndo(action="Tap", element=[x,y])\ndo(action="Double Tap", element=[x,y])\n'
        'do(action="Long Press", element=[x,y])\ndo(action="Type", text="xxx")\n'
        'do(action="Swipe", start=[x1,y1], end=[x2,y2])\n'
        'do(action="Swipe", direction="up|down|left|right", dist="short|medium|long", element=[x,y])\n'
        'do(action="Back")\ndo(action="Home")\ndo(action="Wait", duration="x seconds")\n'
        'finish(message="xxx") when the task is done; the message is the answer, if one is asked for'
    )
    verbs = Verbs(
        act("Tap", "tap", ELEMENT),
        act("Double Tap", "double_tap", ELEMENT),
        act("Long Press", "long_press", ELEMENT),
        act("Launch", "open_app", Argument("app", "app", TEXT)),
        act("Type", "type", Argument("text", "text", TEXT)),
        act(
            *("Swipe", "scroll", Argument("direction", "direction", SWIPED)),
            Argument("dist", "distance", DISTANCE, default=None),
            Argument("element", "coordinate", POINT, default=None),
        ),
        act("Swipe", "swipe", Argument("start", "coordinate", POINT), Argument("end", "coordinate2", POINT)),
        act("Back", "key", key="BACK"),
        act("Home", "key", key="HOME"),
        act("Wait", "wait", Argument("duration", "seconds", DURATION, default=None)),
        end("finish", Argument("message", "answer", TEXT, default=""), status="success"),
    )

    def write(self, thought: str, action: str) -> str:
        return f"{thinking.OPEN}{thought}{thinking.CLOSE}{OPEN}{action}{CLOSE}" if thought else f"{OPEN}{action}{CLOSE}"

    def split(self, text: str) -> tuple[str, str]:
        before, found, rest = text.partition(OPEN)
        if not found:
            raise ParseError(f"no {OPEN} in your message")
        action, closed, after = rest.rpartition(CLOSE)
        if not closed or after.strip():
            raise ParseError(f"{OPEN} is not closed by {CLOSE} at the end of your message")
        thought, said = thinking.split(before)
        return thinking.join(thought, said), action.strip()

    def action(self, verb: str, values: Mapping[str, Any]) -> str:
        named = values if verb == "finish" else {"action": verb, **values}
        inner = ", ".join(f"{key}={write_literal(value, quote=QUOTE)}" for key, value in named.items())
        return f"{'finish' if verb == 'finish' else 'do'}({inner})"

    def read(self, action: str) -> tuple[Any, Mapping[str, Any]]:
        call = read_call(action)
        if call.name not in ("do", "finish"):
            raise ParseError(f"no action {call.name!r}; choose one of do, finish")
        return (call.name, self.values(call)) if call.name == "finish" else (call.named.get("action"), call.named)
