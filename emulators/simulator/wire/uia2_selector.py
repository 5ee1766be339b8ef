"""uiautomator2's selectors: which nodes of a tree one means, in the order uiautomator finds them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rlfactory.emulators.device.ui import UiNode


@dataclass(frozen=True, slots=True)
class Found:
    """A node and where it hangs."""

    node: UiNode
    parent: UiNode | None
    index: int


Selector = Mapping[str, Any]
"""What uiautomator2 sends: criteria by name, `mask` of those that count, and a chain of children and siblings."""


def _text(field: str, test: Callable[[str, str], bool]) -> Callable[[Found, Any], bool]:
    return lambda found, wanted: test(getattr(found.node, field), str(wanted))


def _flag(field: str) -> Callable[[Found, Any], bool]:
    return lambda found, wanted: getattr(found.node, field) is bool(wanted)


def _equals(value: str, wanted: str) -> bool:
    return value == wanted


def _contains(value: str, wanted: str) -> bool:
    return wanted.lower() in value.lower()


def _starts(value: str, wanted: str) -> bool:
    return value.lower().startswith(wanted.lower())


def _matches(value: str, wanted: str) -> bool:
    return re.fullmatch(wanted, value, re.DOTALL) is not None


_CRITERIA: dict[str, tuple[int, Callable[[Found, Any], bool]]] = {
    "text": (0x01, _text("text", _equals)),
    "textContains": (0x02, _text("text", _contains)),
    "textMatches": (0x04, _text("text", _matches)),
    "textStartsWith": (0x08, _text("text", _starts)),
    "className": (0x10, _text("class_name", _equals)),
    "classNameMatches": (0x20, _text("class_name", _matches)),
    "description": (0x40, _text("description", _equals)),
    "descriptionContains": (0x80, _text("description", _contains)),
    "descriptionMatches": (0x100, _text("description", _matches)),
    "descriptionStartsWith": (0x200, _text("description", _starts)),
    "checkable": (0x400, _flag("checkable")),
    "checked": (0x800, _flag("checked")),
    "clickable": (0x1000, _flag("clickable")),
    "longClickable": (0x2000, _flag("long_clickable")),
    "scrollable": (0x4000, _flag("scrollable")),
    "enabled": (0x8000, _flag("enabled")),
    "focusable": (0x10000, _flag("focusable")),
    "focused": (0x20000, _flag("focused")),
    "selected": (0x40000, _flag("selected")),
    "packageName": (0x80000, _text("package", _equals)),
    "packageNameMatches": (0x100000, _text("package", _matches)),
    "resourceId": (0x200000, _text("resource_id", _equals)),
    "resourceIdMatches": (0x400000, _text("resource_id", _matches)),
    "index": (0x800000, lambda found, wanted: found.index == int(wanted)),
}
_INSTANCE = 0x01000000


def find_all(root: UiNode, selector: Selector) -> list[UiNode]:
    """Return the nodes that a selector means, in drawing order.

    Raises: ValueError: the selector is malformed.
    """
    try:
        found = _select(_below(Found(root, None, 0), include=True), selector)
        steps = zip(selector.get("childOrSibling", ()), selector.get("childOrSiblingSelector", ()), strict=True)
        for relation, further in steps:
            found = _select(_related(found, relation, root), further)
    except (re.error, TypeError, AttributeError) as error:
        raise ValueError(f"bad selector: {error}") from error
    return [each.node for each in found]


def _select(candidates: Iterator[Found], selector: Selector) -> list[Found]:
    mask = int(selector.get("mask", 0))
    tests = [(test, selector[name]) for name, (bit, test) in _CRITERIA.items() if mask & bit]
    matching = [found for found in candidates if all(test(found, wanted) for test, wanted in tests)]
    if mask & _INSTANCE:
        instance = int(selector["instance"])
        return matching[instance : instance + 1] if instance >= 0 else []
    return matching


def _below(found: Found, *, include: bool) -> Iterator[Found]:
    if include:
        yield found
    for index, child in enumerate(found.node.children):
        yield from _below(Found(child, found.node, index), include=True)


def _related(found: list[Found], relation: str, root: UiNode) -> Iterator[Found]:
    """Yield the descendants of what was found, or of its parents for `sibling`, each once."""
    seen: set[int] = set()
    for each in found:
        if relation == "child":
            top = each
        elif relation == "sibling":
            top = Found(each.parent or root, None, 0)
        else:
            raise ValueError(f"bad selector: relation {relation!r}")
        for below in _below(top, include=False):
            if id(below.node) not in seen:
                seen.add(id(below.node))
                yield below
