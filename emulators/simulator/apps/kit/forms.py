"""A form over one row of a table: fields by their kinds, a check of what is needed, and what is lost by going back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Literal

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import choice_dialog, confirm_dialog
from rlfactory.emulators.simulator.apps.kit.pickers import DatePick, TimePick, date_dialog, format_time, time_dialog
from rlfactory.emulators.simulator.apps.kit.rows import slug
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui

Kind = Literal["text", "lines", "number", "money", "choice", "date", "time", "switch"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One field of a form. What it holds in the table:

    text, lines, number: text. money: cents. choice: a key of `options`. switch: 0 or 1. date and time: both are parts
    of one moment, counted in `unit_s` since 1970.
    """

    column: str
    label: str
    kind: Kind = "text"
    options: tuple[tuple[int, str], ...] = ()
    needed: bool = False
    icon: str = ""

    @property
    def key(self) -> str:
        return f"{slug(self.label)}_field"

    def shown(self, system: System, value: object, unit_s: float) -> str:
        """Return a stored value as a page shows it."""
        match self.kind:
            case "money":
                return f"{int(str(value or 0)) / 100:.2f}"
            case "choice":
                return dict(self.options).get(int(str(value or 0)), "")
            case "date":
                return long_date(moment(system, value, unit_s))
            case "time":
                when = moment(system, value, unit_s)
                return format_time(system, when.hour, when.minute)
            case _:
                return str(value or "")


def moment(system: System, value: object, unit_s: float) -> datetime:
    """Return a stored moment in the phone's zone."""
    return (EPOCH + timedelta(seconds=float(str(value or 0)) * unit_s)).astimezone(system.minute().tzinfo)


def stored(when: datetime, unit_s: float) -> int:
    """Return a moment as the table holds it."""
    return round(when.timestamp() / unit_s)


def long_date(when: datetime) -> str:
    return f"{when:%B} {when.day}, {when.year}"


