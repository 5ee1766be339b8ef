"""Contacts: the form that creates or changes a person."""

from __future__ import annotations

from dataclasses import dataclass, field

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.contacts.data import (
    EMAIL_TYPES,
    HOME,
    MOBILE,
    PHONE_TYPES,
    Contact,
    Labeled,
    save_contact,
    split_name,
)
from rlfactory.emulators.simulator.apps.contacts.person import person_of, view_person
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import choice_dialog, confirm_dialog
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, icon_box
from rlfactory.emulators.simulator.view import widgets as ui

LABELS = {"phone": PHONE_TYPES, "email": EMAIL_TYPES}
DEFAULT_LABEL = {"phone": MOBILE, "email": HOME}


@dataclass(kw_only=True)
class Entry:
    """A number or address being edited."""

    value: str = ""
    type: int


@dataclass(kw_only=True)
class Draft:
    """The form's content."""

    given: str = ""
    family: str = ""
    company: str = ""
    phones: list[Entry] = field(default_factory=lambda: [Entry(type=MOBILE)])
    emails: list[Entry] = field(default_factory=lambda: [Entry(type=HOME)])

    def entries(self, kind: str) -> list[Entry]:
        """Return the numbers ("phone") or addresses ("email")."""
        return self.phones if kind == "phone" else self.emails

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


class ContactEditor(Activity):
    """Creates a person (INSERT, with extras) or changes the one of the intent (EDIT)."""

    name = "com.android.contacts.activities.ContactEditorActivity"
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
        return person_of(self.intent, system) or Contact()

    def build(self, system: System) -> ui.Widget:
        editing = self.intent.action == "android.intent.action.EDIT"
        save = ui.Button(key="editor_menu_save_button", text="Save", kind="filled", on_tap=lambda: self._save(system))
        bar = ui.AppBar(
            title="Edit contact" if editing else "Create contact",
            on_back=lambda: self._leave(system),
            navigation_icon="close",
            actions=(save,),
        )
        disc = icon_box(
            "account-outline", 88, icon_size=44, color="on_primary_container", radius=44, background="primary_container"
        )
        fields = (
            ui.Column(children=(disc,), align="center", width="fill", padding=(0, 8, 0, 16)),
            _field("first_name", "First name", self.draft, "given", icon="account-outline"),
            _field("last_name", "Last name", self.draft, "family"),
            _field("company", "Company", self.draft, "company", icon="domain"),
            *self._entries("phone"),
            *self._entries("email"),
            ui.Spacer(height=32),
        )
        return ui.Scaffold(app_bar=bar, body=ui.Scroll(key="contact_editor", children=fields, gap=8, height="fill"))

    def _entries(self, kind: str) -> list[ui.Widget]:
        """Return the fields for numbers or addresses, and the button that adds one."""
        entries = self.draft.entries(kind)
        add = ui.Button(
            key=f"add_{kind}",
            text=f"Add {kind}",
            kind="text",
            icon="plus",
            on_tap=lambda: entries.append(Entry(type=DEFAULT_LABEL[kind])),
        )
        return [
            *(self._entry(kind, index, entry) for index, entry in enumerate(entries)),
            ui.Row(children=(add, ui.Spacer(weight=1)), padding=(44, 0, 16, 0), width="fill"),
        ]

    def _entry(self, kind: str, index: int, entry: Entry) -> ui.Widget:
        """Return a number or address with its label below and a button to take it out."""
        entries, title = self.draft.entries(kind), kind.title()
        suffix = f"_{index + 1}" if index else ""
        label = LABELS[kind].get(entry.type, "Other")

        def take_out() -> None:
            if len(entries) > 1:
                del entries[index]
            else:
                entry.value = ""

        chooser = ui.Button(
            key=f"{kind}_label{suffix}",
            text=label,
            description=f"{label} {title}",
            kind="outlined",
            icon="chevron-down",
            on_tap=setter(self, labeling=f"{kind} {index}"),
        )
        controls: tuple[ui.Widget, ...] = (chooser, ui.Spacer(weight=1))
        if len(entries) > 1 or entry.value:
            clear = bar_button(f"{kind}_remove{suffix}", "close-circle-outline", f"Delete {title}", take_out)
            controls = (*controls, clear)
        icon = "" if index else f"{kind}-outline"
        text = _field(f"{kind}{suffix}", title, entry, "value", icon=icon, number=kind == "phone")
        return ui.Column(
            children=(text, ui.Row(children=controls, padding=(56, 0, 12, 0), width="fill", height=48)), gap=4
        )

    def dialog(self, system: System) -> ui.Dialog | None:
        if self.labeling:
            kind, _, index = self.labeling.partition(" ")
            entry = self.draft.entries(kind)[int(index)]
            options = [(str(number), label) for number, label in LABELS[kind].items()]

            def choose(value: str) -> None:
                entry.type, self.labeling = int(value), ""

            return choice_dialog("Select label", options, str(entry.type), choose, setter(self, labeling=""))
        if self.leaving:
            return confirm_dialog(
                "Discard changes?",
                "Your changes have not been saved.",
                yes="Discard",
                no="Keep editing",
                on_yes=system.back,
                on_no=setter(self, leaving=False),
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
            view_person(system, saved)


def _field(key: str, hint: str, holder: object, name: str, *, icon: str = "", number: bool = False) -> ui.Widget:
    """Return a text field for one field of `holder`, in the form's column, its group's icon in the margin."""
    margin: ui.Widget = ui.Icon(icon=icon) if icon else ui.Spacer(width=24)
    value = getattr(holder, name)
    field_ = ui.TextField(key=key, value=value, on_change=writer(holder, name), label=hint, number=number, weight=1)
    return ui.Row(children=(margin, field_), gap=16, padding=(16, 0, 16, 0), width="fill")
