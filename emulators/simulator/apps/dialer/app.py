"""Phone (`com.google.android.dialer`): a keypad, and a call that is placed and ended."""

from __future__ import annotations

from functools import partial
from typing import Final

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.contacts.data import all_contacts
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.rows import bar_button
from rlfactory.emulators.simulator.apps.kit.tables import Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.google.android.dialer"
CALLS: Final = Table(
    path="/data/data/com.android.providers.contacts/databases/calllog.db",
    name="calls",
    columns={"_id": "INTEGER PRIMARY KEY", "number": "TEXT", "date": "INTEGER", "type": "INTEGER"},
)
"""Where Android's provider keeps whom one called; no page shows it."""
OUTGOING: Final = 2
_KEYS: Final = ("1", "2 ABC", "3 DEF", "4 GHI", "5 JKL", "6 MNO", "7 PQRS", "8 TUV", "9 WXYZ", "*", "0 +", "#")


class DialtactsActivity(Activity):
    """The number as it is typed, the people it may belong to, and the keypad."""

    name = "com.google.android.dialer.extensions.GoogleDialtactsActivity"
    number: str = ""
    calling: str = ""

    def on_create(self, system: System) -> None:
        number = self.intent.data.removeprefix("tel:")
        if self.intent.action == "android.intent.action.CALL":
            self._place(system, number)
        else:
            self.number = number

    def build(self, system: System) -> ui.Widget:
        return self._call(system) if self.calling else self._keypad(system)

    def _keypad(self, system: System) -> ui.Widget:
        digits = "".join(c for c in self.number if c.isdecimal())
        rows = tuple(
            ui.ListItem(
                key="suggestion",
                description=contact.display_name,
                title=contact.display_name,
                subtitle=phone.value,
                leading=ui.Avatar(letter=contact.display_name[:1]),
                on_tap=partial(self._place, system, phone.value),
            )
            for contact in all_contacts(system)
            for phone in contact.phones
            if digits in "".join(c for c in phone.value if c.isdecimal())
        )
        shown = ui.Text(key="digits", text=self.number or " ", style="headline_medium", text_align="center", weight=1)
        delete = bar_button("deleteButton", "backspace-outline", "Backspace", self._delete)
        keys = tuple(
            ui.Centered(
                key=f"dialpad_{label[0]}",
                description=label,
                children=(ui.Text(text=label[0], style="headline_small", text_align="center"),),
                height=52,
                radius=26,
                on_tap=partial(self._press, label[0]),
            )
            for label in _KEYS
        )
        call = ui.Button(
            key="dialpad_voice_call_button",
            text="Call",
            icon="phone",
            enabled=bool(self.number),
            on_tap=partial(self._place, system, self.number),
        )
        body = ui.Column(
            children=(
                ui.Scroll(key="suggestions", children=rows, weight=1, width="fill"),
                ui.Row(children=(shown, delete), width="fill", padding=(24, 0, 8, 0)),
                ui.Grid(children=keys, columns=3, gap=4, width="fill", padding=(24, 0, 24, 0)),
                ui.Row(children=(call,), justify="center", width="fill", padding=(0, 8, 0, 24)),
            ),
            height="fill",
        )
        return ui.Scaffold(app_bar=ui.AppBar(title="Phone"), body=body)

    def _call(self, system: System) -> ui.Widget:
        name = next(
            (c.display_name for c in all_contacts(system) if any(p.value == self.calling for p in c.phones)), ""
        )
        texts = (
            ui.Avatar(icon="account", size=112),
            ui.Text(text=name or self.calling, style="headline_medium", text_align="center"),
            ui.Text(text=self.calling, text_align="center"),
            ui.Text(text="Calling\u2026", color="on_surface_variant", text_align="center"),
        )
        end = ui.Button(key="end_call", text="End call", icon="phone-hangup", on_tap=setter(self, calling=""))
        body = ui.Centered(children=texts, gap=16, width="fill", height="fill")
        bar = ui.Row(children=(end,), justify="center", width="fill", padding=(0, 16, 0, 32))
        return ui.Scaffold(body=body, bottom_bar=bar)

    def _place(self, system: System, number: str) -> None:
        self.calling = number
        CALLS.insert(system, {"number": number, "date": round(system.now().timestamp() * 1000), "type": OUTGOING})

    def _press(self, key: str) -> None:
        self.number += key

    def _delete(self) -> None:
        self.number = self.number[:-1]

    def on_back(self, system: System) -> bool:
        was_calling = bool(self.calling)
        self.calling = ""
        return was_calling


DIALER = App(
    package=PACKAGE,
    label="Phone",
    icon="phone",
    color="#1A73E8",
    activities=(DialtactsActivity,),
    version_name="94.0",
    version_code=9_400_000,
    uses_permissions=("READ_CONTACTS", "CALL_PHONE", "POST_NOTIFICATIONS"),
    filters={f"android.intent.action.{action} tel:": DialtactsActivity for action in ("DIAL", "VIEW", "CALL")},
)
