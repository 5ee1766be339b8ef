"""Contacts: the page of one person."""

from __future__ import annotations

import zlib
from functools import partial
from typing import Literal

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.contacts.data import (
    EMAIL_TYPES,
    PHONE_TYPES,
    Contact,
    delete_contact,
    find_contact,
    set_starred,
)
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, icon_box, more_button
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE = "com.google.android.contacts"
EDITOR = f"{PACKAGE}/com.android.contacts.activities.ContactEditorActivity"
_AVATAR_COLORS = ("#1A73E8", "#D93025", "#188038", "#E8710A", "#9334E6", "#E52592", "#12858D", "#5F6368")


def avatar(contact: Contact, size: float = 40) -> ui.Avatar:
    """Return a person's disc: the initial on a colour that belongs to the name."""
    name = contact.display_name
    color = _AVATAR_COLORS[zlib.crc32(name.encode()) % len(_AVATAR_COLORS)]
    if name[:1].isalpha():
        return ui.Avatar(letter=name[0].upper(), color=color, size=size)
    return ui.Avatar(icon="account", color=color, size=size)


def person_of(intent: Intent, system: System) -> Contact | None:
    """Return whom an intent is about; its data is `content://com.android.contacts/contacts/ID`."""
    tail = intent.data.rstrip("/").rpartition("/")[2]
    return find_contact(system, int(tail)) if tail.isdecimal() else None


def person_intent(action: str, contact_id: int) -> Intent:
    return Intent(action=action, data=f"content://com.android.contacts/contacts/{contact_id}")


def view_person(system: System, contact_id: int) -> None:
    """Open a person's page."""
    system.start(QuickContact, person_intent("android.intent.action.VIEW", contact_id))


class QuickContact(Activity):
    """The page of the person of the intent."""

    name = "com.android.contacts.quickcontact.QuickContactActivity"
    open: Literal["", "menu", "delete"] = ""

    def build(self, system: System) -> ui.Widget:
        contact = person_of(self.intent, system)
        if contact is None:
            missing = empty_state("account-off-outline", "Contact not found")
            return ui.Scaffold(app_bar=ui.AppBar(on_back=system.back), body=missing)
        edit = partial(system.start, EDITOR, person_intent("android.intent.action.EDIT", contact.id))
        star, text = ("star", "Remove from favorites") if contact.starred else ("star-outline", "Add to favorites")
        actions = (
            bar_button("menu_edit", "pencil-outline", "Edit contact", edit),
            bar_button("menu_star", star, text, partial(set_starred, system, contact.id, not contact.starred)),
            more_button("menu_more", setter(self, open="menu")),
        )
        parts = (_head(contact), _actions(system, contact), _info_card(system, contact), ui.Spacer(height=24))
        return ui.Scaffold(
            app_bar=ui.AppBar(on_back=system.back, actions=actions),
            body=ui.Scroll(key="contact_page", children=parts, height="fill"),
        )

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        close = setter(self, open="")
        if self.open == "delete":
            return confirm_dialog(
                "Delete contact?",
                "This contact will be permanently deleted from your device",
                yes="Delete",
                on_yes=lambda: self._delete(system),
                on_no=close,
            )
        if self.open == "menu":
            delete = ui.Action(text="Delete", icon="delete-outline", on_tap=setter(self, open="delete"))
            return ui.Menu(items=(delete,), on_dismiss=close)
        return None

    def _delete(self, system: System) -> None:
        self.open = ""
        contact = person_of(self.intent, system)
        if contact is not None:
            delete_contact(system, contact.id)
            system.toast(f"{contact.display_name or 'Contact'} deleted")
        system.back()


def _send(system: System, action: str, uri: str) -> None:
    if not system.send(Intent(action=f"android.intent.action.{action}", data=uri)):
        system.toast("No app can perform this action")


def _head(contact: Contact) -> ui.Widget:
    name = contact.display_name or "(No name)"
    return ui.Column(
        children=(
            avatar(contact, 128),
            ui.Text(key="large_title", text=name, style="headline_medium", text_align="center"),
            *((ui.Text(text=contact.company, color="on_surface_variant"),) if contact.company else ()),
        ),
        gap=12,
        align="center",
        width="fill",
        padding=(24, 8, 24, 16),
    )


def _actions(system: System, contact: Contact) -> ui.Widget:
    number = contact.phones[0].value if contact.phones else ""
    address = contact.emails[0].value if contact.emails else ""

    def action(key: str, icon: str, verb: str, scheme: str, target: str) -> ui.Widget:
        color, background, label = ("outline", "surface_container", "outline")
        if target:
            color, background, label = ("on_secondary_container", "secondary_container", "on_surface")
        disc = icon_box(icon, 56, color=color, radius=28, background=background)
        return ui.Column(
            key=key,
            children=(disc, ui.Text(text=key.title(), style="label_large", color=label)),
            gap=8,
            align="center",
            weight=1,
            enabled=bool(target),
            on_tap=partial(_send, system, verb, f"{scheme}:{target}") if target else None,
        )

    children = (
        action("call", "phone", "DIAL", "tel", number),
        action("text", "message-text", "SENDTO", "sms", number),
        action("email", "email", "SENDTO", "mailto", address),
    )
    return ui.Row(children=children, width="fill", padding=(24, 8, 24, 24))


def _info_card(system: System, contact: Contact) -> ui.Widget:
    rows: list[ui.Widget] = [
        ui.ListItem(
            key=f"{kind}_row",
            title=entry.value,
            subtitle=labels.get(entry.type, "Other"),
            leading=ui.Icon(icon=f"{kind}-outline"),
            on_tap=partial(_send, system, verb, f"{scheme}:{entry.value}"),
        )
        for kind, entries, labels, verb, scheme in (
            ("phone", contact.phones, PHONE_TYPES, "DIAL", "tel"),
            ("email", contact.emails, EMAIL_TYPES, "SENDTO", "mailto"),
        )
        for entry in entries
    ]
    if not rows:
        rows.append(ui.ListItem(title="No contact info"))
    card = ui.Column(
        children=(ui.Text(text="Contact info", style="title_medium", padding=(16, 16, 16, 4)), *rows),
        background="surface_container",
        radius=20,
        padding=(0, 0, 0, 8),
    )
    return ui.Column(children=(card,), padding=(16, 0, 16, 0))
