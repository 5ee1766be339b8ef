"""How the oracles get about in Notes (Markor)."""

from __future__ import annotations

from rlfactory.envs.tasks.phone.flows.common import back_until, find, find_and_tap, titles
from rlfactory.envs.tasks.ui_driver import UiDriver

NOTES = "net.gsantner.markor"
LIST_ITEM = "opoc_filesystem_item"
EDITOR = "document__fragment__edit__highlighting_editor"


async def create(ui: UiDriver, name: str, text: str) -> None:
    await open_list(ui)
    await ui.tap("Create a new file or folder")
    await ui.type(name, into="new_file_dialog__name")
    await ui.tap("OK")
    await ui.type(text, into=EDITOR)
    await ui.tap("Save")


async def create_folder(ui: UiDriver, name: str) -> None:
    await open_list(ui)
    await ui.tap("Create a new file or folder")
    await ui.type(name, into="new_file_dialog__name")
    await ui.tap("Folder")


async def delete(ui: UiDriver, name: str) -> None:
    await select(ui, name)
    await ui.tap("Delete")
    await ui.tap("OK")


async def rename(ui: UiDriver, name: str, new: str) -> None:
    await select(ui, name)
    await ui.tap("Rename")
    await ui.type(new, into="rename_edit", clear=True)
    await ui.tap("OK")


async def move(ui: UiDriver, name: str, folder: str) -> None:
    """Move a note into a folder beside it."""
    await select(ui, name)
    await ui.tap("Move")
    await find_and_tap(ui, folder)
    await ui.tap("Here")


async def rewrite(ui: UiDriver, name: str, text: str) -> None:
    """Replace the whole text of a note."""
    await open_note(ui, name)
    await ui.type(text, into=EDITOR, clear=True)
    await ui.tap("Save")


async def read(ui: UiDriver, name: str) -> str:
    """Open a note and return its text."""
    await open_note(ui, name)
    return ui.find(resource_id=EDITOR)[0].text.strip()


async def listed(ui: UiDriver) -> list[str]:
    """Return the names of the notes and folders in view."""
    await open_list(ui)
    return titles(ui, LIST_ITEM)


async def open_list(ui: UiDriver) -> None:
    """Open Notes at the notebook, leaving whatever page it was left on."""
    await ui.open(NOTES)
    await back_until(ui, "Markor")


async def open_note(ui: UiDriver, name: str) -> None:
    await open_list(ui)
    await find_and_tap(ui, name)


async def select(ui: UiDriver, name: str) -> None:
    await open_list(ui)
    await find(ui, name)
    await ui.long_press(name)
