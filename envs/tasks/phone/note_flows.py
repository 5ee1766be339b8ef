"""How the oracles get about in Notes (Markor)."""

from __future__ import annotations

from envs.tasks.hand import Hand
from envs.tasks.phone.flows import find_and_tap

NOTES = "net.gsantner.markor"
EDITOR = "document__fragment__edit__highlighting_editor"


async def create(hand: Hand, name: str, text: str) -> None:
    await hand.open(NOTES)
    await hand.tap("Create a new file or folder")
    await hand.type(name, into="new_file_dialog__name", clear=True)
    await hand.tap("OK")
    await hand.type(text, into=EDITOR)
    await hand.key("BACK")


async def create_folder(hand: Hand, name: str) -> None:
    await hand.open(NOTES)
    await hand.tap("Create a new file or folder")
    await hand.type(name, into="new_file_dialog__name", clear=True)
    await hand.tap("Folder")


async def delete(hand: Hand, name: str) -> None:
    await select(hand, name)
    await hand.tap("Delete")
    await hand.tap("OK")


async def rename(hand: Hand, name: str, new: str) -> None:
    await select(hand, name)
    await hand.tap("Rename")
    await hand.type(new, clear=True)
    await hand.tap("OK")


async def move(hand: Hand, name: str, folder: str) -> None:
    await select(hand, name)
    await hand.tap("Move")
    await hand.tap(folder)
    await hand.tap("Here")


async def rewrite(hand: Hand, name: str, text: str) -> None:
    """Replace the whole text of a note."""
    await open_note(hand, name)
    await hand.type(text, into=EDITOR, clear=True)
    await hand.key("BACK")


async def read(hand: Hand, name: str) -> str:
    """Open a note and return its text."""
    await open_note(hand, name)
    return hand.find(resource_id=EDITOR)[0].text.strip()


async def open_note(hand: Hand, name: str) -> None:
    await hand.open(NOTES)
    await find_and_tap(hand, name)


async def select(hand: Hand, name: str) -> None:
    await hand.open(NOTES)
    await hand.scroll_to(name)
    await hand.long_press(name)
