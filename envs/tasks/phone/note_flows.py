"""How the oracles get about in Notes (Markor)."""

from __future__ import annotations

from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone.flows import back_until, find, find_and_tap, titles

NOTES = "net.gsantner.markor"
LIST_ITEM = "opoc_filesystem_item"
EDITOR = "document__fragment__edit__highlighting_editor"


async def create(hand: Hand, name: str, text: str) -> None:
    await open_list(hand)
    await hand.tap("Create a new file or folder")
    await hand.type(name, into="new_file_dialog__name")
    await hand.tap("OK")
    await hand.type(text, into=EDITOR)
    await hand.tap("Save")


async def create_folder(hand: Hand, name: str) -> None:
    await open_list(hand)
    await hand.tap("Create a new file or folder")
    await hand.type(name, into="new_file_dialog__name")
    await hand.tap("Folder")


async def delete(hand: Hand, name: str) -> None:
    await select(hand, name)
    await hand.tap("Delete")
    await hand.tap("OK")


async def rename(hand: Hand, name: str, new: str) -> None:
    await select(hand, name)
    await hand.tap("Rename")
    await hand.type(new, into="rename_edit", clear=True)
    await hand.tap("OK")


async def move(hand: Hand, name: str, folder: str) -> None:
    """Move a note into a folder beside it."""
    await select(hand, name)
    await hand.tap("Move")
    await find_and_tap(hand, folder)
    await hand.tap("Here")


async def rewrite(hand: Hand, name: str, text: str) -> None:
    """Replace the whole text of a note."""
    await open_note(hand, name)
    await hand.type(text, into=EDITOR, clear=True)
    await hand.tap("Save")


async def read(hand: Hand, name: str) -> str:
    """Open a note and return its text."""
    await open_note(hand, name)
    return hand.find(resource_id=EDITOR)[0].text.strip()


async def listed(hand: Hand) -> list[str]:
    """Return the names of the notes and folders in view."""
    await open_list(hand)
    return titles(hand, LIST_ITEM)


async def open_list(hand: Hand) -> None:
    """Open Notes at the notebook, leaving whatever page it was left on."""
    await hand.open(NOTES)
    await back_until(hand, "Markor")


async def open_note(hand: Hand, name: str) -> None:
    await open_list(hand)
    await find_and_tap(hand, name)


async def select(hand: Hand, name: str) -> None:
    await open_list(hand)
    await find(hand, name)
    await hand.long_press(name)
