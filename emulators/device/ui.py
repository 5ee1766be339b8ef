"""The UI tree of a screen, and its uiautomator XML. Pure: no device is touched here."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
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


NOWHERE = Bounds(0, 0, 0, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class UiNode:
    """One accessibility node, with the attributes that `uiautomator dump` prints."""

    class_name: str = "android.view.View"
    package: str = ""
    resource_id: str = ""
    text: str = ""
    description: str = ""
    hint: str = ""
    bounds: Bounds = NOWHERE
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


# --- uiautomator XML -----------------------------------------------------------------------------------------------

HIERARCHY = "hierarchy"
"""Class name of a root that stands for no view: its children are the roots of the windows on the screen."""

_TEXTS = {
    "text": "text",
    "resource_id": "resource-id",
    "class_name": "class",
    "package": "package",
    "description": "content-desc",
}
_FLAGS = {
    "checkable": "checkable",
    "checked": "checked",
    "clickable": "clickable",
    "enabled": "enabled",
    "focusable": "focusable",
    "focused": "focused",
    "scrollable": "scrollable",
    "long_clickable": "long-clickable",
    "password": "password",
    "selected": "selected",
}
_BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
_HEADER = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"


def printable(text: str) -> str:
    """Return `text` with a dot for each character that XML cannot hold, as Android's dumper writes it."""
    return _UNPRINTABLE.sub(".", text)


def to_xml(root: UiNode, *, rotation: int = 0, max_depth: int | None = None) -> str:
    """Return the tree as `uiautomator dump` writes it, with the `hint` that newer versions print.

    Args:
        rotation: quarter turns of the screen.
        max_depth: levels of nodes to write; None writes them all.
    """
    parts = [f'{_HEADER}\n<hierarchy rotation="{rotation}">']
    windows = root.children if root.class_name == HIERARCHY else (root,)
    for index, window in enumerate(windows):
        _write(window, index, max_depth, parts)
    parts.append("</hierarchy>")
    return "".join(parts)


def _write(node: UiNode, index: int, levels: int | None, parts: list[str]) -> None:
    if levels == 0:
        return
    attributes = [f'index="{index}"']
    attributes += [f'{label}="{_escape(getattr(node, name))}"' for name, label in _TEXTS.items()]
    attributes += [f'{label}="{"true" if getattr(node, name) else "false"}"' for name, label in _FLAGS.items()]
    left, top, right, bottom = node.bounds
    attributes.append(f'bounds="[{left},{top}][{right},{bottom}]"')
    if node.hint:
        attributes.append(f'hint="{_escape(node.hint)}"')
    parts.append(f"<node {' '.join(attributes)}")
    if node.children and levels != 1:
        parts.append(">")
        for number, child in enumerate(node.children):
            _write(child, number, None if levels is None else levels - 1, parts)
        parts.append("</node>")
    else:
        parts.append(" />")


@lru_cache(maxsize=4096)
def _escape(text: str) -> str:
    """Return a text as an attribute has it; most are names of classes and widgets that come again and again."""
    return printable(text).translate(_ESCAPES)


def from_xml(xml: str) -> UiNode:
    """Read a tree that uiautomator, uiautomator2 or `to_xml` wrote.

    Returns: the root; a node of class `hierarchy` when there are several windows, or none.
    Raises: ValueError: not such a document.
    """
    if "<!DOCTYPE" in xml or "<!ENTITY" in xml:
        raise ValueError("a UI tree has no document type")
    try:
        document = ET.fromstring(xml.encode("utf-8", "replace"))
    except ET.ParseError as error:
        raise ValueError(f"not a UI tree: {error}") from error
    if document.tag != HIERARCHY:
        raise ValueError(f"not a UI tree: the root is <{document.tag}>")
    windows = tuple(_read(element) for element in document if element.tag == "node")
    return windows[0] if len(windows) == 1 else UiNode(class_name=HIERARCHY, children=windows)


def _read(element: ET.Element) -> UiNode:
    attributes: Mapping[str, str] = element.attrib
    numbers = _BOUNDS.fullmatch(attributes.get("bounds", "[0,0][0,0]"))
    if numbers is None:
        raise ValueError(f"not a UI tree: bounds {attributes['bounds']!r}")
    texts = {name: attributes.get(label, "") for name, label in _TEXTS.items()}
    flags = {name: attributes.get(label, "false") == "true" for name, label in _FLAGS.items()}
    return UiNode(
        **texts,  # type: ignore[arg-type]
        **flags,  # type: ignore[arg-type]
        hint=attributes.get("hint", ""),
        bounds=Bounds(*(int(number) for number in numbers.groups())),
        children=tuple(_read(child) for child in element if child.tag == "node"),
    )
