"""Joplin (`net.cozic.joplin`): notes and to-dos in notebooks."""

from __future__ import annotations

from typing import Any, Final

from rlfactory.emulators.simulator.android.app import App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.forms import Field, RecordForm, long_date, moment, stored
from rlfactory.emulators.simulator.apps.kit.records import RecordList, RecordPage
from rlfactory.emulators.simulator.apps.kit.rows import bar_button
from rlfactory.emulators.simulator.apps.kit.rows import row as list_row
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "net.cozic.joplin"
MS: Final = 1e-3
_DATABASE: Final = f"/data/data/{PACKAGE}/databases/joplin.sqlite"
_TEXT, _COUNT, _REAL = "TEXT NOT NULL DEFAULT ''", "INT NOT NULL DEFAULT 0", "NUMERIC NOT NULL DEFAULT 0"
_TIMES: Final = ("created_time", "updated_time", "user_created_time", "user_updated_time")
_NOTE_TEXTS: Final = (
    *("parent_id", "title", "body", "author", "source_url", "source", "source_application", "application_data"),
    *("encryption_cipher_text", "share_id", "conflict_original_id", "master_key_id", "user_data"),
)
_NOTE_COUNTS: Final = (
    *_TIMES,
    *("todo_due", "todo_completed", "is_conflict", "is_todo", "encryption_applied", "markup_language", "is_shared"),
)
_NORMALIZED: Final = {
    "id": "TEXT NOT NULL",
    **dict.fromkeys(("parent_id", "title", "body", "source_url"), _TEXT),
    **dict.fromkeys(("latitude", "longitude", "altitude"), _REAL),
    **dict.fromkeys(("is_todo", "todo_due", "todo_completed", "user_created_time", "user_updated_time"), _COUNT),
}
"""The search index."""
NOTES: Final = Table(
    path=_DATABASE,
    name="notes",
    columns={
        "id": "TEXT PRIMARY KEY",
        **dict.fromkeys(_NOTE_TEXTS, _TEXT),
        **dict.fromkeys(_NOTE_COUNTS, _COUNT),
        **dict.fromkeys(("latitude", "longitude", "altitude", "order"), _REAL),
    },
    more=f"CREATE TABLE IF NOT EXISTS notes_normalized ({', '.join(f'{n} {k}' for n, k in _NORMALIZED.items())});",
)
FOLDERS: Final = Table(
    path=_DATABASE,
    name="folders",
    columns={
        "id": "TEXT PRIMARY KEY",
        **dict.fromkeys(
            ("title", "parent_id", "encryption_cipher_text", "share_id", "master_key_id", "icon", "user_data"), _TEXT
        ),
        **dict.fromkeys((*_TIMES, "encryption_applied", "is_shared", "deleted_time"), _COUNT),
    },
)


def _new_id(system: System) -> str:
    return f"{stored(system.now(), MS):032x}"


def _index(system: System) -> None:
    """Make the search index anew from the notes."""
    columns = ", ".join(_NORMALIZED)
    with NOTES.open(system) as db:
        db.execute("DELETE FROM notes_normalized")
        source = columns.replace("title", "lower(title)")
        db.execute(f"INSERT INTO notes_normalized ({columns}) SELECT {source} FROM notes")


class NoteForm(RecordForm):
    """Title and text of a note or a to-do; a new one's notebook is the intent's extra."""

    name = ".NoteEditActivity"
    table, title = NOTES, ("New note", "Edit note")
    fields = (
        Field(column="title", label="Title", needed=True),
        Field(column="body", label="Text", kind="lines"),
        Field(column="is_todo", label="To-do", kind="switch"),
    )

    def blank(self, system: System) -> dict[str, Any]:
        now = stored(system.now(), MS)
        values: dict[str, Any] = {**dict.fromkeys(_NOTE_TEXTS, ""), **dict.fromkeys(_NOTE_COUNTS, 0)}
        return {
            **values,
            **dict.fromkeys(_TIMES, now),
            "id": _new_id(system),
            "parent_id": str(self.intent.extras.get("folder", "")),
            "markup_language": 1,
        }

    def finished(self, system: System, values: dict[str, Any], old: Record | None) -> dict[str, Any]:
        return {**values, **dict.fromkeys(("updated_time", "user_updated_time"), stored(system.now(), MS))}

    def on_pause(self, system: System) -> None:
        _index(system)


