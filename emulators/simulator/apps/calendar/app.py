"""Simple Calendar Pro (`com.simplemobiletools.calendar.pro`): a month, the events of a day, and a form."""

from __future__ import annotations

import calendar
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final

from rlfactory.emulators.simulator.android.app import App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.forms import Field, RecordForm, long_date, moment, stored
from rlfactory.emulators.simulator.apps.kit.pickers import format_time
from rlfactory.emulators.simulator.apps.kit.records import RecordList, RecordPage, facts
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, section
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.simplemobiletools.calendar.pro"
DAY_S: Final = 86_400
WEEK_S: Final = 7 * DAY_S
_REPETITIONS: Final = (
    (0, "No repetition"),
    (DAY_S, "Daily"),
    (WEEK_S, "Weekly"),
    (2_592_001, "Monthly"),
    (31_536_000, "Yearly"),
)
_COUNTS: Final = (
    *("reminder_1_minutes", "reminder_2_minutes", "reminder_3_minutes", "reminder_1_type", "reminder_2_type"),
    *("reminder_3_type", "repeat_interval", "repeat_rule", "repeat_limit", "flags", "event_type", "parent_id"),
    *("last_updated", "availability", "color", "type"),
)
_TEXTS: Final = (
    *("title", "location", "description", "repetition_exceptions", "attendees", "import_id", "time_zone", "source"),
)
EVENTS: Final = Table(
    path=f"/data/data/{PACKAGE}/databases/events.db",
    name="events",
    columns={
        "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "start_ts": "INTEGER NOT NULL",
        "end_ts": "INTEGER NOT NULL",
        **dict.fromkeys(_TEXTS, "TEXT NOT NULL"),
        **dict.fromkeys(_COUNTS, "INTEGER NOT NULL"),
    },
    more="""
    CREATE TABLE IF NOT EXISTS event_types (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL,
        color INTEGER NOT NULL, caldav_calendar_id INTEGER NOT NULL, caldav_display_name TEXT NOT NULL,
        caldav_email TEXT NOT NULL, type INTEGER NOT NULL);
    INSERT OR IGNORE INTO event_types VALUES (1, 'Regular event', -16746133, 0, '', '', 0);
    """,
)


