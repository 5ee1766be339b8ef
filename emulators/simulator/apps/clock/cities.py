"""Clock: the world clock's tab and the list of cities to add to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.clock.data import PACKAGE
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.pickers import format_time
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import empty_state, search_bar_title
from rlfactory.emulators.simulator.view import widgets as ui

CITIES = {
    "Amsterdam": "Europe/Amsterdam",
    "Athens": "Europe/Athens",
    "Auckland": "Pacific/Auckland",
    "Bangkok": "Asia/Bangkok",
    "Beijing": "Asia/Shanghai",
    "Berlin": "Europe/Berlin",
    "Buenos Aires": "America/Argentina/Buenos_Aires",
    "Cairo": "Africa/Cairo",
    "Chicago": "America/Chicago",
    "Delhi": "Asia/Kolkata",
    "Denver": "America/Denver",
    "Dubai": "Asia/Dubai",
    "Hong Kong": "Asia/Hong_Kong",
    "Honolulu": "Pacific/Honolulu",
    "Istanbul": "Europe/Istanbul",
    "Johannesburg": "Africa/Johannesburg",
    "Lagos": "Africa/Lagos",
    "Lisbon": "Europe/Lisbon",
    "London": "Europe/London",
    "Los Angeles": "America/Los_Angeles",
    "Madrid": "Europe/Madrid",
    "Mexico City": "America/Mexico_City",
    "Nairobi": "Africa/Nairobi",
    "New York": "America/New_York",
    "Oslo": "Europe/Oslo",
    "Paris": "Europe/Paris",
    "Rome": "Europe/Rome",
    "San Francisco": "America/Los_Angeles",
    "São Paulo": "America/Sao_Paulo",
    "Seoul": "Asia/Seoul",
    "Singapore": "Asia/Singapore",
    "Stockholm": "Europe/Stockholm",
    "Sydney": "Australia/Sydney",
    "Tokyo": "Asia/Tokyo",
    "Toronto": "America/Toronto",
    "Vienna": "Europe/Vienna",
    "Zürich": "Europe/Zurich",
}


def chosen_cities(system: System) -> tuple[str, ...]:
    names = Preferences.of(system, PACKAGE).get("cities", "")
    return tuple(name for name in names.split("|") if name in CITIES)


def _save_cities(system: System, names: tuple[str, ...]) -> None:
    Preferences.of(system, PACKAGE).put(cities="|".join(names) or None)


@dataclass(kw_only=True)
class CityTab:
    """What the world clock's tab shows."""

    removing: str = ""
    """The city that is about to go."""

    def fab(self, system: System) -> ui.Fab:
        return ui.Fab(key="fab", icon="plus", description="Add city", on_tap=partial(system.start, CitySelection))

    def body(self, system: System) -> ui.Widget:
        now = system.minute()
        here = ui.Column(
            children=(
                ui.Text(key="digital_clock", text=format_time(system, now.hour, now.minute), style="clock_huge"),
                ui.Text(text=f"{now:%a, %b} {now.day}", style="title_medium", color="on_surface_variant"),
            ),
            gap=4,
            padding=(24, 24, 24, 24),
            align="start",
        )
        rows = tuple(self._city(system, name, now) for name in chosen_cities(system))
        line = (ui.Divider(),) if rows else ()
        return ui.Scroll(key="cities", children=(here, *line, *rows, ui.Spacer(height=96)), height="fill")

    def _city(self, system: System, name: str, now: datetime) -> ui.Widget:
        there = now.astimezone(ZoneInfo(CITIES[name]))
        ask = setter(self, removing=name)
        texts = (
            ui.Text(text=name, style="title_large"),
            ui.Text(text=offset_text(now, there), style="body_medium", color="on_surface_variant"),
        )
        time = ui.Text(text=format_time(system, there.hour, there.minute), style="display_small")
        return ui.Row(
            key="city",
            children=(ui.Column(children=texts, weight=1), time),
            padding=(24, 12, 24, 12),
            width="fill",
            on_tap=ask,
            on_long_press=ask,
        )

    def dialog(self, system: System) -> ui.Dialog | None:
        def remove() -> None:
            _save_cities(system, tuple(name for name in chosen_cities(system) if name != self.removing))
            self.removing = ""

        if not self.removing:
            return None
        keep = setter(self, removing="")
        return confirm_dialog(f"Remove {self.removing}?", "", yes="Remove", on_yes=remove, on_no=keep)


def offset_text(here: datetime, there: datetime) -> str:
    """Return "Tomorrow, +9 hrs", as under a city's name."""
    days = (there.date() - here.date()).days
    day = {-1: "Yesterday", 0: "Today", 1: "Tomorrow"}[days]
    minutes = int(((there.utcoffset() or timedelta()) - (here.utcoffset() or timedelta())).total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    if not minutes:
        return f"{day}, same time"
    amount = f"{hours}:{rest:02d}" if rest else f"{hours}"
    return f"{day}, {'+' if minutes > 0 else '-'}{amount} hr{'' if hours == 1 and not rest else 's'}"


class CitySelection(Activity):
    """Cities to add, with a search."""

    name = "com.android.deskclock.worldclock.CitySelectionActivity"
    query: str = ""

    def build(self, system: System) -> ui.Widget:
        chosen, now, wanted = chosen_cities(system), system.now(), self.query.casefold().strip()
        rows: list[ui.Widget] = [
            self._row(system, name, now) for name in CITIES if name not in chosen and name.casefold().startswith(wanted)
        ]
        if not rows:
            rows.append(empty_state("map-search-outline", "No cities"))
        return ui.Scaffold(
            app_bar=search_bar_title("Search for a city", self.query, writer(self, "query"), system.back),
            body=ui.Scroll(key="city_list", children=tuple(rows), height="fill"),
        )

    def _row(self, system: System, name: str, now: datetime) -> ui.Widget:
        def add() -> None:
            _save_cities(system, (*chosen_cities(system), name))
            system.back()

        there = now.astimezone(ZoneInfo(CITIES[name]))
        time = ui.Text(text=format_time(system, there.hour, there.minute), color="on_surface_variant")
        return ui.ListItem(key="city_name", title=name, trailing=time, on_tap=add)
