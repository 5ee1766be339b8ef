"""How the oracles get about in Contacts."""

from __future__ import annotations

from rlfactory.envs.tasks.phone.flows.common import back_until, find_and_tap, titles
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.ui_driver import UiDriver

CONTACTS = "com.google.android.contacts"


async def add(ui: UiDriver, person: Person) -> None:
    await open_list(ui)
    await ui.tap("Create contact")
    await _fill_in(ui, first_name=person.first, last_name=person.last, phone=person.number)


async def change(ui: UiDriver, person: Person, changed: Person) -> None:
    """Edit a contact until it reads as `changed`."""
    await open_contact(ui, person)
    await ui.tap("Edit contact")
    fields = {
        "first_name": (person.first, changed.first),
        "last_name": (person.last, changed.last),
        "phone": (person.number, changed.number),
    }
    await _fill_in(ui, **{field: after for field, (before, after) in fields.items() if before != after})


async def delete(ui: UiDriver, person: Person) -> None:
    await open_contact(ui, person)
    await ui.tap("More options")
    await ui.tap("Delete")
    await ui.tap("Delete")


async def read_number(ui: UiDriver, person: Person) -> str:
    """Open a contact and return the number that its page shows."""
    await open_contact(ui, person)
    await ui.reach(resource_id="phone_row")
    return titles(ui, "phone_row")[0]


async def name_of(ui: UiDriver, number: str) -> str:
    """Search for a number and return whose it is."""
    await open_list(ui)
    await ui.tap("Search contacts")
    await ui.type(number)
    return (await ui.reach(resource_id="cliv_name_textview")).text


async def open_list(ui: UiDriver) -> None:
    """Open Contacts at its list, leaving whatever page it was left on."""
    await ui.open("Contacts")
    await back_until(ui, "Search contacts")


async def open_contact(ui: UiDriver, person: Person) -> None:
    await open_list(ui)
    await find_and_tap(ui, person.full_name)


async def _fill_in(ui: UiDriver, **values: str) -> None:
    for field, value in values.items():
        await ui.type(value, into=field, clear=True)
    await ui.tap("Save")
