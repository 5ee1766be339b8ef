"""Tasks.org (`org.tasks`): to-do lists with due dates and priorities."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any, Final

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.forms import Field, RecordForm, long_date, moment, stored
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.records import RecordList, RecordPage, facts
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, section
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "org.tasks"
MS: Final = 1e-3
_COUNTS: Final = (
    *("importance", "dueDate", "hideUntil", "created", "modified", "completed", "deleted", "estimatedSeconds"),
    *("elapsedSeconds", "timerStart", "notificationFlags", "lastNotified", "repeat_from", "collapsed", "parent"),
    "read_only",
)
TASKS: Final = Table(
    path=f"/data/data/{PACKAGE}/databases/database",
    name="tasks",
    columns={
        "_id": "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
        "title": "TEXT",
        **dict.fromkeys(_COUNTS, "INTEGER NOT NULL DEFAULT 0"),
        **dict.fromkeys(("notes", "recurrence", "calendarUri", "remoteId"), "TEXT"),
        "order": "INTEGER",
    },
)
_PRIORITIES: Final = ((0, "High"), (1, "Medium"), (2, "Low"), (3, "None"))
_COLORS: Final = {0: "#D32F2F", 1: "#F57C00", 2: "#1976D2", 3: "#9E9E9E"}
_FIELDS: Final = (
    Field(column="title", label="Task name", needed=True),
    Field(column="dueDate", label="Due date", kind="date"),
    Field(column="importance", label="Priority", kind="choice", options=_PRIORITIES, icon="flag-outline"),
    Field(column="notes", label="Description", kind="lines"),
)
_SORTS: Final = {
    "due": ("Due date", "dueDate = 0, dueDate, title"),
    "importance": ("Priority", "importance, dueDate = 0, dueDate"),
    "title": ("Title", "title COLLATE NOCASE"),
    "created": ("Creation time", "created DESC"),
}


class TaskForm(RecordForm):
    name = "com.todoroo.astrid.activity.TaskEditActivity"
    table, fields, title = TASKS, _FIELDS, ("New task", "Edit task")

    def blank(self, system: System) -> dict[str, Any]:
        now = stored(system.now(), MS)
        counts = dict.fromkeys(_COUNTS, 0)
        texts = {"title": "", "notes": "", "remoteId": str(now)}
        return {**counts, **texts, "importance": 3, "created": now, "modified": now}

    def finished(self, system: System, values: dict[str, Any], old: Record | None) -> dict[str, Any]:
        return {**values, "notes": values["notes"] or None, "modified": stored(system.now(), MS)}


class TaskPage(RecordPage):
    """Everything about one task."""

    name = "com.todoroo.astrid.activity.TaskDetailActivity"
    table, noun, form = TASKS, "task", TaskForm

    def title(self, system: System, row: Record) -> str:
        return str(row["title"] or "")

    def content(self, system: System, row: Record) -> tuple[ui.Widget, ...]:
        def day(column: str) -> str:
            return long_date(moment(system, row[column], MS)) if row[column] else ""

        due = f"{day('dueDate')} {_clock(system, row)}".strip()
        return facts(
            [
                ("Due date", due or "No due date"),
                ("Priority", dict(_PRIORITIES).get(row["importance"], "None")),
                ("Hide until", day("hideUntil")),
                ("Completed", day("completed")),
                ("Created", day("created")),
                ("Description", row["notes"] or ""),
            ]
        )


class MainActivity(RecordList):
    """The open tasks; completed and hidden ones where they are asked for."""

    name = "com.todoroo.astrid.activity.MainActivity"
    table, label, noun, icon = TASKS, "My Tasks", "task", "check-circle-outline"
    searched = ("title", "notes")
    page, form = TaskPage, TaskForm

    def rows(self, system: System) -> tuple[Record, ...]:
        prefs = Preferences.of(system, PACKAGE)
        now = stored(system.now(), MS)
        conditions = ["deleted = 0"]
        if not prefs.get("show_completed", False):
            conditions.append("completed = 0")
        if not prefs.get("show_hidden", False):
            conditions.append(f"hideUntil <= {now}")
        order = _SORTS.get(prefs.get("sort", "due"), _SORTS["due"])[1]
        return TASKS.rows(system, f"WHERE {' AND '.join(conditions)} ORDER BY {order}")

    def item(self, system: System, row: Record) -> ui.ListItem:
        done = bool(row["completed"])
        stamp = 0 if done else stored(system.now(), MS)
        complete = partial(TASKS.update, system, row["_id"], {"completed": stamp})
        icon = "checkbox-marked-circle-outline" if done else "checkbox-blank-circle-outline"
        box = ui.IconButton(
            key="complete",
            icon=icon,
            color=_COLORS.get(row["importance"], _COLORS[3]),
            description="Completed" if done else "Complete",
            on_tap=complete,
        )
        parts = [self._due(system, row), dict(_PRIORITIES).get(row["importance"], "None") + " priority"]
        if done:
            parts.append(f"Completed {long_date(moment(system, row['completed'], MS))}")
        return ui.ListItem(title=row["title"] or "", subtitle="  \u00b7  ".join(filter(None, parts)), leading=box)

    def _due(self, system: System, row: Record) -> str:
        if not row["dueDate"]:
            return ""
        when, today = moment(system, row["dueDate"], MS), system.minute().date()
        names = {today: "Today", today + timedelta(days=1): "Tomorrow", today - timedelta(days=1): "Yesterday"}
        name = names.get(when.date(), "")
        day = f"{when:%a}, {long_date(when)}"
        return f"Due {f'{name} ({day})' if name else day} {_clock(system, row)}".strip()

    def actions(self, system: System) -> tuple[ui.Widget, ...]:
        return (bar_button("sort", "sort", "Sort", setter(self, open="sort")),)

    def menu(self, system: System) -> tuple[ui.Action, ...]:
        prefs = Preferences.of(system, PACKAGE)

        def flip(key: str) -> None:
            prefs.put(**{key: not prefs.get(key, False)})
            self.open = ""

        return tuple(
            ui.Action(
                text=text,
                icon="checkbox-marked-outline" if prefs.get(key, False) else "checkbox-blank-outline",
                on_tap=partial(flip, key),
            )
            for key, text in (("show_completed", "Show completed"), ("show_hidden", "Show hidden"))
        )

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        if self.open != "sort":
            return super().dialog(system)

        def sort(key: str) -> None:
            Preferences.of(system, PACKAGE).put(sort=key)
            self.open = ""

        items = tuple(ui.Action(text=text, on_tap=partial(sort, key)) for key, (text, _) in _SORTS.items())
        return ui.Menu(items=items, on_dismiss=setter(self, open=""), anchor="sort")

    def head(self, system: System) -> tuple[ui.Widget, ...]:
        order = _SORTS.get(Preferences.of(system, PACKAGE).get("sort", "due"), _SORTS["due"])[0]
        return (section(f"By {order.lower()}"),)


def _clock(system: System, row: Record) -> str:
    """Return the time of day a task is due at; whole minutes with a second in them mean that there is one."""
    when = moment(system, row["dueDate"], MS)
    return f"{when:%H:%M}" if row["dueDate"] and (when.hour, when.minute) != (0, 0) else ""


TASKS_ORG = App(
    package=PACKAGE,
    label="Tasks",
    icon="check-circle",
    color="#1976D2",
    activities=(MainActivity, TaskPage, TaskForm),
    version_name="13.6.5",
    version_code=130_605,
    tables=(TASKS,),
    system=False,
)