class NotePage(RecordPage):
    """One note."""

    name = ".NoteActivity"
    table, noun, form = NOTES, "note", NoteForm

    def title(self, system: System, row: Record) -> str:
        return str(row["title"])

    def content(self, system: System, row: Record) -> tuple[ui.Widget, ...]:
        folder = next((f["title"] for f in FOLDERS.rows(system) if f["id"] == row["parent_id"]), "")
        when = long_date(moment(system, row["updated_time"], MS))
        line = "  \u00b7  ".join(filter(None, (folder, f"Changed {when}")))
        parts: list[ui.Widget] = [
            ui.Text(text=line, style="body_medium", color="on_surface_variant", padding=(24, 8, 24, 8))
        ]
        if row["is_todo"]:
            parts.append(_todo_box(system, row))
        parts.append(ui.Text(key="note_body", text=row["body"], padding=(24, 8, 24, 8)))
        return tuple(parts)


def _todo_box(system: System, row: Record) -> ui.Widget:
    def complete(on: bool) -> None:
        NOTES.update(system, row["id"], {"todo_completed": stored(system.now(), MS) if on else 0})
        _index(system)

    done = bool(row["todo_completed"])
    box = ui.Checkbox(key="todo_checkbox", description="To-do", checked=done, on_change=complete)
    return ui.ListItem(key="todo", title="Done" if done else "To do", trailing=box)


class MainActivity(RecordList):
    """The notes of a notebook, or all; the notebooks behind the button at the left of the bar."""

    name = ".MainActivity"
    table, label, noun, icon = NOTES, "All notes", "note", "notebook-outline"
    searched = ("title", "body")
    page, form = NotePage, NoteForm
    folder: str = ""
    """Id of the notebook that is shown, "" for all."""
    drawer: bool = False

    def build(self, system: System) -> ui.Widget:
        if not self.drawer:
            return super().build(system)
        notes = NOTES.rows(system)
        folders = sorted(FOLDERS.rows(system), key=lambda each: str(each["title"]).casefold())
        entries = [("", "All notes", len(notes))]
        entries += [(f["id"], f["title"], sum(n["parent_id"] == f["id"] for n in notes)) for f in folders]
        rows = [
            list_row(
                "notebook",
                title,
                subtitle=f"{count} notes",
                icon="book-outline" if key else "notebook-multiple",
                on_tap=setter(self, folder=key, drawer=False),
            )
            for key, title, count in entries
        ]
        bar = ui.AppBar(title="Notebooks", on_back=setter(self, drawer=False), navigation_icon="close")
        return ui.Scaffold(app_bar=bar, body=ui.Scroll(key="notebooks", children=tuple(rows), height="fill"))

    def rows(self, system: System) -> tuple[Record, ...]:
        found = NOTES.rows(system, "ORDER BY updated_time DESC, title COLLATE NOCASE")
        return tuple(row for row in found if not self.folder or row["parent_id"] == self.folder)

    def head(self, system: System) -> tuple[ui.Widget, ...]:
        name = next((f["title"] for f in FOLDERS.rows(system) if f["id"] == self.folder), "All notes")
        return (ui.Text(key="notebook_title", text=name, style="title_medium", padding=(24, 8, 24, 8)),)

    def actions(self, system: System) -> tuple[ui.Widget, ...]:
        return (bar_button("notebooks", "book-multiple-outline", "Notebooks", setter(self, drawer=True)),)

    def item(self, system: System, row: Record) -> ui.ListItem:
        icon = "note-text-outline"
        if row["is_todo"]:
            icon = "checkbox-marked-outline" if row["todo_completed"] else "checkbox-blank-outline"
        box = ui.Icon(icon=icon, color="primary" if row["is_todo"] else "on_surface_variant")
        kind = ("To-do, done" if row["todo_completed"] else "To-do") if row["is_todo"] else "Note"
        return ui.ListItem(title=row["title"], description=f"{row['title']}, {kind}", leading=box)

    def add(self, system: System) -> None:
        folders = FOLDERS.rows(system)
        if not folders:
            now = stored(system.now(), MS)
            FOLDERS.insert(system, {"id": _new_id(system), "title": "Notes", **dict.fromkeys(_TIMES, now)})
            folders = FOLDERS.rows(system)
        system.start(NoteForm, Intent(extras={"folder": self.folder or str(folders[0]["id"])}))

    def on_resume(self, system: System) -> None:
        FOLDERS.ensure(system)

    def on_back(self, system: System) -> bool:
        if self.drawer or (self.folder and not self.searching and not self.selected):
            self.drawer, self.folder = False, "" if not self.drawer else self.folder
            return True
        return super().on_back(system)


JOPLIN = App(
    package=PACKAGE,
    label="Joplin",
    icon="notebook",
    color="#1565C0",
    activities=(MainActivity, NotePage, NoteForm),
    version_name="2.14.9",
    version_code=2_097_740,
    tables=(NOTES, FOLDERS),
    system=False,
    uses_permissions=("ACCESS_COARSE_LOCATION", "ACCESS_FINE_LOCATION"),
)
