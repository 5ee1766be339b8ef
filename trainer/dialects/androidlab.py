"""AndroidLab's actions on boxes: `tap([x1,y1,x2,y2])`, in pixels of the phone. Source: its XML-mode prompt.

A tap on a box is a tap on its middle; a point is written as the box of this one point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rlfactory.envs.api.types import JSON, CoordinateFrame
from rlfactory.trainer.dialects.dialect import ParseError, Unrenderable
from rlfactory.trainer.dialects.literal_calls import LiteralCall, choice_of, numbers_of, read_call, text_of, write_text
from rlfactory.trainer.dialects.phone_text import FINISH, PHONE, SCROLL_OF, PhoneTextDialect, cannot, unknown

KNOWN: Final = ("tap", "long_press", "text", "swipe", "back", "home", "wait", "finish")


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

    def write(self, thought: str, action: str) -> str:
        return f"{thought}\n{action}" if thought else action

    def split(self, text: str) -> tuple[str, str]:
        thought, _, action = text.strip().rpartition("\n")
        if not action:
            raise ParseError(f"no action in your message; write one of {', '.join(KNOWN)}")
        return thought.strip(), action

    def act(self, arguments: Mapping[str, JSON]) -> str:
        match dict(arguments):
            case {"action": ("tap" | "long_press") as action, "coordinate": point, **rest} if not rest:
                return f"{action}({_box(point)})"
            case {"action": "type", "text": str(text)}:
                return f"text({_quoted(text)})"
            case {"action": "scroll", "direction": str(direction), "distance": str(far), "coordinate": point}:
                return f'swipe({_box(point)}, "{SCROLL_OF[direction]}", "{far}")'
            case {"action": "key", "key": ("BACK" | "HOME") as key}:
                return f"{key.lower()}()"
            case {"action": "wait", "seconds": int() | float() as seconds}:
                return f"wait({seconds})"
            case other:
                raise cannot(self, other)

    def end(self, arguments: Mapping[str, JSON]) -> str:
        if arguments.get("status", "success") != "success":
            raise Unrenderable(f"{self.name} cannot report failure")
        return f"finish({_quoted(str(arguments.get('answer', '')))})"

    def read(self, action: str) -> tuple[str, dict[str, Any]]:
        call = read_call(action)
        if call.name == "finish":
            answer = text_of(call, "message", default="")
            return FINISH, {"status": "success", **({"answer": answer} if answer else {})}
        return PHONE, _phone(call)


def _phone(call: LiteralCall) -> dict[str, Any]:
    match call.name:
        case "tap" | "long_press":
            return {"action": call.name, "coordinate": _middle(call)}
        case "text":
            return {"action": "type", "text": text_of(call, "text")}
        case "swipe":
            return _swipe(call)
        case "back" | "home":
            return {"action": "key", "key": call.name.upper()}
        case "wait":
            [seconds] = numbers_of(list(call.positional), 1, what="wait(..)")
            return {"action": "wait", "seconds": seconds}
        case other:
            raise unknown(other, KNOWN)


def _swipe(call: LiteralCall) -> dict[str, Any]:
    named = dict(zip(("box", "direction", "dist"), call.positional, strict=False)) | dict(call.named)
    whole = LiteralCall(call.name, (), named)
    return {
        "action": "scroll",
        "direction": SCROLL_OF[choice_of(whole, "direction", tuple(SCROLL_OF))],
        "distance": choice_of(whole, "dist", ("short", "medium", "long"), default="medium"),
        "coordinate": _middle(call),
    }


def _middle(call: LiteralCall) -> list[int | float]:
    """Return the middle of the box that the call begins with."""
    box = call.positional[0] if call.positional else call.named.get("box")
    if isinstance(box, list) and len(box) == 1:
        [box] = box  # as the project's own XML writes bounds: [[x1,y1,x2,y2]]
    x1, y1, x2, y2 = numbers_of(box, 4, what="the box")
    return [x1 if x1 == x2 else (x1 + x2) / 2, y1 if y1 == y2 else (y1 + y2) / 2]


def _box(point: JSON) -> str:
    match point:
        case [int() | float() as x, int() | float() as y]:
            return f"[{x},{y},{x},{y}]"
        case _:
            raise Unrenderable(f"{point} is no point")


def _quoted(text: str) -> str:
    return write_text(text, quote='"')
