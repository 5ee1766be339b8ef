"""Clock: `com.google.android.deskclock`, its tabs, and the ringing of alarms and timers."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import timedelta

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.clock.alarms import AlarmTab
from rlfactory.emulators.simulator.apps.clock.cities import CitySelection, CityTab
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
from rlfactory.emulators.simulator.apps.clock.stopwatch import StopwatchTab
from rlfactory.emulators.simulator.apps.clock.timer import TimerTab, timer_name
from rlfactory.emulators.simulator.apps.golden import ALARMS as GOLDEN_ALARMS
from rlfactory.emulators.simulator.apps.kit.callbacks import writer
from rlfactory.emulators.simulator.apps.kit.pickers import format_time
from rlfactory.emulators.simulator.view import widgets as ui

TABS = (
    ui.Tab(text="Alarm", icon="alarm"),
    ui.Tab(text="Clock", icon="clock-outline"),
    ui.Tab(text="Timer", icon="timer-sand"),
    ui.Tab(text="Stopwatch", icon="timer-outline"),
)
_TAB_OF_ACTION = {"android.intent.action.SHOW_ALARMS": 0, "android.intent.action.SHOW_TIMERS": 2}


class DeskClock(Activity):
    """The four tabs."""

    name = "com.android.deskclock.DeskClock"
    index: int = 0
    alarms: AlarmTab = field(default_factory=AlarmTab)
    cities: CityTab = field(default_factory=CityTab)
    timers: TimerTab = field(default_factory=TimerTab)
    stopwatch: StopwatchTab = field(default_factory=StopwatchTab)

    @property
    def tab(self) -> AlarmTab | CityTab | TimerTab | StopwatchTab:
        return (self.alarms, self.cities, self.timers, self.stopwatch)[self.index]

    def on_create(self, system: System) -> None:
        self.index = _TAB_OF_ACTION.get(self.intent.action, self.index)

    def build(self, system: System) -> ui.Widget:
        select = writer(self, "index")
        return ui.Scaffold(
            app_bar=ui.AppBar(title=TABS[self.index].text),
            body=self.tab.body(system),
            bottom_bar=ui.TabBar(key="bottom_view", tabs=TABS, index=self.index, on_select=select, place="bottom"),
            fab=self.tab.fab(system),
        )

    def dialog(self, system: System) -> ui.Dialog | None:
        return self.tab.dialog(system)

    def on_back(self, system: System) -> bool:
        return self.tab is self.timers and self.timers.on_back(system)


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
    filters={"android.intent.action.SHOW_ALARMS": DeskClock, "android.intent.action.SHOW_TIMERS": DeskClock},
)
