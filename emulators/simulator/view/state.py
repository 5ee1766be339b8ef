"""What the phone's own surface remembers between events: keyboard, shade, recents, toast. Plain data, deep-copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Overlay = Literal["", "shade", "recents"]
KeyboardPage = Literal["letters", "symbols", "more_symbols"]


@dataclass(kw_only=True, slots=True)
class ViewState:
    """Part of the phone's state (and so of its snapshots); changed by `input.py` and `System.toast` only."""

    keyboard_open: bool = False
    keyboard_page: KeyboardPage = "letters"
    shift: bool = False
    """The next letter of the keyboard is a capital."""
    select_all: bool = False
    """The whole focused text is selected: the next character or deletion replaces it."""
    toolbar: bool = False
    """Cut, copy, paste float over the focused field."""
    overlay: Overlay = ""
    """What lies over all windows."""
    toast: str = ""
    toast_until_ms: int = 0
    """Uptime at which the toast goes; it is not shown from then on."""
    screen_on: bool = True
    autofocused: str = ""
    """The field that has had its `autofocus` ("activity token/key"), so that it takes the focus only once."""
