"""The on-screen keyboard: letters, two pages of symbols, and a number pad. Its keys are widgets that carry a code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rlfactory.emulators.simulator.machine.state import KeyboardPage
from rlfactory.emulators.simulator.view.compose import Context
from rlfactory.emulators.simulator.view.drawing.painter import Operation, still_picture
from rlfactory.emulators.simulator.view.layout import Node, Rect
from rlfactory.emulators.simulator.view.widgets import Column, Icon, Row, Spacer, Stack, Text, Widget, centered

EnterKind = Literal["newline", "done", "next"]

ROW_DP = 54.0
STRIP_DP = 42.0
MARGIN_DP = 3.0
BELOW_DP = 8.0
MAX_SHARE = 0.5

LETTERS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
HINTS = "1234567890"
SYMBOLS = ("1234567890", "@#$_&-+()/", "*\"':;!?")
MORE_SYMBOLS = ("~`|•√π÷×§∆", "£¢€¥^°={}\\", "%©®™[]<>")
NUMBERS = ("123-", "456 ", "789\b", "+0.\n")


class Key(Stack):
    """One key. `code` is the character that it types, or "shift", "delete", "enter", "page:NAME"."""

    code: str


@dataclass(frozen=True, slots=True)
class KeyboardLook:
    """Everything that the picture of the keyboard depends on."""

    page: KeyboardPage
    shift: bool
    number: bool
    enter: EnterKind
    row_dp: float = ROW_DP
    """Height of a row of keys: less than usual on a low screen."""

    @property
    def height_dp(self) -> float:
        """Of the whole keyboard, without the navigation bar below it."""
        return STRIP_DP + 4 * self.row_dp + BELOW_DP


def fitting_row_dp(screen_height_dp: float) -> float:
    """Return the height of rows with which the keyboard covers at most about half of the screen."""
    return min(ROW_DP, max((screen_height_dp * MAX_SHARE - STRIP_DP - BELOW_DP) / 4, 10.0))


def _cap(*, code: str, content: Widget, background: str, weight: float, hint: str = "", radius: float = 7) -> Widget:
    children = centered(content)
    if hint:
        small = Text(text=hint, style="keyboard_hint", color="on_surface_variant", padding=(0, 3, 5, 0))
        children += ((small, "end", "start"),)
    return Key(
        code=code, children=children, background=background, radius=radius, weight=weight, height="fill", width="fill"
    )


def _letter(character: str, *, weight: float = 1.0, hint: str = "") -> Widget:
    content = Text(text=character, style="keyboard_key")
    return _cap(code=character, content=content, background="keyboard_key", weight=weight, hint=hint)


def _special(code: str, *, icon: str = "", text: str = "", weight: float = 1.5, accent: bool = False) -> Widget:
    color = "on_primary_container" if accent else "on_surface"
    content: Widget = (
        Icon(icon=icon, size=22, color=color) if icon else Text(text=text, style="label_large", color=color)
    )
    background = "primary_container" if accent else "keyboard_special"
    return _cap(code=code, content=content, background=background, weight=weight, radius=24 if accent else 7)


def _row(keys: Sequence[Widget], *, inset: float = 0.0) -> Widget:
    edge: tuple[Widget, ...] = (Spacer(weight=inset),) if inset else ()
    return Row(children=(*edge, *keys, *edge), gap=2 * MARGIN_DP, weight=1, padding=(MARGIN_DP, 4.5, MARGIN_DP, 4.5))


def _enter(look: KeyboardLook) -> Widget:
    icon = {"newline": "keyboard-return", "done": "check", "next": "arrow-right"}[look.enter]
    return _special("enter", icon=icon, accent=True)


def _bottom_row(look: KeyboardLook, page: KeyboardPage, label: str) -> Widget:
    space = _cap(code=" ", content=Spacer(), background="keyboard_key", weight=4.6)
    return _row([_special(f"page:{page}", text=label), _letter(","), space, _letter("."), _enter(look)])


def _letters(look: KeyboardLook) -> list[Widget]:
    def shown(character: str) -> str:
        return character.upper() if look.shift else character

    first, second, third = LETTERS
    shift_icon = "apple-keyboard-caps" if look.shift else "apple-keyboard-shift"
    return [
        _row([_letter(shown(c), hint=hint) for c, hint in zip(first, HINTS, strict=True)]),
        _row([_letter(shown(c)) for c in second], inset=0.45),
        _row([_special("shift", icon=shift_icon), *(_letter(shown(c)) for c in third), _delete()]),
        _bottom_row(look, "symbols", "?123"),
    ]


def _delete() -> Widget:
    return _special("delete", icon="backspace-outline")


def _symbols(look: KeyboardLook) -> list[Widget]:
    more = look.page == "more_symbols"
    first, second, third = MORE_SYMBOLS if more else SYMBOLS
    other = _special("page:symbols", text="?123") if more else _special("page:more_symbols", text="=\\<")
    return [
        _row([_letter(c) for c in first]),
        _row([_letter(c) for c in second]),
        _row([other, *(_letter(c) for c in third), _delete()]),
        _bottom_row(look, "letters", "ABC"),
    ]


def _numbers(look: KeyboardLook) -> list[Widget]:
    rows = []
    for characters in NUMBERS:
        keys: list[Widget] = []
        for c in characters:
            if c == "\n":
                keys.append(_enter(look))
            elif c == "\b":
                keys.append(_delete())
            elif c == " ":
                keys.append(_special(" ", icon="keyboard-space", weight=1.5))
            else:
                keys.append(_letter(c, weight=2.0 if c.isdigit() else 1.5))
        rows.append(_row(keys))
    return rows


def _strip() -> Widget:
    icons = ("view-grid-outline", "sticker-emoji", "clipboard-outline", "cog-outline", "palette-outline", "microphone")
    cells = tuple(Stack(children=centered(Icon(icon=icon, size=20)), weight=1, height=STRIP_DP) for icon in icons)
    return Row(children=cells, padding=(8, 0, 8, 0))


@lru_cache(maxsize=64)
def keyboard(
    look: KeyboardLook, width_px: int, bottom_px: int, density: float, *, dark: bool
) -> tuple[Node, tuple[Operation, ...]]:
    """Return the keyboard, placed with its lower edge at `bottom_px`, and its display list."""
    rows = _numbers(look) if look.number else _letters(look) if look.page == "letters" else _symbols(look)
    context = Context(density=density)
    board = Column(children=(_strip(), *rows), padding=(0, 0, 0, BELOW_DP), background="keyboard")
    area = Rect(0, bottom_px - context.px(look.height_dp), width_px, bottom_px)
    return still_picture(board, area, density, dark=dark)
