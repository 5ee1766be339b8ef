"""How AndroidWorld's oracles get about: forms filled, rows found by what they show."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from rlfactory.emulators.device.ui import UiNode
from rlfactory.envs.tasks.phone.flows.common import find
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver

Params = Mapping[str, Any]
"""A task's parameters, with `expected` for a question."""
Oracle = Callable[[UiDriver, Params], Coroutine[Any, Any, str | None]]

MAX_LOOKS: Final = 12


def texts_of(node: UiNode) -> list[str]:
    """Return all texts inside a node."""
    return [inner.text for inner in node.walk() if inner.text]


async def reveal(ui: UiDriver, resource_id: str) -> None:
    """Bring a field of a form into view: the keyboard away, then down the form."""
    for look in range(MAX_LOOKS):
        found = ui.find(resource_id=resource_id)
        if found and found[0].bounds.bottom - found[0].bounds.top > 1:
            return
        if look == 0 and any(node.focused for node in ui.tree.walk()):
            await ui.key("BACK")
        else:
            await ui.swipe("up")
    raise OracleStuck(f"no field {resource_id}")


async def fill(ui: UiDriver, **values: str) -> None:
    """Type into the fields with these ids; an empty value leaves its field alone."""
    for key, value in values.items():
        if value:
            await reveal(ui, key)
            await ui.type(value, into=key)


async def choose(ui: UiDriver, key: str, option: str) -> None:
    """Pick an option of a field that opens a dialog."""
    await reveal(ui, key)
    await ui.tap(resource_id=key)
    await find(ui, option)
    await ui.tap(option, index=-1)


async def search(ui: UiDriver, text: str) -> None:
    """Search a list of the kit for a text; a search that is open already is emptied first."""
    if not ui.find(resource_id="search_src_text"):
        await ui.tap("Search")
        await ui.type(text)
    else:
        if ui.find(resource_id="search_clear"):
            await ui.tap(resource_id="search_clear")
        await ui.type(text, into="search_src_text")


async def rows(ui: UiDriver, *wanted: str, resource_id: str = "item") -> list[UiNode]:
    """Return the rows in view whose texts hold all that is wanted; scroll down until there is one."""
    for _ in range(MAX_LOOKS):
        found = [
            node
            for node in ui.find(resource_id=resource_id)
            if all(any(text in shown for shown in texts_of(node)) for text in wanted)
        ]
        if found:
            return found
        before = ui.observation.tree_xml
        await ui.swipe("up")
        if ui.observation.tree_xml == before:
            break
    raise OracleStuck(f"no row with {', '.join(wanted)}")


async def tap_row(ui: UiDriver, *wanted: str, index: int = 0, resource_id: str = "item") -> None:
    found = await rows(ui, *wanted, resource_id=resource_id)
    if index >= len(found):
        raise OracleStuck(f"only {len(found)} rows with {', '.join(wanted)}")
    await ui.tap_at(*found[index].bounds.center)


async def delete_shown(ui: UiDriver) -> None:
    """Delete what the page is about."""
    await ui.tap("Delete")
    await ui.tap("Delete", index=-1)


async def pick_time(ui: UiDriver, hour: int, minute: int) -> None:
    await ui.tap(resource_id=f"hour_{hour}")
    await ui.tap(resource_id=f"minute_{minute}")
    await ui.tap("OK")


async def nothing(ui: UiDriver, params: Params) -> None:
    """Everything is as it should be."""


def joined(expected: Sequence[str]) -> str:
    return ", ".join(expected)
