"""Dialogs to pick a time of day and a date, every value one tap away."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from rlfactory.emulators.simulator.view.widgets import (
    Action,
    Callback,
    Column,
    Dialog,
    Grid,
    IconButton,
    Row,
    Spacer,
    Text,
    Widget,
)

CELL = 40.0
"""Height of a number in a picker's grid, in dp."""


@dataclass(kw_only=True)
class TimePick:
    """What a time picker shows; part of the activity that opens it."""

    hour: int
    minute: int
    face: Literal["hour", "minute"] = "hour"

    def set_hour(self, hour: int) -> None:
        self.hour, self.face = hour, "minute"

    def set_minute(self, minute: int) -> None:
        self.minute = minute


def time_dialog(pick: TimePick, *, twenty_four: bool, on_ok: Callback, on_cancel: Callback) -> Dialog:
    """Return a time picker: choose the hour, then the minute. `twenty_four`: hours 00..23, else 1..12 and AM/PM."""
    hour_text = f"{pick.hour:02d}" if twenty_four else str(pick.hour % 12 or 12)
    head: list[Widget] = [
        _tile(pick, "hour", hour_text, f"{hour_text} hours"),
        Text(text=":", style="display_medium"),
        _tile(pick, "minute", f"{pick.minute:02d}", f"{pick.minute:02d} minutes"),
    ]
    if not twenty_four:
        head.append(_halves(pick))
    cells = _hours(pick, twenty_four=twenty_four) if pick.face == "hour" else _minutes(pick)
    body = Column(
        children=(
            Row(children=tuple(head), gap=8, justify="center", width="fill"),
            Spacer(height=16),
            Grid(children=cells, columns=6, gap=4, width="fill"),
        )
    )
    return Dialog(
        title="Select time",
        body=body,
        actions=(Action(text="Cancel", on_tap=on_cancel), Action(text="OK", on_tap=on_ok)),
        on_dismiss=on_cancel,
    )


def _tile(pick: TimePick, face: Literal["hour", "minute"], text: str, description: str) -> Widget:
    shown = pick.face == face

    def show() -> None:
        pick.face = face

    return Column(
        key=f"{face}_header",
        description=description,
        children=(
            Text(
                text=text,
                style="display_medium",
                color="on_primary_container" if shown else "on_surface",
                text_align="center",
            ),
        ),
        align="center",
        justify="center",
        width=92,
        height=72,
        radius=12,
        background="primary_container" if shown else "surface_container_highest",
        selected=shown,
        on_tap=show,
    )


def _halves(pick: TimePick) -> Widget:
    def half(text: str, *, afternoon: bool) -> Widget:
        def choose() -> None:
            pick.hour = pick.hour % 12 + (12 if afternoon else 0)

        chosen = (pick.hour >= 12) == afternoon
        return _cell(text.lower(), text, text, chosen=chosen, on_tap=choose, width=52, height=36)

    return Column(children=(half("AM", afternoon=False), half("PM", afternoon=True)), radius=8, border="outline")


def _hours(pick: TimePick, *, twenty_four: bool) -> tuple[Widget, ...]:
    half = 0 if twenty_four else pick.hour // 12 * 12
    hours = range(24) if twenty_four else (half, *range(half + 1, half + 12))

    def cell(hour: int) -> Widget:
        text = f"{hour:02d}" if twenty_four else str(hour % 12 or 12)
        return _cell(
            f"hour_{hour}", text, f"{text} o'clock", chosen=hour == pick.hour, on_tap=lambda: pick.set_hour(hour)
        )

    return tuple(cell(hour) for hour in hours)


def _minutes(pick: TimePick) -> tuple[Widget, ...]:
    def cell(minute: int) -> Widget:
        return _cell(
            f"minute_{minute}",
            f"{minute:02d}",
            f"minute {minute:02d}",
            chosen=minute == pick.minute,
            on_tap=lambda: pick.set_minute(minute),
            height=34,
        )

    return tuple(cell(minute) for minute in range(60))


def _cell(
    key: str,
    text: str,
    description: str,
    *,
    chosen: bool,
    on_tap: Callback,
    width: float | Literal["fill", "wrap"] = "fill",
    height: float = CELL,
) -> Widget:
    return Column(
        key=key,
        description=description,
        children=(
            Text(
                text=text,
                style="body_large" if height == CELL else "body_medium",
                color="on_primary" if chosen else "on_surface",
                text_align="center",
            ),
        ),
        align="center",
        justify="center",
        width=width,
        height=height,
        radius=height / 2,
        background="primary" if chosen else None,
        selected=chosen,
        on_tap=on_tap,
    )


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


def date_dialog(pick: DatePick, *, on_ok: Callback, on_cancel: Callback) -> Dialog:
    """Return a date picker: a month of days, weeks from Sunday, with arrows to other months."""
    chosen = pick.chosen
    bar = Row(
        children=(
            Text(text=f"{calendar.month_name[pick.month]} {pick.year}", style="title_small", weight=1),
            IconButton(
                key="previous_month", icon="chevron-left", description="Previous month", on_tap=lambda: pick.turn(-1)
            ),
            IconButton(key="next_month", icon="chevron-right", description="Next month", on_tap=lambda: pick.turn(1)),
        ),
        width="fill",
    )
    names = tuple(
        Text(text=letter, style="label_medium", color="on_surface_variant", text_align="center", height=24)
        for letter in "SMTWTFS"
    )
    body = Column(
        children=(
            Text(text=f"{chosen:%a, %b} {chosen.day}", style="headline_medium"),
            bar,
            Grid(children=(*names, *_days(pick)), columns=7, gap=2, width="fill"),
        ),
        gap=4,
    )
    return Dialog(
        title="Select date",
        body=body,
        actions=(Action(text="Cancel", on_tap=on_cancel), Action(text="OK", on_tap=on_ok)),
        on_dismiss=on_cancel,
    )


def _days(pick: DatePick) -> tuple[Widget, ...]:
    weeks = calendar.Calendar(calendar.SUNDAY).monthdayscalendar(pick.year, pick.month)

    def chooser(day: int) -> Callable[[], None]:
        def choose() -> None:
            pick.chosen = date(pick.year, pick.month, day)

        return choose

    def cell(day: int) -> Widget:
        if day == 0:
            return Spacer(height=CELL)
        when = date(pick.year, pick.month, day)
        return _cell(f"day_{day}", str(day), f"{when:%A, %B} {day}", chosen=when == pick.chosen, on_tap=chooser(day))

    return tuple(cell(day) for week in weeks for day in week)
