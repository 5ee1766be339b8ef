"""Contacts: the list, a person's page, the form, and the provider that adb reads."""

from __future__ import annotations

import sqlite3

import pytest

from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.android.content import Selection, UnsupportedUriError
from rlfactory.emulators.simulator.apps.contacts.data import (
    DATABASE,
    Contact,
    Labeled,
    all_contacts,
    save_contact,
    split_name,
)
from rlfactory.emulators.simulator.apps.contacts.provider import ContactsProvider, LegacyContactsProvider
from rlfactory.emulators.simulator.phone import Phone
from tests.emulators.simulator.conftest import Finger

PACKAGE = "com.google.android.contacts"


def names(phone: Phone) -> list[str]:
    return [contact.display_name for contact in all_contacts(phone.system)]


def phones(phone: Phone) -> dict[str, str]:
    """Return display name -> number, as `content query --uri content://contacts/phones/` has them."""
    rows = LegacyContactsProvider().query(phone.system, "phones", ("display_name", "number"), Selection())
    return {str(row["display_name"]): str(row["number"]) for row in rows}


def test_a_contact_is_created_with_the_form(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Create contact")
    finger.fill(first_name="Hugo", last_name="Larsen", phone="+1 212-555-0101")
    finger.tap("Mobile Phone", "Work", "Save")
    assert finger.sees("Hugo Larsen")
    assert phones(phone)["Hugo Larsen"] == "+1 212-555-0101"
    saved = next(contact for contact in all_contacts(phone.system) if contact.given == "Hugo")
    assert saved.phones == (Labeled(value="+1 212-555-0101", type=3),)
    phone.key("BACK")
    assert finger.sees("Search contacts")


def test_the_form_keeps_its_hints_and_shows_the_label_of_a_draft(phone: Phone, finger: Finger) -> None:
    """AndroidWorld judges an unsaved form by these."""
    finger.open(PACKAGE, "Create contact")
    finger.fill(first_name="Ann", last_name="Lee", phone="4155550100")
    finger.tap("Mobile Phone", "Home")
    found = {(node.text, node.hint) for node in phone.ui_tree().walk() if node.hint}
    assert {("Ann", "First name"), ("Lee", "Last name"), ("4155550100", "Phone")} <= found
    label = finger.node("Home Phone")
    assert (label.text, label.description) == ("Home", "Home Phone")
    assert "Ann Lee" not in names(phone)


def test_an_insert_intent_fills_the_form(phone: Phone, finger: Finger) -> None:
    intent = Intent(
        action="android.intent.action.INSERT",
        mime_type="vnd.android.cursor.dir/contact",
        extras={"name": "Maria del Mar Ruiz", "phone": "+14155550123"},
    )
    assert phone.system.send(intent)
    assert finger.node(key="first_name").text == "Maria del Mar"
    finger.tap("Save")
    assert phones(phone)["Maria del Mar Ruiz"] == "+14155550123"


def test_a_contact_is_changed(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Ben Carter", "Edit contact")
    finger.tap(key="phone")
    finger.replace("917-555-0000")
    finger.tap("Save")
    assert finger.sees("917-555-0000")
    assert phones(phone)["Ben Carter"] == "917-555-0000"
    assert len(all_contacts(phone.system)) == 8


def test_leaving_a_changed_form_asks_first(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Create contact")
    finger.fill(first_name="Nobody")
    phone.key("BACK")  # closes the keyboard
    phone.key("BACK")
    finger.tap("Keep editing", "Close", "Discard")
    assert finger.sees("Search contacts")
    assert "Nobody" not in names(phone)


def test_an_empty_form_saves_nothing(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Create contact", "Save")
    assert finger.sees("Search contacts")
    assert len(all_contacts(phone.system)) == 8


def test_numbers_are_added_and_taken_out(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Priya Raman", "Edit contact", "Add phone")
    finger.fill(phone_2="5105550111")
    phone.key("BACK")
    finger.tap("Delete Phone", "Save")
    saved = next(contact for contact in all_contacts(phone.system) if contact.given == "Priya")
    assert [number.value for number in saved.phones] == ["5105550111"]


def test_a_contact_is_deleted_after_a_question(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Alice Moreno", "More options", "Delete", "Cancel")
    assert "Alice Moreno" in names(phone)
    finger.tap("More options", "Delete", "Delete")
    assert "Alice Moreno" not in names(phone)
    assert not finger.sees("Alice Moreno")


def test_a_favorite_is_among_the_highlights(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Emma Lindqvist", "Add to favorites")
    phone.key("BACK")
    finger.tap("Highlights")
    assert finger.sees("Emma Lindqvist")
    assert not finger.sees("Mom")


@pytest.mark.parametrize(
    ("query", "found"), [("lomb", "Chiara Lombardi"), ("0190", "Daniel Okoye"), ("harbor", "Daniel Okoye")]
)
def test_the_search_finds_by_name_number_and_company(phone: Phone, finger: Finger, query: str, found: str) -> None:
    finger.open(PACKAGE, "Search contacts")
    phone.type_text(query)
    assert finger.texts("cliv_name_textview") == [found]


def test_calls_are_made_by_the_phone_app(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Mom", "Call")
    assert phone.foreground.startswith("com.google.android.dialer/")


def test_the_first_run_asks_its_questions(phone: Phone, finger: Finger) -> None:
    phone.system.clear_data(PACKAGE)
    assert phone.system.send(Intent(action="android.intent.action.VIEW", data="content://contacts/people/"))
    finger.tap("Skip", "Don\u2019t allow")
    assert finger.sees("Search contacts")
    assert len(all_contacts(phone.system)) == 8, "contacts belong to the provider"


def test_clearing_the_provider_empties_contacts(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE)
    phone.system.clear_data("com.android.providers.contacts")
    assert finger.sees("No contacts")
    assert phones(phone) == {}


def test_contacts_come_and_go_through_the_provider(phone: Phone, finger: Finger) -> None:
    system, provider = phone.system, ContactsProvider()
    raw = provider.insert(system, "raw_contacts", {"account_type": None, "account_name": None})
    for mimetype, value in (("name", "Otto Berg"), ("phone_v2", "303-555-0188")):
        row = {"raw_contact_id": raw, "mimetype": f"vnd.android.cursor.item/{mimetype}", "data1": value}
        provider.insert(system, "data", row)
    assert phones(phone)["Otto Berg"] == "303-555-0188"
    finger.open(PACKAGE)
    finger.scroll_to("Otto Berg")
    stored = next(contact for contact in all_contacts(system) if contact.id == raw)
    assert (stored.given, stored.family) == ("Otto", "Berg")
    chosen = Selection(where="data1 = ?", arguments=("303-555-0188",))
    assert provider.update(system, "data", {"data1": "1"}, chosen) == 1
    assert phones(phone)["Otto Berg"] == "1"
    assert provider.delete(system, f"raw_contacts/{raw}", Selection()) == 1
    assert "Otto Berg" not in phones(phone)
    assert provider.delete(system, "contacts", Selection()) == 8
    assert names(phone) == []


def test_the_provider_refuses_what_it_does_not_know(phone: Phone) -> None:
    provider = ContactsProvider()
    with pytest.raises(UnsupportedUriError):
        provider.query(phone.system, "nonsense", (), Selection())
    with pytest.raises(UnsupportedUriError):
        provider.insert(phone.system, "data", {"raw_contact_id": 9999, "mimetype": "vnd.android.cursor.item/name"})
    with pytest.raises(sqlite3.Error):
        provider.query(phone.system, "raw_contacts", ("no_such_column",), Selection())
    with pytest.raises(sqlite3.Error):
        provider.query(phone.system, "raw_contacts", ("_id] FROM data --",), Selection())


def test_a_row_edited_behind_the_apps_back_is_shown(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE)
    with phone.system.database(DATABASE) as db:
        db.execute("UPDATE raw_contacts SET display_name = 'Grandma' WHERE display_name = 'Mom'")
    phone.system.force_stop(PACKAGE)
    finger.open(PACKAGE)
    assert finger.sees("Grandma")


def test_a_lost_database_is_made_again(phone: Phone, finger: Finger) -> None:
    phone.system.files.remove(DATABASE)
    finger.open(PACKAGE)
    assert finger.sees("No contacts")
    save_contact(phone.system, Contact(given="Ida", phones=(Labeled(value="1", type=2),)))
    assert phones(phone) == {"Ida": "1"}


def test_a_snapshot_keeps_a_half_filled_form(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Create contact")
    finger.fill(first_name="Kim")
    picture, saved = phone.rgb().copy(), phone.snapshot()
    finger.tap("Save")
    phone.restore(saved)
    assert (phone.rgb() == picture).all()
    phone.type_text("my")
    finger.tap("Save")
    assert "Kimmy" in names(phone)
    phone.restore(saved)
    assert finger.node(key="first_name").text == "Kim"


def test_names_are_split_at_the_last_word() -> None:
    assert split_name("Ada Lovelace") == ("Ada", "Lovelace")
    assert split_name(" Mary Ann Evans ") == ("Mary Ann", "Evans")
    assert split_name("Mom") == ("Mom", "")
