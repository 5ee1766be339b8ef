"""How the oracles get about in Contacts."""

from __future__ import annotations

from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone.flows import back_until, find_and_tap, titles
from rlfactory.envs.tasks.phone.pools import Person

CONTACTS = "com.google.android.contacts"


async def add(hand: Hand, person: Person) -> None:
    await open_list(hand)
    await hand.tap("Create contact")
    await _fill_in(hand, first_name=person.first, last_name=person.last, phone=person.number)


async def change(hand: Hand, person: Person, changed: Person) -> None:
    """Edit a contact until it reads as `changed`."""
    await open_contact(hand, person)
    await hand.tap("Edit contact")
    fields = {
        "first_name": (person.first, changed.first),
        "last_name": (person.last, changed.last),
        "phone": (person.number, changed.number),
    }
    await _fill_in(hand, **{field: after for field, (before, after) in fields.items() if before != after})


async def delete(hand: Hand, person: Person) -> None:
    await open_contact(hand, person)
    await hand.tap("More options")
    await hand.tap("Delete")
    await hand.tap("Delete")


async def read_number(hand: Hand, person: Person) -> str:
    """Open a contact and return the number that its page shows."""
    await open_contact(hand, person)
    return titles(hand, "phone_row")[0]


async def name_of(hand: Hand, number: str) -> str:
    """Search for a number and return whose it is."""
    await open_list(hand)
    await hand.tap("Search contacts")
    await hand.type(number)
    return hand.find(resource_id="cliv_name_textview")[0].text


async def open_list(hand: Hand) -> None:
    """Open Contacts at its list, leaving whatever page it was left on."""
    await hand.open("Contacts")
    await back_until(hand, "Search contacts")


async def open_contact(hand: Hand, person: Person) -> None:
    await open_list(hand)
    await find_and_tap(hand, person.full_name)


async def _fill_in(hand: Hand, **values: str) -> None:
    for field, value in values.items():
        await hand.type(value, into=field, clear=True)
    await hand.tap("Save")
