"""Contacts: the form that creates or changes a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.contacts.data import (
    EMAIL_TYPES,
    HOME,
    MOBILE,
    PHONE_TYPES,
    Contact,
    Labeled,
    find_contact,
    save_contact,
    split_name,
)
from rlfactory.emulators.simulator.apps.kit.dialogs import choice_dialog
from rlfactory.emulators.simulator.view.widgets import (
    Action,
    AppBar,
    Button,
    Callback,
    Column,
    Dialog,
    Icon,
    IconButton,
    Row,
    Scaffold,
    Scroll,
    Spacer,
    Text,
    TextField,
    Widget,
)


def person_uri(contact_id: int) -> str:
    return f"content://com.android.contacts/contacts/{contact_id}"


@dataclass(kw_only=True)
class Entry:
    """A number or address being edited."""

    value: str
    type: int


@dataclass(kw_only=True)
class Draft:
    """The form's content."""

    given: str = ""
    family: str = ""
    company: str = ""
    phones: list[Entry] = field(default_factory=lambda: [Entry(value="", type=MOBILE)])
    emails: list[Entry] = field(default_factory=lambda: [Entry(value="", type=HOME)])

    @classmethod
    def of(cls, contact: Contact) -> Draft:
        draft = cls(given=contact.given, family=contact.family, company=contact.company)
        if contact.phones:
            draft.phones = [Entry(value=phone.value, type=phone.type) for phone in contact.phones]
        if contact.emails:
            draft.emails = [Entry(value=email.value, type=email.type) for email in contact.emails]
        return draft

    @classmethod
    def from_extras(cls, intent: Intent) -> Draft:
        """Return what an INSERT intent brings along: extras name, phone, email, company."""
        extras = {key: str(value).strip() for key, value in intent.extras.items()}
        given, family = split_name(extras.get("name", ""))
        draft = cls(given=given, family=family, company=extras.get("company", ""))
        draft.phones[0].value = extras.get("phone", "")
        draft.emails[0].value = extras.get("email", "")
        return draft

    def contact(self, base: Contact) -> Contact:
        """Return the contact that the form describes, over what it does not show of `base`."""
        return Contact(
            id=base.id,
            starred=base.starred,
            given=self.given.strip(),
            family=self.family.strip(),
            company=self.company.strip(),
            phones=_filled(self.phones),
            emails=_filled(self.emails),
        )


def _filled(entries: list[Entry]) -> tuple[Labeled, ...]:
    return tuple(Labeled(value=entry.value.strip(), type=entry.type) for entry in entries if entry.value.strip())


