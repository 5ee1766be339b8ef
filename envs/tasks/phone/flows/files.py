"""How the oracles get about in Files."""

from __future__ import annotations

from rlfactory.envs.tasks.phone.flows.common import find, find_and_tap
from rlfactory.envs.tasks.ui_driver import UiDriver

FILES = "com.google.android.documentsui"


async def open_folder(ui: UiDriver, name: str) -> None:
    """Open Files at a folder of the shared storage."""
    await ui.open("Files")
    if len(ui.find(resource_id="breadcrumb_text")) > 1:
        await ui.tap(resource_id="breadcrumb_text")
    await find_and_tap(ui, name)


async def delete(ui: UiDriver, name: str) -> None:
    await select(ui, name)
    await ui.tap("Delete")
    await ui.tap("OK")


async def rename(ui: UiDriver, name: str, new: str) -> None:
    await select(ui, name)
    await ui.tap("More options")
    await ui.tap("Rename")
    await ui.type(new, into="name_edit", clear=True)
    await ui.tap("OK")


async def transfer(ui: UiDriver, name: str, how: str, place: str) -> None:
    """Copy or move a file ("Copy to…", "Move to…") to a folder of the shared storage."""
    await select(ui, name)
    await ui.tap("More options")
    await ui.tap(how)
    await find_and_tap(ui, place)
    await ui.tap(resource_id="pick")


async def create_folder(ui: UiDriver, name: str) -> None:
    """Make a folder in the one that is open."""
    await ui.tap("More options")
    await ui.tap("New folder")
    await ui.type(name, into="name_edit")
    await ui.tap("OK")


async def listed(ui: UiDriver) -> list[str]:
    """Return the names of the files in view."""
    return [node.text for node in ui.find(resource_id="title")]


async def select(ui: UiDriver, name: str) -> None:
    await find(ui, name)
    await ui.long_press(name)
