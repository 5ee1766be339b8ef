"""Times of day as the phone writes them, and dialogs to pick a time and a date, every value one tap away."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date
from typing import Literal

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.rows import bar_button
from rlfactory.emulators.simulator.view import widgets as ui

CELL = 40.0
"""Height of a number in a picker's grid, in dp."""


def uses_24_hours(system: System) -> bool:
    return system.settings.get("system", "time_12_24", "24") == "24"


def format_time(system: System, hour: int, minute: int) -> str:
    """Return a time of day as the phone shows it: "07:05", or "7:05 AM"."""
    if uses_24_hours(system):
        return f"{hour:02d}:{minute:02d}"
    return f"{hour % 12 or 12}:{minute:02d} {'AM' if hour < 12 else 'PM'}"


# --- time ------------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class TimePick:
    """What a time picker shows; part of the activity that opens it."""

    hour: int
    minute: int
    face: Literal["hour", "minute"] = "hour"


def time_dialog(system: System, pick: TimePick, *, on_ok: ui.Callback, on_cancel: ui.Callback) -> ui.Dialog:
    """Return a time picker: choose the hour, then the minute. Hours are 00..23, or 1..12 with AM and PM."""
    twenty_four = uses_24_hours(system)
    hour_text = f"{pick.hour:02d}" if twenty_four else str(pick.hour % 12 or 12)
    head: list[ui.Widget] = [
        _tile(pick, "hour", hour_text, f"{hour_text} hours"),
        ui.Text(text=":", style="display_medium"),
        _tile(pick, "minute", f"{pick.minute:02d}", f"{pick.minute:02d} minutes"),
    ]
    if not twenty_four:
        halves = tuple(_half(pick, text, base) for text, base in (("AM", 0), ("PM", 12)))
        head.append(ui.Column(children=halves, radius=8, border="outline"))
    cells = _hours(pick, twenty_four=twenty_four) if pick.face == "hour" else _minutes(pick)
    body = ui.Column(
        children=(
            ui.Row(children=tuple(head), gap=8, justify="center", width="fill"),
            ui.Spacer(height=16),
            ui.Grid(children=cells, columns=6, gap=4, width="fill"),
        )
    )
    return confirm_dialog("Select time", body, yes="OK", on_yes=on_ok, on_no=on_cancel)


def _tile(pick: TimePick, face: str, text: str, description: str) -> ui.Widget:
    shown = pick.face == face
    color = "on_primary_container" if shown else "on_surface"
    return ui.Centered(
        key=f"{face}_header",
        description=description,
        children=(ui.Text(text=text, style="display_medium", color=color, text_align="center"),),
        width=92,
        height=72,
        radius=12,
        background="primary_container" if shown else "surface_container_highest",
        selected=shown,
        on_tap=setter(pick, face=face),
    )


def _half(pick: TimePick, text: str, base: int) -> ui.Widget:
    choose = setter(pick, hour=pick.hour % 12 + base)
    return _cell(text.lower(), text, text, chosen=pick.hour // 12 * 12 == base, on_tap=choose, width=52, height=36)


def _hours(pick: TimePick, *, twenty_four: bool) -> tuple[ui.Widget, ...]:
    half = pick.hour // 12 * 12
    texts = {hour: f"{hour:02d}" for hour in range(24)}
    if not twenty_four:
        texts = {hour: str(hour % 12 or 12) for hour in range(half, half + 12)}

    def cell(hour: int, text: str) -> ui.Widget:
        choose = setter(pick, hour=hour, face="minute")
        return _cell(f"hour_{hour}", text, f"{text} o'clock", chosen=hour == pick.hour, on_tap=choose)

    return tuple(cell(hour, text) for hour, text in texts.items())


def _minutes(pick: TimePick) -> tuple[ui.Widget, ...]:
    def cell(minute: int) -> ui.Widget:
        choose, text = setter(pick, minute=minute), f"{minute:02d}"
        return _cell(f"minute_{minute}", text, f"minute {text}", chosen=minute == pick.minute, on_tap=choose, height=34)

    return tuple(cell(minute) for minute in range(60))


def _cell(
    key: str,
    text: str,
    description: str,
    *,
    chosen: bool,
    on_tap: ui.Callback,
    width: float | Literal["fill"] = "fill",
    height: float = CELL,
) -> ui.Widget:
    style = "body_large" if height == CELL else "body_medium"
    return ui.Centered(
        key=key,
        description=description,
        children=(
            ui.Text(text=text, style=style, color="on_primary" if chosen else "on_surface", text_align="center"),
        ),
        width=width,
        height=height,
        radius=height / 2,
        background="primary" if chosen else None,
        selected=chosen,
        on_tap=on_tap,
    )


# --- date ------------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class DatePick:
    """What a date picker shows: the chosen day and the month in view."""

    chosen: date
    year: int
    month: int

    @classmethod
    def at(cls, day: date) -> DatePick:
        return cls(chosen=day, year=day.year, month=day.month)

    def turn(self, months: int) -> None:
        total = self.year * 12 + self.month - 1 + months
        self.year, self.month = min(max(total // 12, 1970), 2099), total % 12 + 1


def date_dialog(pick: DatePick, *, on_ok: ui.Callback, on_cancel: ui.Callback) -> ui.Dialog:
    """Return a date picker: a month of days, weeks from Sunday, with arrows to other months."""
    chosen = pick.chosen
    bar = (
        ui.Text(text=f"{calendar.month_name[pick.month]} {pick.year}", style="title_small", weight=1),
        bar_button("previous_month", "chevron-left", "Previous month", lambda: pick.turn(-1)),
        bar_button("next_month", "chevron-right", "Next month", lambda: pick.turn(1)),
    )
    names = tuple(
        ui.Text(text=letter, style="label_medium", color="on_surface_variant", text_align="center", height=24)
        for letter in "SMTWTFS"
    )
    body = ui.Column(
        children=(
            ui.Text(text=f"{chosen:%a, %b} {chosen.day}", style="headline_medium"),
            ui.Row(children=bar, width="fill"),
            ui.Grid(children=(*names, *_days(pick)), columns=7, gap=2, width="fill"),
        ),
        gap=4,
    )
    return confirm_dialog("Select date", body, yes="OK", on_yes=on_ok, on_no=on_cancel)


def _days(pick: DatePick) -> tuple[ui.Widget, ...]:
    def cell(day: int) -> ui.Widget:
        if day == 0:
            return ui.Spacer(height=CELL)
        when = date(pick.year, pick.month, day)
        choose = setter(pick, chosen=when)
        return _cell(f"day_{day}", str(day), f"{when:%A, %B} {day}", chosen=when == pick.chosen, on_tap=choose)

    weeks = calendar.Calendar(calendar.SUNDAY).monthdayscalendar(pick.year, pick.month)
    return tuple(cell(day) for week in weeks for day in week)