class RecordForm(Activity):
    """Creates a row, or changes the one whose key is the intent's data."""

    table: ClassVar[Table]
    fields: ClassVar[tuple[Field, ...]]
    title: ClassVar[tuple[str, str]]
    """Of the bar: for a new row, for one that is changed."""
    save: ClassVar[str] = "Save"
    """The button's text."""
    unit_s: ClassVar[float] = 1e-3
    """Of moments in the table."""

    draft: dict[str, Any] = field(default_factory=dict)
    """Column -> what is in its field now: texts; numbers for choices and moments."""
    original: dict[str, Any] = field(default_factory=dict)
    open: str = ""
    """Label of the field whose dialog is open, "discard" for that question, "" for none."""
    date_pick: DatePick | None = None
    time_pick: TimePick | None = None

    # --- for subclasses ----------------------------------------------------------------------------------------------

    def blank(self, system: System) -> dict[str, Any]:
        """Return all columns of a new row but the key."""
        raise NotImplementedError

    def finished(self, system: System, values: dict[str, Any], old: Record | None) -> dict[str, Any]:
        """Return what is stored for these values; the place to stamp times, and to derive columns from others."""
        return values

    def more(self, system: System) -> tuple[ui.Widget, ...]:
        """Return what comes after the fields."""
        return ()

    # --- screen ------------------------------------------------------------------------------------------------------

    @property
    def key_of_row(self) -> int | str | None:
        data = self.intent.data
        return (int(data) if data.isdecimal() else data) if data else None

    def on_create(self, system: System) -> None:
        row = self.table.row(system, self.key_of_row) if self.key_of_row is not None else None
        values: Mapping[str, Any] = row or self.blank(system)
        self.draft = {
            each.column: each.shown(system, values[each.column], self.unit_s)
            if each.kind in {"text", "lines", "number"} or (each.kind == "money" and row)
            else (values[each.column] if each.kind != "money" else "")
            for each in self.fields
        }
        self.original = dict(self.draft)

    def build(self, system: System) -> ui.Widget:
        save = ui.Button(key="save", text=self.save, kind="text", on_tap=partial(self._save, system))
        leave = partial(self._leave, system)
        bar = ui.AppBar(
            title=self.title[self.key_of_row is not None], on_back=leave, navigation_icon="close", actions=(save,)
        )
        fields = tuple(self._field(system, each) for each in self.fields)
        body = ui.Scroll(
            key="form", children=(*fields, *self.more(system), ui.Spacer(height=32)), gap=12, height="fill"
        )
        return ui.Scaffold(app_bar=bar, body=body)

    def _field(self, system: System, each: Field) -> ui.Widget:
        value = self.draft[each.column]
        if each.kind in {"text", "lines", "number", "money"}:
            text = ui.TextField(
                key=each.key,
                value=value,
                label=each.label,
                on_change=partial(self.draft.__setitem__, each.column),
                multiline=each.kind == "lines",
                number=each.kind in {"number", "money"},
                weight=1,
            )
            return ui.Row(children=(text,), padding=(16, 0, 16, 0), width="fill")
        if each.kind == "switch":
            flip = partial(self.draft.__setitem__, each.column)
            switch = ui.Switch(
                key=f"{each.key}_switch",
                description=each.label,
                checked=bool(value),
                on_change=lambda on: flip(int(on)),
            )
            return ui.ListItem(key=each.key, title=each.label, trailing=switch)
        icon = {"date": "calendar", "time": "clock-outline"}.get(each.kind, each.icon or "tag-outline")
        return ui.ListItem(
            key=each.key,
            title=each.shown(system, value, self.unit_s) or each.label,
            subtitle=each.label,
            leading=ui.Icon(icon=icon),
            on_tap=partial(self._open, system, each),
        )

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        close = setter(self, open="")
        if self.open == "discard":
            return confirm_dialog(
                "Discard changes?", "", yes="Discard", no="Keep editing", on_yes=system.back, on_no=close
            )
        each = next((each for each in self.fields if each.label == self.open), None)
        if each is None:
            return None
        done = partial(self._picked, system, each)
        if each.kind == "date" and self.date_pick is not None:
            return date_dialog(self.date_pick, on_ok=done, on_cancel=close)
        if each.kind == "time" and self.time_pick is not None:
            return time_dialog(system, self.time_pick, on_ok=done, on_cancel=close)
        options = [(str(value), text) for value, text in each.options]

        def choose(value: str) -> None:
            self.draft[each.column], self.open = int(value), ""

        return choice_dialog(each.label, options, str(self.draft[each.column]), choose, close)

    # --- events ------------------------------------------------------------------------------------------------------

    def _open(self, system: System, each: Field) -> None:
        when = moment(system, self.draft[each.column] or stored(system.now(), self.unit_s), self.unit_s)
        self.open = each.label
        self.date_pick, self.time_pick = DatePick.at(when.date()), TimePick(hour=when.hour, minute=when.minute)

    def _picked(self, system: System, each: Field) -> None:
        assert self.date_pick is not None
        assert self.time_pick is not None
        now = moment(system, self.draft[each.column] or stored(system.now(), self.unit_s), self.unit_s)
        day, clock = self.date_pick.chosen, self.time_pick
        if each.kind == "date":
            when = now.replace(year=day.year, month=day.month, day=day.day)
        else:
            when = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
        self.moved(each, stored(when, self.unit_s))
        self.open = ""

    def moved(self, each: Field, value: int) -> None:
        """Take over a picked moment. A form whose moments depend on each other moves those, too."""
        self.draft[each.column] = value

    def on_back(self, system: System) -> bool:
        if self.draft == self.original:
            return False
        self.open = "discard"
        return True

    def _leave(self, system: System) -> None:
        if not self.on_back(system):
            system.back()

    def _save(self, system: System) -> None:
        values = dict(self.draft)
        for each in self.fields:
            text = str(values[each.column]).strip()
            if each.needed and not text:
                system.toast(f"{each.label} must not be empty")
                return
            if each.kind in {"text", "lines", "number"}:
                values[each.column] = text
            if each.kind == "money":
                try:
                    values[each.column] = round(float(text or "0") * 100)
                except ValueError:
                    system.toast(f"{each.label} must be a number")
                    return
        key = self.key_of_row
        old = self.table.row(system, key) if key is not None else None
        if old is None:
            self.table.insert(system, self.finished(system, {**self.blank(system), **values}, None))
        else:
            self.table.update(system, key, self.finished(system, values, old))
        system.back()
