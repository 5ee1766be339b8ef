"""Contacts: the page of one person."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import ClassVar

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
from rlfactory.emulators.simulator.apps.contacts.edit import ContactEditor, person_uri
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.rows import empty_state
from rlfactory.emulators.simulator.view.widgets import (
    Action,
    AppBar,
    Avatar,
    Callback,
    Column,
    Dialog,
    Icon,
    IconButton,
    ListItem,
    Menu,
    Row,
    Scaffold,
    Scroll,
    Spacer,
    Text,
    Widget,
)

_AVATAR_COLORS = ("#1A73E8", "#D93025", "#188038", "#E8710A", "#9334E6", "#E52592", "#12858D", "#5F6368")


def avatar(contact: Contact, size: float = 40) -> Avatar:
    """Return a person's disc: the initial on a colour that belongs to the name."""
    name = contact.display_name
    color = _AVATAR_COLORS[zlib.crc32(name.encode()) % len(_AVATAR_COLORS)]
    if name[:1].isalpha():
        return Avatar(letter=name[0].upper(), color=color, size=size)
    return Avatar(icon="account", color=color, size=size)


@dataclass(kw_only=True)
class QuickContact(Activity):
    """One person's page; the intent's data is `content://com.android.contacts/contacts/ID`."""

    name: ClassVar[str] = "com.android.contacts.quickcontact.QuickContactActivity"
    menu_open: bool = False
    deleting: bool = False

    def contact(self, system: System) -> Contact | None:
        tail = self.intent.data.rstrip("/").rpartition("/")[2]
        return find_contact(system, int(tail)) if tail.isdecimal() else None

    def build(self, system: System) -> Widget:
        contact = self.contact(system)
        if contact is None:
            return Scaffold(
                app_bar=AppBar(on_back=system.back), body=empty_state("account-off-outline", "Contact not found")
            )
        return Scaffold(
            app_bar=self._bar(system, contact),
            body=Scroll(
                key="contact_page",
                children=(_head(contact), _actions(system, contact), _info_card(system, contact), Spacer(height=24)),
                height="fill",
            ),
        )

    def _bar(self, system: System, contact: Contact) -> Widget:
        star = "Remove from favorites" if contact.starred else "Add to favorites"
        return AppBar(
            on_back=system.back,
            actions=(
                IconButton(
                    key="menu_edit",
                    icon="pencil-outline",
                    description="Edit contact",
                    on_tap=lambda: system.start(
                        ContactEditor, Intent(action="android.intent.action.EDIT", data=person_uri(contact.id))
                    ),
                ),
                IconButton(
                    key="menu_star",
                    icon="star" if contact.starred else "star-outline",
                    description=star,
                    on_tap=lambda: set_starred(system, contact.id, not contact.starred),
                ),
                IconButton(key="menu_more", icon="dots-vertical", description="More options", on_tap=self._open_menu),
            ),
        )

    def dialog(self, system: System) -> Dialog | Menu | None:
        if self.deleting:
            return confirm_dialog(
                "Delete contact?",
                "This contact will be permanently deleted from your device",
                yes="Delete",
                on_yes=lambda: self._delete(system),
                on_no=self._close,
            )
        if self.menu_open:
            return Menu(
                items=(Action(text="Delete", icon="delete-outline", on_tap=self._ask_delete),), on_dismiss=self._close
            )
        return None

    def _open_menu(self) -> None:
        self.menu_open = True

    def _ask_delete(self) -> None:
        self.menu_open, self.deleting = False, True

    def _close(self) -> None:
        self.menu_open = self.deleting = False

    def _delete(self, system: System) -> None:
        self._close()
        contact = self.contact(system)
        if contact is not None:
            delete_contact(system, contact.id)
            system.toast(f"{contact.display_name or 'Contact'} deleted")
        system.back()


def _send(system: System, action: str, uri: str) -> Callback:
    def send() -> None:
        if not system.send(Intent(action=action, data=uri)):
            system.toast("No app can perform this action")

    return send


def _head(contact: Contact) -> Widget:
    name = contact.display_name or "(No name)"
    return Column(
        children=(
            avatar(contact, 128),
            Text(key="large_title", text=name, style="headline_medium", text_align="center"),
            *((Text(text=contact.company, color="on_surface_variant"),) if contact.company else ()),
        ),
        gap=12,
        align="center",
        width="fill",
        padding=(24, 8, 24, 16),
    )


def _actions(system: System, contact: Contact) -> Widget:
    number = contact.phones[0].value if contact.phones else ""
    address = contact.emails[0].value if contact.emails else ""

    def action(key: str, icon: str, text: str, intent: str, uri: str, *, enabled: bool) -> Widget:
        color = "on_secondary_container" if enabled else "outline"
        disc = Column(
            children=(Icon(icon=icon, color=color),),
            align="center",
            justify="center",
            width=56,
            height=56,
            radius=28,
            background="secondary_container" if enabled else "surface_container",
        )
        return Column(
            key=key,
            children=(disc, Text(text=text, style="label_large", color="on_surface" if enabled else "outline")),
            gap=8,
            align="center",
            weight=1,
            enabled=enabled,
            on_tap=_send(system, intent, uri) if enabled else None,
        )

    return Row(
        children=(
            action("call", "phone", "Call", "android.intent.action.DIAL", f"tel:{number}", enabled=bool(number)),
            action(
                "text", "message-text", "Text", "android.intent.action.SENDTO", f"sms:{number}", enabled=bool(number)
            ),
            action(
                "email", "email", "Email", "android.intent.action.SENDTO", f"mailto:{address}", enabled=bool(address)
            ),
        ),
        width="fill",
        padding=(24, 8, 24, 24),
    )


def _info_card(system: System, contact: Contact) -> Widget:
    rows: list[Widget] = [
        ListItem(
            key="phone_row",
            title=phone.value,
            subtitle=PHONE_TYPES.get(phone.type, "Other"),
            leading=Icon(icon="phone-outline"),
            on_tap=_send(system, "android.intent.action.DIAL", f"tel:{phone.value}"),
        )
        for phone in contact.phones
    ]
    rows.extend(
        ListItem(
            key="email_row",
            title=email.value,
            subtitle=EMAIL_TYPES.get(email.type, "Other"),
            leading=Icon(icon="email-outline"),
            on_tap=_send(system, "android.intent.action.SENDTO", f"mailto:{email.value}"),
        )
        for email in contact.emails
    )
    if not rows:
        rows.append(ListItem(title="No contact info"))
    card = Column(
        children=(Text(text="Contact info", style="title_medium", padding=(16, 16, 16, 4)), *rows),
        background="surface_container",
        radius=20,
        padding=(0, 0, 0, 8),
    )
    return Column(children=(card,), padding=(16, 0, 16, 0))
