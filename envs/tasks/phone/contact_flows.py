"""How the oracles get about in Contacts."""

from __future__ import annotations

from envs.tasks.hand import Hand
from envs.tasks.phone.flows import find_and_tap
from envs.tasks.phone.pools import Person

CONTACTS = "com.google.android.contacts"


async def add(hand: Hand, person: Person) -> None:
    await hand.open("Contacts")
    await hand.tap("Create contact")
    await _fill_in(hand, person)


async def change(hand: Hand, person: Person, changed: Person) -> None:
    """Edit a contact until it reads as `changed`."""
    await open_contact(hand, person)
    await hand.tap("Edit contact")
    await _fill_in(hand, changed)


async def delete(hand: Hand, person: Person) -> None:
    await open_contact(hand, person)
    await hand.tap("More options")
    await hand.tap("Delete")
    await hand.tap("Delete")


async def read_number(hand: Hand, person: Person) -> str:
    """Open a contact and return the number that its page shows."""
    await open_contact(hand, person)
    return hand.find(resource_id="phone_number")[0].text


async def open_contact(hand: Hand, person: Person) -> None:
    await hand.open("Contacts")
    await find_and_tap(hand, person.full_name)


async def _fill_in(hand: Hand, person: Person) -> None:
    await hand.type(person.first, into="first_name", clear=True)
    await hand.type(person.last, into="last_name", clear=True)
    await hand.type(person.number, into="phone", clear=True)
    await hand.tap("Save")
