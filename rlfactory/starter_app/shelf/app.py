"""The app: a list of things, a page and a form for each, kept in a database that a provider offers to others."""

from __future__ import annotations

from typing import Any, Final

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.forms import Field, RecordForm
from rlfactory.emulators.simulator.apps.kit.provider import TableProvider
from rlfactory.emulators.simulator.apps.kit.records import RecordList, RecordPage, facts
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "org.example.shelf"
ITEMS: Final = Table(
    path=f"/data/data/{PACKAGE}/databases/shelf.db",
    name="items",
    columns={"_id": "INTEGER PRIMARY KEY AUTOINCREMENT", "title": "TEXT", "place": "TEXT", "details": "TEXT"},
)
FIELDS: Final = (
    Field(column="title", label="Title", needed=True),
    Field(column="place", label="Place"),
    Field(column="details", label="Details", kind="lines"),
)
SEEDS: Final = (
    {"title": "Atlas", "place": "Top left", "details": "A gift from Emma."},
    {"title": "Cookbook", "place": "Kitchen", "details": "Soups and bread."},
    {"title": "Sketchbook", "place": "Desk", "details": "Half full."},
)
"""What a new phone has in it."""


class ItemForm(RecordForm):
    name = ".ItemFormActivity"
    table, fields, title, save = ITEMS, FIELDS, ("New item", "Edit item"), "SAVE"

    def blank(self, system: System) -> dict[str, Any]:
        return {field.column: "" for field in FIELDS}


class ItemPage(RecordPage):
    name = ".ItemActivity"
    table, noun, form = ITEMS, "item", ItemForm

    def title(self, system: System, row: Record) -> str:
        return str(row["title"])

    def content(self, system: System, row: Record) -> tuple[ui.Widget, ...]:
        return tuple(facts([(each.label, str(row[each.column] or "")) for each in FIELDS]))


class MainActivity(RecordList):
    name = ".MainActivity"
    table, label, noun, icon = ITEMS, "Shelf", "item", "bookshelf"
    searched = ("title", "place", "details")
    page, form = ItemPage, ItemForm

    def rows(self, system: System) -> tuple[Record, ...]:
        return ITEMS.rows(system, "ORDER BY title COLLATE NOCASE, _id")

    def item(self, system: System, row: Record) -> ui.ListItem:
        return ui.ListItem(title=str(row["title"]), subtitle=str(row["place"] or ""))


class ItemProvider(TableProvider):
    authorities = (PACKAGE,)
    tables = (ITEMS,)


class _Shelf(App):
    def furnish(self, system: System) -> None:
        for seed in SEEDS:
            ITEMS.insert(system, seed)


APP: Final = _Shelf(
    package=PACKAGE,
    label="Shelf",
    icon="bookshelf",
    color="#5D4037",
    activities=(MainActivity, ItemPage, ItemForm),
    providers=(ItemProvider(),),
    tables=(ITEMS,),
    system=False,
)
