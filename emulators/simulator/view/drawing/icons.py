"""Material Design icons by name ("wifi", "arrow-left"), from the packaged icon font."""

from __future__ import annotations

import difflib
from functools import lru_cache

from fonticon_mdi7 import MDI7


@lru_cache(maxsize=1024)
def icon_glyph(name: str) -> str:
    """Return the character of the icon font that draws `name`.

    Raises: ValueError: no such icon; the message names close ones.
    """
    attribute = name.replace("-", "_")
    value = vars(MDI7).get(attribute) or vars(MDI7).get(f"{attribute}_")
    if attribute.startswith("_") or not isinstance(value, str):
        close = difflib.get_close_matches(attribute, [key for key in vars(MDI7) if not key.startswith("_")], 5)
        raise ValueError(f"unknown icon {name!r}; close: {', '.join(key.replace('_', '-') for key in close) or 'none'}")
    return value.rpartition(".")[2]


def icon_font_file() -> str:
    """Return the path of the icon font."""
    return str(MDI7.__font_file__)
