"""Settings: date and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import page, row, section
from rlfactory.emulators.simulator.apps.kit.pickers import DatePick, TimePick, date_dialog, time_dialog
from rlfactory.emulators.simulator.apps.settings.toggles import Toggle
from rlfactory.emulators.simulator.view.widgets import Dialog, Widget

AUTO_TIME = Toggle(title="Set time automatically", namespace="global", setting="auto_time", default="1")
AUTO_ZONE = Toggle(title="Set time zone automatically", namespace="global", setting="auto_time_zone", default="1")
TIME_FORMAT = Toggle(
    title="Use 24-hour format",
    namespace="system",
    setting="time_12_24",
    default="24",
    on="24",
    off="12",
    subtitle="13:00 rather than 1:00 PM",
)


def uses_24_hours(system: System) -> bool:
    return TIME_FORMAT.checked(system)


def format_time(system: System, hour: int, minute: int) -> str:
    """Return a time of day as the phone shows it: "07:05", or "7:05 AM"."""
    if uses_24_hours(system):
        return f"{hour:02d}:{minute:02d}"
    return f"{hour % 12 or 12}:{minute:02d} {'AM' if hour < 12 else 'PM'}"


def zone_summary(now: datetime) -> str:
    """Return the zone as "GMT+00:00 UTC"."""
    offset = f"{now:%z}"
    return f"GMT{offset[:3]}:{offset[3:5]} {now.tzname() or ''}".rstrip()


@dataclass(kw_only=True)
class DateTimeSettings(Activity):
    name: ClassVar[str] = ".Settings$DateTimeSettingsActivity"
    time_pick: TimePick | None = None
    date_pick: DatePick | None = None

    def build(self, system: System) -> Widget:
        now = system.now()
        automatic = AUTO_TIME.checked(system)
        return page(
            system,
            "Date & time",
            (
                AUTO_TIME.row(system),
                row(
                    "date",
                    "Date",
                    subtitle=f"{now:%B} {now.day}, {now.year}",
                    enabled=not automatic,
                    on_tap=lambda: self._pick_date(system),
                ),
                row(
                    "time",
                    "Time",
                    subtitle=format_time(system, now.hour, now.minute),
                    enabled=not automatic,
                    on_tap=lambda: self._pick_time(system),
                ),
                section("Time zone"),
                AUTO_ZONE.row(system),
                row("timezone", "Time zone", subtitle=zone_summary(now), enabled=False),
                section("Time format"),
                TIME_FORMAT.row(system),
            ),
        )

    def dialog(self, system: System) -> Dialog | None:
        if self.time_pick is not None:
            return time_dialog(
                self.time_pick,
                twenty_four=uses_24_hours(system),
                on_ok=lambda: self._apply(system),
                on_cancel=self._close,
            )
        if self.date_pick is not None:
            return date_dialog(self.date_pick, on_ok=lambda: self._apply(system), on_cancel=self._close)
        return None

    def _pick_date(self, system: System) -> None:
        self.date_pick = DatePick.at(system.now().date())

    def _pick_time(self, system: System) -> None:
        now = system.now()
        self.time_pick = TimePick(hour=now.hour, minute=now.minute)

    def _apply(self, system: System) -> None:
        now = system.now()
        if self.time_pick is not None:
            now = now.replace(hour=self.time_pick.hour, minute=self.time_pick.minute, second=0, microsecond=0)
        if self.date_pick is not None:
            day = self.date_pick.chosen
            now = now.replace(year=day.year, month=day.month, day=day.day)
        system.set_time(now)
        self._close()

    def _close(self) -> None:
        self.time_pick = self.date_pick = None
