"""Pro Expense (`com.arduia.expense`): what was spent on what."""

from __future__ import annotations

from typing import Any, Final

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun, IntroducedApp, Step
from rlfactory.emulators.simulator.apps.kit.forms import Field, RecordForm, long_date, moment, stored
from rlfactory.emulators.simulator.apps.kit.records import RecordList, RecordPage, facts
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.arduia.expense"
MS: Final = 1e-3
EXPENSES: Final = Table(
    path=f"/data/data/{PACKAGE}/databases/accounting.db",
    name="expense",
    columns={
        "expense_id": "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
        "name": "TEXT",
        "amount": "INTEGER NOT NULL",
        "category": "INTEGER NOT NULL",
        "note": "TEXT",
        "created_date": "INTEGER NOT NULL",
        "modified_date": "INTEGER NOT NULL",
    },
)
_LOOKS: Final = {
    1: ("Others", "dots-horizontal-circle-outline"),
    2: ("Income", "cash-plus"),
    3: ("Food", "silverware-fork-knife"),
    4: ("Housing", "home-outline"),
    5: ("Social", "account-group-outline"),
    6: ("Entertainment", "movie-open-outline"),
    7: ("Transportation", "bus"),
    8: ("Clothes", "tshirt-crew-outline"),
    9: ("Health Care", "heart-pulse"),
    10: ("Education", "school-outline"),
    11: ("Donation", "gift-outline"),
}
"""Number -> name and icon of a category."""
_OUTLAY, _INCOME = "#C62828", "#2E7D32"
_FIRST_RUN: Final = FirstRun(
    package=PACKAGE,
    color="#3949AB",
    steps=(
        Step(title="Choose a language", text="English", buttons=("NEXT",), icon="translate"),
        Step(title="Choose a currency", text="US Dollar ($)", buttons=("CONTINUE",), icon="currency-usd"),
    ),
)
_FIELDS: Final = (
    Field(column="name", label="Name", needed=True),
    Field(column="amount", label="Amount", kind="money", needed=True),
    Field(column="category", label="Category", kind="choice", options=tuple((n, t) for n, (t, _) in _LOOKS.items())),
    Field(column="created_date", label="Date", kind="date"),
    Field(column="note", label="Note", kind="lines"),
)


class EntryForm(RecordForm):
    name = ".ui.entry.ExpenseEntryActivity"
    table, fields, title, save = EXPENSES, _FIELDS, ("Expense entry", "Update expense"), "SAVE"

    def blank(self, system: System) -> dict[str, Any]:
        now = stored(system.now(), MS)
        return {"name": "", "amount": 0, "category": 1, "note": "", "created_date": now, "modified_date": now}

    def finished(self, system: System, values: dict[str, Any], old: Record | None) -> dict[str, Any]:
        return {**values, "modified_date": stored(system.now(), MS)}


class DetailPage(RecordPage):
    name = ".ui.expenselogs.ExpenseDetailActivity"
    table, noun, form = EXPENSES, "expense", EntryForm

    def title(self, system: System, row: Record) -> str:
        return str(row["name"] or "")

    def content(self, system: System, row: Record) -> tuple[ui.Widget, ...]:
        return facts([(each.label, each.shown(system, row[each.column], MS)) for each in _FIELDS])


class MainActivity(RecordList):
    """All expenses, the latest first, under the sum of the month."""

    name = ".ui.MainActivity"
    table, label, noun, icon = EXPENSES, "Pro Expense", "expense", "wallet-outline"
    searched = ("name", "note")
    page, form, first_run = DetailPage, EntryForm, _FIRST_RUN

    def rows(self, system: System) -> tuple[Record, ...]:
        return EXPENSES.rows(system, "ORDER BY created_date DESC, expense_id DESC")

    def head(self, system: System) -> tuple[ui.Widget, ...]:
        now = system.minute()
        months = [(moment(system, row["created_date"], MS), row) for row in self.rows(system)]
        spent = [
            row["amount"]
            for when, row in months
            if (when.year, when.month) == (now.year, now.month) and row["category"] != 2
        ]
        total = ui.Text(text=f"$ {sum(spent) / 100:,.2f}", style="headline_medium")
        caption = ui.Text(text=f"Spent in {now:%B}", style="label_large", color="on_surface_variant")
        return (ui.Column(children=(caption, total), padding=(24, 8, 24, 16)),)

    def item(self, system: System, row: Record) -> ui.ListItem:
        category, icon = _LOOKS.get(row["category"], _LOOKS[1])
        income = row["category"] == 2
        amount = f"{'+' if income else '-'} $ {row['amount'] / 100:,.2f}"
        when = long_date(moment(system, row["created_date"], MS))
        return ui.ListItem(
            title=row["name"] or "",
            subtitle="  \u00b7  ".join(filter(None, (category, when, row["note"]))),
            leading=ui.Avatar(icon=icon, color="#3949AB"),
            trailing=ui.Text(text=amount, style="title_small", color=_INCOME if income else _OUTLAY),
        )


EXPENSE = IntroducedApp(
    package=PACKAGE,
    label="Pro Expense",
    icon="wallet",
    color="#3949AB",
    activities=(MainActivity, DetailPage, EntryForm),
    version_name="1.0.0-beta11",
    version_code=11,
    tables=(EXPENSES,),
    system=False,
    first_run=_FIRST_RUN,
)
