"""Settings: date and time."""

from __future__ import annotations

from datetime import datetime

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.pickers import DatePick, TimePick, date_dialog, format_time, time_dialog
from rlfactory.emulators.simulator.apps.settings.page import Act, Heading, Item, Page, Toggle
from rlfactory.emulators.simulator.view import widgets as ui

AUTO_TIME = Toggle("Set time automatically", "global/auto_time", default="1")


def zone_summary(now: datetime) -> str:
    """Return the zone as "GMT+00:00 UTC"."""
    offset = f"{now:%z}"
    return f"GMT{offset[:3]}:{offset[3:5]} {now.tzname() or ''}".rstrip()


def _by_hand(system: System) -> bool:
    return not AUTO_TIME.checked(system)


class DateTimeSettings(Page):
    name = ".Settings$DateTimeSettingsActivity"
    title = "Date & time"
    picked: DatePick | TimePick | None = None

    def _pick_date(self, system: System) -> None:
        self.picked = DatePick.at(system.now().date())

    def _pick_time(self, system: System) -> None:
        now = system.now()
        self.picked = TimePick(hour=now.hour, minute=now.minute)

    items = (
        AUTO_TIME,
        Act(
            "Date",
            _pick_date,
            subtitle=lambda system: f"{system.now():%B} {system.now().day}, {system.now().year}",
            enabled=_by_hand,
        ),
        Act(
            "Time",
            _pick_time,
            subtitle=lambda system: format_time(system, system.now().hour, system.now().minute),
            enabled=_by_hand,
        ),
        Heading("Time zone"),
        Toggle("Set time zone automatically", "global/auto_time_zone", default="1"),
        Item(
            "Time zone",
            key="timezone",
            subtitle=lambda system: zone_summary(system.now()),
            enabled=lambda system: False,
        ),
        Heading("Time format"),
        Toggle(
            "Use 24-hour format",
            "system/time_12_24",
            default="24",
            on="24",
            off="12",
            subtitle="13:00 rather than 1:00 PM",
        ),
    )

    def dialog(self, system: System) -> ui.Dialog | None:
        match self.picked:
            case None:
                return None
            case TimePick() as pick:
                return time_dialog(system, pick, on_ok=lambda: self._apply(system), on_cancel=setter(self, picked=None))
            case DatePick() as pick:
                return date_dialog(pick, on_ok=lambda: self._apply(system), on_cancel=setter(self, picked=None))

    def _apply(self, system: System) -> None:
        now, pick = system.now(), self.picked
        if isinstance(pick, TimePick):
            now = now.replace(hour=pick.hour, minute=pick.minute, second=0, microsecond=0)
        elif pick is not None:
            now = now.replace(year=pick.chosen.year, month=pick.chosen.month, day=pick.chosen.day)
        system.set_time(now)
        self.picked = None