def occurs_on(system: System, event: Record, day: date) -> bool:
    """Tell whether an event, or one of its repetitions, is on that day."""
    start = moment(system, event["start_ts"], 1).date()
    end = moment(system, event["end_ts"], 1).date()
    interval, limit, rule = (int(event[name]) for name in ("repeat_interval", "repeat_limit", "repeat_rule"))
    if not interval or day <= start:
        return start <= day <= end
    if limit > 0 and day > moment(system, limit, 1).date():
        return False
    if f"{day:%Y%m%d}" in event["repetition_exceptions"]:
        return False
    if interval % WEEK_S == 0:
        weeks = (day - timedelta(days=day.weekday()) - (start - timedelta(days=start.weekday()))).days // 7
        return bool(rule >> day.weekday() & 1) and weeks % (interval // WEEK_S) == 0
    if interval % DAY_S == 0 and interval != 31_536_000:
        return (day - start).days % (interval // DAY_S) == 0
    return day.day == start.day and (interval != 31_536_000 or day.month == start.month)


class EventForm(RecordForm):
    """Creates an event (the day it begins on is the intent's extra) or changes one."""

    name = "com.simplemobiletools.calendar.pro.activities.EventActivity"
    table, title, unit_s = EVENTS, ("New Event", "Edit Event"), 1.0
    fields: ClassVar[tuple[Field, ...]] = (
        Field(column="title", label="Title", needed=True),
        Field(column="location", label="Location"),
        Field(column="description", label="Description", kind="lines"),
        Field(column="start_ts", label="Start date", kind="date"),
        Field(column="start_ts", label="Start time", kind="time"),
        Field(column="end_ts", label="End date", kind="date"),
        Field(column="end_ts", label="End time", kind="time"),
        Field(column="repeat_interval", label="Repetition", kind="choice", options=_REPETITIONS, icon="repeat"),
    )

    def blank(self, system: System) -> dict[str, Any]:
        day = datetime.fromisoformat(str(self.intent.extras.get("day") or f"{system.now():%Y-%m-%d}"))
        start = system.now().replace(
            year=day.year, month=day.month, day=day.day, minute=0, second=0, microsecond=0
        ) + timedelta(hours=1)
        return {
            **dict.fromkeys(_COUNTS, 0),
            **dict.fromkeys(_TEXTS, ""),
            **dict.fromkeys(("reminder_1_minutes", "reminder_2_minutes", "reminder_3_minutes"), -1),
            "repetition_exceptions": "[]",
            "time_zone": "UTC",
            "source": "simple-calendar",
            "event_type": 1,
            "start_ts": stored(start, 1),
            "end_ts": stored(start, 1),
        }

    def moved(self, each: Field, value: int) -> None:
        """An event keeps its length when its start is moved."""
        if each.column == "start_ts":
            self.draft["end_ts"] += value - self.draft["start_ts"]
        super().moved(each, value)

    def finished(self, system: System, values: dict[str, Any], old: Record | None) -> dict[str, Any]:
        weekly = values["repeat_interval"] == WEEK_S
        kept = old["repeat_rule"] if old and old["repeat_interval"] == values["repeat_interval"] else 0
        rule = kept or (1 << moment(system, values["start_ts"], 1).weekday() if weekly else 0)
        end = max(values["end_ts"], values["start_ts"])
        return {**values, "end_ts": end, "repeat_rule": rule, "last_updated": stored(system.now(), 1e-3)}


class EventPage(RecordPage):
    """Everything about one event."""

    name = "com.simplemobiletools.calendar.pro.activities.EventDetailActivity"
    table, noun, form = EVENTS, "event", EventForm

    def title(self, system: System, row: Record) -> str:
        return str(row["title"])

    def content(self, system: System, row: Record) -> tuple[ui.Widget, ...]:
        start = moment(system, row["start_ts"], 1)
        return facts(
            [
                ("Date", f"{start:%A}, {long_date(start)}"),
                ("Time", _times(system, row)),
                ("Location", row["location"]),
                ("Description", row["description"]),
                ("Repetition", dict(_REPETITIONS).get(row["repeat_interval"], "Custom")),
            ]
        )


class MainActivity(RecordList):
    """A month, with the events of the chosen day below; or all events by day."""

    name = "com.simplemobiletools.calendar.pro.activities.MainActivity"
    table, label, noun, icon = EVENTS, "Calendar", "event", "calendar-blank-outline"
    searched = ("title", "location", "description")
    page, form = EventPage, EventForm
    day: str = ""
    """Chosen, ISO 8601; "" for today."""
    month: str = ""
    """In view, as "2023-10"; "" for the chosen day's."""
    agenda: bool = False

    def _chosen(self, system: System) -> date:
        return date.fromisoformat(self.day) if self.day else system.minute().date()

    def _month(self, system: System) -> date:
        return date.fromisoformat(f"{self.month}-01") if self.month else self._chosen(system).replace(day=1)

    def rows(self, system: System) -> tuple[Record, ...]:
        found = EVENTS.rows(system, "ORDER BY start_ts, end_ts, title")
        if self.searching:
            return found
        if self.agenda:
            today = system.minute().date()
            return tuple(each for each in found if moment(system, each["end_ts"], 1).date() >= today)
        return tuple(each for each in found if occurs_on(system, each, self._chosen(system)))

    def head(self, system: System) -> tuple[ui.Widget, ...]:
        if self.searching or self.agenda:
            return ()
        chosen = self._chosen(system)
        return (*self._grid(system), section(f"{chosen:%A}, {long_date(self._noon(system, chosen))}"))

    def _noon(self, system: System, day: date) -> datetime:
        return system.now().replace(year=day.year, month=day.month, day=day.day, hour=12)

    def _grid(self, system: System) -> tuple[ui.Widget, ...]:
        first = self._month(system)
        events = EVENTS.rows(system)
        bar = ui.Row(
            children=(
                bar_button("top_left_arrow", "chevron-left", "Previous month", partial(self._turn, system, -1)),
                ui.Text(key="top_value", text=f"{first:%B %Y}", style="title_medium", text_align="center", weight=1),
                bar_button("top_right_arrow", "chevron-right", "Next month", partial(self._turn, system, 1)),
            ),
            width="fill",
            padding=(8, 0, 8, 0),
        )
        names = tuple(
            ui.Text(text=letter, style="label_medium", color="on_surface_variant", text_align="center", height=20)
            for letter in "MTWTFSS"
        )
        weeks = calendar.Calendar(calendar.MONDAY).monthdatescalendar(first.year, first.month)
        cells = tuple(self._cell(system, day, first, events) for week in weeks for day in week)
        return (bar, ui.Grid(children=(*names, *cells), columns=7, gap=2, width="fill", padding=(12, 0, 12, 0)))

    def _cell(self, system: System, day: date, first: date, events: tuple[Record, ...]) -> ui.Widget:
        count = sum(occurs_on(system, event, day) for event in events)
        chosen, inside = day == self._chosen(system), day.month == first.month
        color = "on_primary" if chosen else "on_surface" if inside else "outline"
        dots = ui.Text(
            text="\u2022" * min(count, 3), style="label_medium", color="on_primary" if chosen else "primary", height=12
        )
        return ui.Centered(
            key=f"day_{day.day}" if inside else "",
            description=f"{day:%B} {day.day}, {count} events",
            children=(ui.Text(text=str(day.day), style="body_medium", color=color), dots),
            height=40,
            radius=12,
            background="primary" if chosen else None,
            selected=chosen,
            on_tap=setter(self, day=day.isoformat(), month=f"{day:%Y-%m}"),
        )

    def _turn(self, system: System, months: int) -> None:
        first = self._month(system)
        total = first.year * 12 + first.month - 1 + months
        self.month = f"{total // 12:04d}-{total % 12 + 1:02d}"

    def item(self, system: System, row: Record) -> ui.ListItem:
        parts = [_times(system, row), row["location"], row["description"]]
        if self.searching or self.agenda:
            start = moment(system, row["start_ts"], 1)
            parts.insert(0, f"{start:%a}, {long_date(start)}")
        return ui.ListItem(
            title=row["title"],
            subtitle="  \u00b7  ".join(filter(None, parts)),
            leading=ui.Icon(icon="calendar", color="primary"),
        )

    def actions(self, system: System) -> tuple[ui.Widget, ...]:
        today = bar_button("go_to_today", "calendar-today", "Go to today", setter(self, day="", month=""))
        icon, text = ("calendar-month", "Monthly view") if self.agenda else ("view-list-outline", "Simple event list")
        return (today, bar_button("change_view", icon, text, setter(self, agenda=not self.agenda)))

    def add(self, system: System) -> None:
        system.start(EventForm, Intent(extras={"day": self._chosen(system).isoformat()}))


def _times(system: System, row: Record) -> str:
    start, end = moment(system, row["start_ts"], 1), moment(system, row["end_ts"], 1)
    first, last = format_time(system, start.hour, start.minute), format_time(system, end.hour, end.minute)
    return first if start == end else f"{first} - {last}"


CALENDAR = App(
    package=PACKAGE,
    label="Simple Calendar Pro",
    icon="calendar-month",
    color="#F57C00",
    activities=(MainActivity, EventPage, EventForm),
    version_name="6.22.1",
    version_code=238,
    tables=(EVENTS,),
    system=False,
    uses_permissions=("READ_CALENDAR", "WRITE_CALENDAR", "POST_NOTIFICATIONS"),
    filters={"android.intent.action.VIEW content://com.android.calendar": MainActivity},
)