@dataclass(kw_only=True)
class ContactEditor(Activity):
    """Creates a person (INSERT, with extras) or changes one (EDIT, data `.../contacts/ID`)."""

    name: ClassVar[str] = "com.android.contacts.activities.ContactEditorActivity"
    draft: Draft = field(default_factory=Draft)
    original: Draft = field(default_factory=Draft)
    labeling: str = ""
    """Which entry's label is being chosen: "phone 0", "email 1"."""
    leaving: bool = False

    def on_create(self, system: System) -> None:
        base = self._base(system)
        self.draft = Draft.of(base) if base.id else Draft.from_extras(self.intent)
        self.original = Draft.of(base) if base.id else Draft()

    def _base(self, system: System) -> Contact:
        tail = self.intent.data.rstrip("/").rpartition("/")[2]
        found = find_contact(system, int(tail)) if tail.isdecimal() else None
        return found or Contact()

    def build(self, system: System) -> Widget:
        editing = self.intent.action == "android.intent.action.EDIT"
        bar = AppBar(
            title="Edit contact" if editing else "Create contact",
            on_back=lambda: self._leave(system),
            navigation_icon="close",
            actions=(
                Button(key="editor_menu_save_button", text="Save", kind="filled", on_tap=lambda: self._save(system)),
            ),
        )
        photo = Column(
            children=(
                Column(
                    children=(Icon(icon="account-outline", size=44, color="on_primary_container"),),
                    align="center",
                    justify="center",
                    width=88,
                    height=88,
                    radius=44,
                    background="primary_container",
                ),
            ),
            align="center",
            width="fill",
            padding=(0, 8, 0, 16),
        )
        draft = self.draft
        phones = [self._entry("phone", index, "Phone", entry) for index, entry in enumerate(draft.phones)]
        emails = [self._entry("email", index, "Email", entry) for index, entry in enumerate(draft.emails)]
        fields: tuple[Widget, ...] = (
            _field("first_name", "First name", draft.given, _setter(draft, "given"), icon="account-outline"),
            _field("last_name", "Last name", draft.family, _setter(draft, "family")),
            _field("company", "Company", draft.company, _setter(draft, "company"), icon="domain"),
            *phones,
            _add_button("add_phone", "Add phone", lambda: draft.phones.append(Entry(value="", type=MOBILE))),
            *emails,
            _add_button("add_email", "Add email", lambda: draft.emails.append(Entry(value="", type=HOME))),
        )
        return Scaffold(
            app_bar=bar,
            body=Scroll(key="contact_editor", children=(photo, *fields, Spacer(height=32)), gap=8, height="fill"),
        )

    def _entry(self, kind: str, index: int, title: str, entry: Entry) -> Widget:
        """Return a number or address with its label below and a button to take it out."""
        labels = PHONE_TYPES if kind == "phone" else EMAIL_TYPES
        entries = self.draft.phones if kind == "phone" else self.draft.emails
        suffix = f"_{index + 1}" if index else ""
        label = labels.get(entry.type, "Other")
        icon = {"phone": "phone-outline", "email": "email-outline"}[kind] if index == 0 else ""

        def write(text: str) -> None:
            entry.value = text

        def choose_label() -> None:
            self.labeling = f"{kind} {index}"

        chooser = Button(
            key=f"{kind}_label{suffix}",
            text=label,
            description=f"{label} {title}",
            kind="outlined",
            icon="chevron-down",
            on_tap=choose_label,
        )
        clear = IconButton(
            key=f"{kind}_remove{suffix}",
            icon="close-circle-outline",
            description=f"Delete {title}",
            on_tap=lambda: _take_out(entries, index),
        )
        controls: tuple[Widget, ...] = (chooser, Spacer(weight=1))
        if len(entries) > 1 or entry.value:
            controls = (*controls, clear)
        return Column(
            children=(
                _field(f"{kind}{suffix}", title, entry.value, write, icon=icon, number=kind == "phone"),
                Row(children=controls, padding=(56, 0, 12, 0), width="fill", height=48),
            ),
            gap=4,
        )

    def dialog(self, system: System) -> Dialog | None:
        if self.labeling:
            kind, _, index = self.labeling.partition(" ")
            labels = PHONE_TYPES if kind == "phone" else EMAIL_TYPES
            entry = (self.draft.phones if kind == "phone" else self.draft.emails)[int(index)]
            options = [(str(number), label) for number, label in labels.items()]
            return choice_dialog(
                "Select label", options, str(entry.type), lambda value: self._label(entry, value), self._close
            )
        if self.leaving:
            return Dialog(
                title="Discard changes?",
                body=Text(text="Your changes have not been saved.", style="body_medium", color="on_surface_variant"),
                actions=(Action(text="Keep editing", on_tap=self._close), Action(text="Discard", on_tap=system.back)),
                on_dismiss=self._close,
            )
        return None

    def on_back(self, system: System) -> bool:
        if self.draft == self.original:
            return False
        self.leaving = True
        return True

    def _leave(self, system: System) -> None:
        if not self.on_back(system):
            system.back()

    def _label(self, entry: Entry, value: str) -> None:
        entry.type = int(value)
        self._close()

    def _close(self) -> None:
        self.labeling, self.leaving = "", False

    def _save(self, system: System) -> None:
        base = self._base(system)
        contact = self.draft.contact(base)
        if not (contact.full_name or contact.company or contact.phones or contact.emails):
            system.toast("Nothing to save. Contact discarded.")
            system.back()
            return
        saved = save_contact(system, contact)
        system.toast("Contact saved")
        system.back()
        if not base.id:
            system.start(
                f"{PACKAGE}/{PERSON_PAGE}", Intent(action="android.intent.action.VIEW", data=person_uri(saved))
            )


PACKAGE = "com.google.android.contacts"
PERSON_PAGE = "com.android.contacts.quickcontact.QuickContactActivity"


def _setter(draft: Draft, name: str) -> Callable[[str], None]:
    def write(text: str) -> None:
        setattr(draft, name, text)

    return write


def _take_out(entries: list[Entry], index: int) -> None:
    if len(entries) > 1:
        del entries[index]
    else:
        entries[index].value = ""


def _field(
    key: str, hint: str, value: str, write: Callable[[str], None], *, icon: str = "", number: bool = False
) -> Widget:
    """Return a text field in the form's column, its group's icon in the margin."""
    margin: Widget = Icon(icon=icon) if icon else Spacer(width=24)
    return Row(
        children=(margin, TextField(key=key, value=value, on_change=write, label=hint, number=number, weight=1)),
        gap=16,
        padding=(16, 0, 16, 0),
        width="fill",
    )


def _add_button(key: str, text: str, on_tap: Callback) -> Widget:
    return Row(
        children=(Button(key=key, text=text, kind="text", icon="plus", on_tap=on_tap), Spacer(weight=1)),
        padding=(44, 0, 16, 0),
        width="fill",
    )
