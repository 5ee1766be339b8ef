"""AutoGLM and MobileRL: `<think>..</think><answer>do(action="Tap", element=[x,y])</answer>`, in thousandths.

Source: the system prompts of Open-AutoGLM and MobileRL. `Launch`, `Tap`, `Double Tap`, `Long Press`, `Type`, `Swipe`
(two points, or a direction from a point), `Back`, `Home`, `Wait`, and `finish(message=..)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import JSON, CoordinateFrame
from rlfactory.trainer.dialects import thinking
from rlfactory.trainer.dialects.dialect import ParseError, Unrenderable
from rlfactory.trainer.dialects.literal_calls import (
    Literal,
    LiteralCall,
    choice_of,
    numbers_of,
    read_call,
    text_of,
    write_text,
)
from rlfactory.trainer.dialects.phone_text import FINISH, PHONE, SCROLL_OF, PhoneTextDialect, cannot, unknown

OPEN, CLOSE = "<answer>", "</answer>"
TOUCHES: Final = {"Tap": "tap", "Double Tap": "double_tap", "Long Press": "long_press"}
KNOWN: Final = (*TOUCHES, "Launch", "Type", "Swipe", "Back", "Home", "Wait")
_DO_OF: Final = {action: name for name, action in TOUCHES.items()}


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

    def act(self, arguments: Mapping[str, JSON]) -> str:  # noqa: PLR0911 - one for each action
        match dict(arguments):
            case {"action": ("tap" | "double_tap" | "long_press") as action, "coordinate": point, **rest} if not rest:
                return f'do(action="{_DO_OF[action]}", element={_point(point)})'
            case {"action": "open_app", "app": str(app)}:
                return f'do(action="Launch", app={_quoted(app)})'
            case {"action": "type", "text": str(text)}:
                return f'do(action="Type", text={_quoted(text)})'
            case {"action": "swipe", "coordinate": start, "coordinate2": end, **rest} if not rest:
                return f'do(action="Swipe", start={_point(start)}, end={_point(end)})'
            case {"action": "scroll", "direction": str(direction), **rest} if rest.keys() <= {"coordinate", "distance"}:
                where = f", element={_point(rest['coordinate'])}" if "coordinate" in rest else ""
                far = f', dist="{rest["distance"]}"' if "distance" in rest else ""
                return f'do(action="Swipe", direction="{SCROLL_OF[direction]}"{far}{where})'
            case {"action": "key", "key": ("BACK" | "HOME") as key}:
                return f'do(action="{key.capitalize()}")'
            case {"action": "wait", "seconds": int() | float() as seconds}:
                return f'do(action="Wait", duration="{seconds} seconds")'
            case {"action": "wait", **rest} if not rest:
                return 'do(action="Wait")'
            case other:
                raise cannot(self, other)

    def end(self, arguments: Mapping[str, JSON]) -> str:
        if arguments.get("status", "success") != "success":
            raise Unrenderable(f"{self.name} cannot report failure")
        return f"finish(message={_quoted(str(arguments.get('answer', '')))})"

    def read(self, action: str) -> tuple[str, dict[str, Any]]:
        call = read_call(action)
        if call.name == "finish":
            answer = text_of(call, "message", default="")
            return FINISH, {"status": "success", **({"answer": answer} if answer else {})}
        if call.name != "do":
            raise unknown(call.name, ("do", "finish"))
        return PHONE, _phone(call)


def _phone(call: LiteralCall) -> dict[str, Any]:
    match call.named.get("action"):
        case str(name) if name in TOUCHES:
            return {"action": TOUCHES[name], "coordinate": numbers_of(call.named.get("element"), 2, what="element")}
        case "Launch":
            return {"action": "open_app", "app": text_of(call, "app")}
        case "Type":
            return {"action": "type", "text": text_of(call, "text")}
        case "Swipe":
            return _swipe(call)
        case "Back" | "Home" as name:
            return {"action": "key", "key": name.upper()}
        case "Wait":
            return {"action": "wait", **_seconds(call.named.get("duration"))}
        case other:
            raise unknown(other, KNOWN)


def _swipe(call: LiteralCall) -> dict[str, Any]:
    if "direction" not in call.named:
        start = numbers_of(call.named.get("start"), 2, what="start")
        return {"action": "swipe", "coordinate": start, "coordinate2": numbers_of(call.named.get("end"), 2, what="end")}
    scroll: dict[str, Any] = {"action": "scroll"}
    scroll["direction"] = SCROLL_OF[choice_of(call, "direction", tuple(SCROLL_OF))]
    if "dist" in call.named:
        scroll["distance"] = choice_of(call, "dist", ("short", "medium", "long"))
    if "element" in call.named:
        scroll["coordinate"] = numbers_of(call.named["element"], 2, what="element")
    return scroll


def _seconds(duration: Literal | None) -> dict[str, Any]:
    """Return the seconds of "2 seconds"."""
    if duration is None:
        return {}
    number = str(duration).removesuffix("s").removesuffix("second").strip()
    try:
        return {"seconds": float(number) if "." in number else int(number)}
    except ValueError:
        raise ParseError('duration must be like "2 seconds"') from None


def _point(point: JSON) -> str:
    match point:
        case [int() | float() as x, int() | float() as y]:
            return f"[{x},{y}]"
        case _:
            raise Unrenderable(f"{point} is no point")


def _quoted(text: str) -> str:
    return write_text(text, quote='"')
