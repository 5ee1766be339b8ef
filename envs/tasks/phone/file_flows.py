"""How the oracles get about in Files."""

from __future__ import annotations

from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone.flows import find, find_and_tap

FILES = "com.google.android.documentsui"


async def open_folder(hand: Hand, name: str) -> None:
    """Open Files at a folder of the shared storage."""
    await hand.open("Files")
    if len(hand.find(resource_id="breadcrumb_text")) > 1:
        await hand.tap(resource_id="breadcrumb_text")
    await find_and_tap(hand, name)


async def delete(hand: Hand, name: str) -> None:
    await select(hand, name)
    await hand.tap("Delete")
    await hand.tap("OK")


async def rename(hand: Hand, name: str, new: str) -> None:
    await select(hand, name)
    await hand.tap("More options")
    await hand.tap("Rename")
    await hand.type(new, into="name_edit", clear=True)
    await hand.tap("OK")


async def transfer(hand: Hand, name: str, how: str, place: str) -> None:
    """Copy or move a file ("Copy to…", "Move to…") to a folder of the shared storage."""
    await select(hand, name)
    await hand.tap("More options")
    await hand.tap(how)
    await find_and_tap(hand, place)
    await hand.tap(resource_id="pick")


async def create_folder(hand: Hand, name: str) -> None:
    """Make a folder in the one that is open."""
    await hand.tap("More options")
    await hand.tap("New folder")
    await hand.type(name, into="name_edit")
    await hand.tap("OK")


async def listed(hand: Hand) -> list[str]:
    """Return the names of the files in view."""
    return [node.text for node in hand.find(resource_id="title")]


async def select(hand: Hand, name: str) -> None:
    await find(hand, name)
    await hand.long_press(name)
