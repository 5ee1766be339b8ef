"""Contacts: `com.google.android.contacts`, its list and its search."""

from __future__ import annotations

from functools import partial
from typing import Literal

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.contacts.data import Contact, all_contacts
from rlfactory.emulators.simulator.apps.contacts.edit import ContactEditor
from rlfactory.emulators.simulator.apps.contacts.person import PACKAGE, QuickContact, avatar, view_person
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import (
    centered_page,
    empty_state,
    search_bar_title,
    search_pill,
    section,
)
from rlfactory.emulators.simulator.view import widgets as ui

TABS = (ui.Tab(text="Contacts", icon="account"), ui.Tab(text="Highlights", icon="star-outline"))


def matches(contact: Contact, query: str) -> bool:
    """Tell whether a search finds this person, by name, company, number or address."""
    text = query.casefold().strip()
    digits = "".join(c for c in text if c.isdecimal())
    numbers = ["".join(c for c in phone.value if c.isdecimal()) for phone in contact.phones]
    texts = [contact.display_name, contact.company, *(email.value for email in contact.emails)]
    return any(text in item.casefold() for item in texts) or bool(
        digits and len(digits) == len([c for c in text if c not in " -+()"]) and any(digits in n for n in numbers)
    )


class PeopleActivity(Activity):
    """All contacts under their initials; a second tab has the favorites."""

    name = "com.android.contacts.activities.PeopleActivity"
    tab: int = 0
    searching: bool = False
    query: str = ""

    def build(self, system: System) -> ui.Widget:
        if _setup_stage(system) == "welcome":
            return _welcome(system)
        contacts = all_contacts(system)
        if self.searching:
            return self._search_page(system, contacts)
        search = setter(self, searching=True, query="")
        add = partial(system.start, ContactEditor, Intent(action="android.intent.action.INSERT"))
        return ui.Scaffold(
            app_bar=search_pill("open_search_bar", "Search contacts", search, padding=(16, 8, 16, 8)),
            body=self._everyone(system, contacts) if self.tab == 0 else self._favorites(system, contacts),
            bottom_bar=ui.TabBar(tabs=TABS, index=self.tab, on_select=writer(self, "tab"), place="bottom"),
            fab=ui.Fab(key="floating_action_button", icon="plus", description="Create contact", on_tap=add),
        )

    def _everyone(self, system: System, contacts: tuple[Contact, ...]) -> ui.Widget:
        if not contacts:
            return empty_state("account-multiple-outline", "No contacts", "Contacts you add will appear here")
        rows: list[ui.Widget] = []
        previous = ""
        for contact in contacts:
            initial = contact.display_name[:1].upper()
            letter = initial if initial.isalpha() else "#"
            rows.append(self._row(system, contact, letter if letter != previous else ""))
            previous = letter
        return ui.Scroll(key="contact_list", children=(*rows, ui.Spacer(height=88)), height="fill")

    def _row(self, system: System, contact: Contact, letter: str) -> ui.Widget:
        return ui.Row(
            key="contact",
            children=(
                ui.Column(children=(ui.Text(text=letter, style="title_medium", color="primary"),), width=24),
                avatar(contact),
                ui.Text(text=contact.display_name or "(No name)", key="cliv_name_textview", weight=1, max_lines=1),
            ),
            gap=16,
            padding=(16, 0, 16, 0),
            height=64,
            width="fill",
            on_tap=partial(view_person, system, contact.id),
        )

    def _favorites(self, system: System, contacts: tuple[Contact, ...]) -> ui.Widget:
        starred = [contact for contact in contacts if contact.starred]
        if not starred:
            return empty_state("star-outline", "No favorites yet", "Contacts that you star will appear here")
        rows = [self._row(system, contact, "") for contact in starred]
        return ui.Scroll(key="favorites_list", children=(section("Favorites"), *rows), height="fill")

    def _search_page(self, system: System, contacts: tuple[Contact, ...]) -> ui.Widget:
        found = [contact for contact in contacts if self.query.strip() and matches(contact, self.query)]
        rows = [self._row(system, contact, "") for contact in found]
        if self.query.strip() and not rows:
            rows = [empty_state("account-search-outline", "No contacts found")]
        return ui.Scaffold(
            app_bar=search_bar_title("Search contacts", self.query, writer(self, "query"), self._stop_search),
            body=ui.Scroll(key="search_results", children=tuple(rows), height="fill"),
        )

    def dialog(self, system: System) -> ui.Dialog | None:
        if _setup_stage(system) != "notifications":
            return None
        done = partial(_set_stage, system, "done")
        return ui.Dialog(
            icon="bell-outline",
            title="Allow Contacts to send you notifications?",
            actions=(ui.Action(text="Don\u2019t allow", on_tap=done), ui.Action(text="Allow", on_tap=done)),
        )

    def on_back(self, system: System) -> bool:
        was_searching = self.searching
        self._stop_search()
        return was_searching

    def _stop_search(self) -> None:
        self.searching, self.query = False, ""


# --- first run -------------------------------------------------------------------------------------------------------

Stage = Literal["welcome", "notifications", "done"]


def _setup_stage(system: System) -> str:
    return Preferences.of(system, PACKAGE).get("setup", "welcome")


def _set_stage(system: System, stage: Stage) -> None:
    Preferences.of(system, PACKAGE).put(setup=stage)


def _welcome(system: System) -> ui.Widget:
    texts = (
        ui.Text(text="Back up & organize your contacts with Google", style="headline_small", text_align="center"),
        ui.Text(
            text="Sign in to keep your contacts safe when you lose your phone.",
            color="on_surface_variant",
            text_align="center",
        ),
    )
    body = centered_page("account-multiple", "primary", 112, texts, gap=24, side=32)
    skip = ui.Button(key="skip", text="Skip", kind="text", on_tap=partial(_set_stage, system, "notifications"))
    buttons = ui.Row(children=(skip,), justify="end", width="fill", padding=(16, 8, 16, 16))
    return ui.Scaffold(body=body, bottom_bar=buttons)


class _Contacts(App):
    def furnish(self, system: System) -> None:
        _set_stage(system, "done")


CONTACTS = _Contacts(
    package=PACKAGE,
    label="Contacts",
    icon="account",
    color="#1A73E8",
    activities=(PeopleActivity, QuickContact, ContactEditor),
    version_name="4.8.17",
    version_code=4081700,
    uses_permissions=("READ_CONTACTS", "WRITE_CONTACTS", "CALL_PHONE", "POST_NOTIFICATIONS"),
    filters={
        "android.intent.action.VIEW content://contacts": PeopleActivity,
        "android.intent.action.VIEW content://com.android.contacts": QuickContact,
        "android.intent.action.VIEW vnd.android.cursor.dir/contact": PeopleActivity,
        "android.intent.action.INSERT vnd.android.cursor.dir/contact": ContactEditor,
        "android.intent.action.INSERT vnd.android.cursor.dir/raw_contact": ContactEditor,
        "android.intent.action.INSERT_OR_EDIT vnd.android.cursor.item/contact": ContactEditor,
        "android.intent.action.INSERT content://com.android.contacts": ContactEditor,
        "android.intent.action.EDIT content://com.android.contacts": ContactEditor,
    },
)
