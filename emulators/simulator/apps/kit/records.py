"""Lists of a table's rows and the page of one row: search, selection, deletion with a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, more_button, plural, search_bar_title
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui


class RecordList(Activity):
    """The rows of a table. A long press selects rows, which can then be deleted together."""

    table: ClassVar[Table]
    label: ClassVar[str]
    """Of the bar."""
    noun: ClassVar[str]
    """What a row is called: "recipe"."""
    icon: ClassVar[str]
    searched: ClassVar[tuple[str, ...]]
    """Columns that the search looks into."""
    page: ClassVar[type[Activity] | None] = None
    """Opened by a tap on a row, with its key as data."""
    form: ClassVar[type[Activity] | None] = None
    """Opened by the round button."""
    first_run: ClassVar[FirstRun | None] = None

    query: str = ""
    searching: bool = False
    selected: list[int | str] = field(default_factory=list)
    open: str = ""
    """Which dialog or menu is open: "delete", "more", one of a subclass, "" for none."""

    # --- for subclasses ----------------------------------------------------------------------------------------------

    def rows(self, system: System) -> Sequence[Record]:
        """Return what is listed where nothing is searched for."""
        return self.table.rows(system)

    def item(self, system: System, row: Record) -> ui.ListItem:
        """Return how a row looks; what a tap does is added."""
        raise NotImplementedError

    def menu(self, system: System) -> tuple[ui.Action, ...]:
        """Return the entries behind the three dots."""
        return ()

    def actions(self, system: System) -> tuple[ui.Widget, ...]:
        """Return further buttons of the bar."""
        return ()

    def head(self, system: System) -> tuple[ui.Widget, ...]:
        """Return what stands above the rows."""
        return ()

    def add(self, system: System) -> None:
        assert self.form is not None
        system.start(self.form)

    def enter(self, system: System, row: Record) -> None:
        """Open a row."""
        if self.page is not None:
            system.start(self.page, Intent(data=str(row[self.table.key])))

    # --- screen ------------------------------------------------------------------------------------------------------

    def build(self, system: System) -> ui.Widget:
        introduction = self.first_run.page(system) if self.first_run else None
        if introduction is not None:
            return introduction
        rows = [row for row in self.rows(system) if self._matches(row)]
        items = [self._item(system, row) for row in rows]
        if not items:
            empty = "Nothing found" if self.query else f"No {self.noun}s yet"
            items = [empty_state(self.icon, empty)]
        body = ui.Scroll(key="list", children=(*self.head(system), *items, ui.Spacer(height=96)), height="fill")
        fab = ui.Fab(key="fab", icon="plus", description=f"New {self.noun}", on_tap=partial(self.add, system))
        return ui.Scaffold(app_bar=self._bar(system), body=body, fab=fab if self.form and not self.selected else None)

    def _bar(self, system: System) -> ui.Widget:
        if self.selected:
            delete = bar_button("delete", "delete-outline", "Delete", setter(self, open="delete"))
            clear = setter(self, selected=[])
            count = f"{len(self.selected)} selected"
            return ui.AppBar(title=count, on_back=clear, navigation_icon="close", actions=(delete,))
        if self.searching:
            return search_bar_title("Search", self.query, writer(self, "query"), self._stop_search)
        search = bar_button("search", "magnify", "Search", setter(self, searching=True, query=""))
        more = (more_button("more", setter(self, open="more")),) if self.menu(system) else ()
        return ui.AppBar(title=self.label, actions=(search, *self.actions(system), *more))

    def _item(self, system: System, row: Record) -> ui.Widget:
        key = row[self.table.key]
        item, chosen = self.item(system, row), key in self.selected
        toggle = partial(self._toggle, key)
        return ui.ListItem(
            key=item.key or "item",
            description=item.description,
            title=item.title,
            subtitle=item.subtitle,
            leading=ui.Icon(icon="check-circle", color="primary") if chosen else item.leading,
            trailing=item.trailing,
            max_lines=item.max_lines,
            selected=chosen,
            background="secondary_container" if chosen else item.background,
            on_tap=toggle if self.selected else partial(self.enter, system, row),
            on_long_press=toggle,
        )

    def _matches(self, row: Record) -> bool:
        wanted = self.query.strip().casefold()
        return not wanted or any(wanted in str(row[column] or "").casefold() for column in self.searched)

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        close = setter(self, open="")
        if self.open == "delete":
            what = f"Delete {plural(len(self.selected), self.noun)}?"
            return confirm_dialog(what, "", yes="Delete", on_yes=partial(self._delete, system), on_no=close)
        if self.open == "more":
            return ui.Menu(items=self.menu(system), on_dismiss=close, anchor="more")
        return None

    # --- events ------------------------------------------------------------------------------------------------------

    def _toggle(self, key: int | str) -> None:
        self.selected = [each for each in self.selected if each != key] + ([key] if key not in self.selected else [])

    def _delete(self, system: System) -> None:
        self.table.delete(system, self.selected)
        self.selected, self.open = [], ""

    def _stop_search(self) -> None:
        self.searching, self.query = False, ""

    def on_back(self, system: System) -> bool:
        busy = bool(self.selected) or self.searching
        self.selected = []
        self._stop_search()
        return busy


class RecordPage(Activity):
    """One row (its key is the intent's data), with buttons to change and to delete it."""

    table: ClassVar[Table]
    noun: ClassVar[str]
    form: ClassVar[type[Activity] | None] = None
    deleting: bool = False

    def content(self, system: System, row: Record) -> tuple[ui.Widget, ...]:
        """Return what the page shows of the row."""
        raise NotImplementedError

    def title(self, system: System, row: Record) -> str:
        return ""

    def row(self, system: System) -> Record | None:
        data = self.intent.data
        return self.table.row(system, int(data) if data.isdecimal() else data)

    def build(self, system: System) -> ui.Widget:
        row = self.row(system)
        if row is None:
            return ui.Scaffold(
                app_bar=ui.AppBar(on_back=system.back), body=empty_state("delete-outline", f"This {self.noun} is gone")
            )
        delete = bar_button("delete", "delete-outline", "Delete", setter(self, deleting=True))
        actions: tuple[ui.Widget, ...] = (delete,)
        if self.form is not None:
            edit = partial(system.start, self.form, Intent(data=self.intent.data))
            actions = (bar_button("edit", "pencil-outline", "Edit", edit), delete)
        body = ui.Scroll(key="page", children=(*self.content(system, row), ui.Spacer(height=32)), height="fill")
        return ui.Scaffold(
            app_bar=ui.AppBar(title=self.title(system, row), on_back=system.back, actions=actions), body=body
        )

    def dialog(self, system: System) -> ui.Dialog | None:
        if not self.deleting:
            return None
        return confirm_dialog(
            f"Delete this {self.noun}?",
            "",
            yes="Delete",
            on_yes=partial(self._delete, system),
            on_no=setter(self, deleting=False),
        )

    def _delete(self, system: System) -> None:
        row = self.row(system)
        if row is not None:
            self.table.delete(system, [row[self.table.key]])
        system.back()


def facts(rows: Sequence[tuple[str, str]]) -> tuple[ui.Widget, ...]:
    """Return captions and texts below each other; a fact without text is left out."""
    return tuple(
        ui.Column(
            children=(
                ui.Text(text=caption, style="label_large", color="primary"),
                ui.Text(text=text),
            ),
            gap=4,
            padding=(24, 12, 24, 0),
        )
        for caption, text in rows
        if text
    )
