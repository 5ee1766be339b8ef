"""The UI tree of a screen, and its uiautomator XML. Pure: no device is touched here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Bounds(NamedTuple):
    """Pixels on the screen; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def center(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2


@dataclass(frozen=True, kw_only=True, slots=True)
class UiNode:
    """One accessibility node, with the attributes that `uiautomator dump` prints."""

    class_name: str = "android.view.View"
    package: str = ""
    resource_id: str = ""
    text: str = ""
    description: str = ""
    hint: str = ""
    bounds: Bounds = Bounds(0, 0, 0, 0)
    checkable: bool = False
    checked: bool = False
    clickable: bool = False
    enabled: bool = True
    focusable: bool = False
    focused: bool = False
    scrollable: bool = False
    long_clickable: bool = False
    password: bool = False
    selected: bool = False
    children: tuple[UiNode, ...] = field(default=())

    def walk(self) -> Iterator[UiNode]:
        """Yield this node and all below it, in drawing order."""
        yield self
        for child in self.children:
            yield from child.walk()
