"""Clock: `com.google.android.deskclock`, its tabs, the world clock, and the ringing of alarms and timers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.clock.alarms import AlarmTab
from rlfactory.emulators.simulator.apps.clock.data import (
    PACKAGE,
    all_alarms,
    all_timers,
    create_database,
    plan_alarms,
    planned,
    save_alarm,
    save_timers,
)
from rlfactory.emulators.simulator.apps.clock.stopwatch import stopwatch_body
from rlfactory.emulators.simulator.apps.clock.timer import TimerTab, timer_name
from rlfactory.emulators.simulator.apps.golden import ALARMS as GOLDEN_ALARMS
from rlfactory.emulators.simulator.apps.kit.common import confirm_dialog, empty_state, search_bar_title
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.settings.time import format_time
from rlfactory.emulators.simulator.view.widgets import (
    AppBar,
    Callback,
    Column,
    Dialog,
    Divider,
    Fab,
    ListItem,
    Row,
    Scaffold,
    Scroll,
    Spacer,
    Tab,
    TabBar,
    Text,
    Widget,
)

TABS = (
    Tab(text="Alarm", icon="alarm"),
    Tab(text="Clock", icon="clock-outline"),
    Tab(text="Timer", icon="timer-sand"),
    Tab(text="Stopwatch", icon="timer-outline"),
)
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
class DeskClock(Activity):
    """The four tabs."""

    name: ClassVar[str] = "com.android.deskclock.DeskClock"
    tab: int = 0
    alarms: AlarmTab = field(default_factory=AlarmTab)
    timers: TimerTab = field(default_factory=TimerTab)
    removing: str = ""
    """The city that is about to go."""

    def on_create(self, system: System) -> None:
        self.tab = _TAB_OF_ACTION.get(self.intent.action, self.tab)

    def build(self, system: System) -> Widget:
        return Scaffold(
            app_bar=AppBar(title=TABS[self.tab].text),
            body=self._body(system),
            bottom_bar=TabBar(key="bottom_view", tabs=TABS, index=self.tab, on_select=self._select, place="bottom"),
            fab=self._fab(system),
        )

    def _body(self, system: System) -> Widget:
        match self.tab:
            case 0:
                return self.alarms.body(system)
            case 1:
                return self._world(system)
            case 2:
                return self.timers.body(system)
            case _:
                return stopwatch_body(system)

    def _fab(self, system: System) -> Fab | None:
        match self.tab:
            case 0:
                return self.alarms.fab(system)
            case 1:
                return Fab(key="fab", icon="plus", description="Add city", on_tap=lambda: system.start(CitySelection))
            case 2:
                return self.timers.fab(system)
            case _:
                return None

    def _world(self, system: System) -> Widget:
        now = system.now()
        here = Column(
            children=(
                Text(key="digital_clock", text=format_time(system, now.hour, now.minute), style="clock_huge"),
                Text(text=f"{now:%a, %b} {now.day}", style="title_medium", color="on_surface_variant"),
            ),
            gap=4,
            padding=(24, 24, 24, 24),
            align="start",
        )
        rows = tuple(self._city(system, name, now) for name in chosen_cities(system))
        return Scroll(
            key="cities", children=(here, *((Divider(),) if rows else ()), *rows, Spacer(height=96)), height="fill"
        )

    def _city(self, system: System, name: str, now: datetime) -> Widget:
        there = now.astimezone(ZoneInfo(CITIES[name]))

        def ask() -> None:
            self.removing = name

        return Row(
            key="city",
            children=(
                Column(
                    children=(
                        Text(text=name, style="title_large"),
                        Text(text=offset_text(now, there), style="body_medium", color="on_surface_variant"),
                    ),
                    weight=1,
                ),
                Text(text=format_time(system, there.hour, there.minute), style="display_small"),
            ),
            padding=(24, 12, 24, 12),
            width="fill",
            on_tap=ask,
            on_long_press=ask,
        )

    def dialog(self, system: System) -> Dialog | None:
        if self.removing:
            return confirm_dialog(
                f"Remove {self.removing}?", "", yes="Remove", on_yes=lambda: self._remove(system), on_no=self._keep
            )
        return self.alarms.dialog(system) if self.tab == 0 else None

    def on_back(self, system: System) -> bool:
        return self.tab == 2 and self.timers.on_back(system)

    def _select(self, index: int) -> None:
        self.tab = index

    def _keep(self) -> None:
        self.removing = ""

    def _remove(self, system: System) -> None:
        _save_cities(system, tuple(name for name in chosen_cities(system) if name != self.removing))
        self._keep()


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


@dataclass(kw_only=True)
class CitySelection(Activity):
    """Cities to add, with a search."""

    name: ClassVar[str] = "com.android.deskclock.worldclock.CitySelectionActivity"
    query: str = ""

    def build(self, system: System) -> Widget:
        chosen, now = chosen_cities(system), system.now()
        wanted = [
            name for name in CITIES if name not in chosen and name.casefold().startswith(self.query.casefold().strip())
        ]
        rows: tuple[Widget, ...] = tuple(self._row(system, name, now) for name in wanted)
        return Scaffold(
            app_bar=search_bar_title("Search for a city", self.query, self._type, system.back),
            body=Scroll(
                key="city_list", children=rows or (empty_state("map-search-outline", "No cities"),), height="fill"
            ),
        )

    def _row(self, system: System, name: str, now: datetime) -> Widget:
        there = now.astimezone(ZoneInfo(CITIES[name]))
        time = Text(text=format_time(system, there.hour, there.minute), color="on_surface_variant")
        return ListItem(key="city_name", title=name, trailing=time, on_tap=self._adder(system, name))

    def _adder(self, system: System, name: str) -> Callback:
        def add() -> None:
            _save_cities(system, (*chosen_cities(system), name))
            system.back()

        return add

    def _type(self, text: str) -> None:
        self.query = text


_TAB_OF_ACTION = {
    "android.intent.action.SHOW_ALARMS": 0,
    "android.intent.action.SHOW_TIMERS": 2,
}


class _Clock(App):
    def install(self, system: System) -> None:
        create_database(system)

    def furnish(self, system: System) -> None:
        for alarm in GOLDEN_ALARMS:
            save_alarm(system, alarm)

    def on_launch(self, system: System) -> None:
        create_database(system)
        plan_alarms(system)

    def on_time(self, system: System) -> None:
        _end_timers(system)
        _ring_alarms(system)


def _end_timers(system: System) -> None:
    """Announce each timer that has run out, once."""
    uptime, timers = system.uptime_ms(), all_timers(system)
    over = [timer for timer in timers if not timer.notified and timer.ends_at_ms and timer.ends_at_ms <= uptime]
    if not over:
        return
    save_timers(system, [replace(timer, notified=True) if timer in over else timer for timer in timers])
    for timer in over:
        system.notify(PACKAGE, timer.id, title="Time\u2019s up", text=timer_name(timer), icon="timer-sand")


def _ring_alarms(system: System) -> None:
    """Announce each alarm whose time has come; one that does not repeat is off from then on.

    Alarms that a change of the clock has jumped over do not ring.
    """
    now, plan = system.now(), planned(system)
    if all(when > now for _, when in plan):
        return
    due = [alarm_id for alarm_id, when in plan if now - LATEST_RING < when <= now]
    for alarm in all_alarms(system):
        if alarm.id in due:
            time = format_time(system, alarm.hour, alarm.minute)
            system.notify(PACKAGE, _ALARM_NUMBERS + alarm.id, title=alarm.label or "Alarm", text=time, icon="alarm")
            if not alarm.days:
                save_alarm(system, replace(alarm, enabled=False))
    plan_alarms(system)


LATEST_RING = timedelta(minutes=30)
_ALARM_NUMBERS = 1_000_000
"""Notifications of alarms are numbered from here, those of timers from 1."""

CLOCK = _Clock(
    package=PACKAGE,
    label="Clock",
    icon="clock",
    color="#1A73E8",
    activities=(DeskClock, CitySelection),
    version_name="7.5",
    version_code=76002009,
    uses_permissions=("POST_NOTIFICATIONS",),
    filters={
        "android.intent.action.SHOW_ALARMS": DeskClock,
        "android.intent.action.SHOW_TIMERS": DeskClock,
    },
)
