"""Clock: the alarm tab."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.clock.data import DAYS, EVERY_DAY, Alarm, all_alarms, delete_alarm, save_alarm
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import choice_dialog, prompt_dialog
from rlfactory.emulators.simulator.apps.kit.pickers import TimePick, format_time, time_dialog
from rlfactory.emulators.simulator.apps.kit.rows import empty_state, plural
from rlfactory.emulators.simulator.view import widgets as ui

WEEK_FROM_SUNDAY = (6, 0, 1, 2, 3, 4, 5)
RINGTONES = ("Bright Morning", "Cuckoo Clock", "Early Twilight", "Fresh Start", "Orbit", "Silent")


@dataclass(kw_only=True)
class AlarmTab:
    """What the alarm tab shows: the open card and the open dialog."""

    expanded: int = 0
    """Id of the alarm whose card is open."""
    editing: int = 0
    """Id of the alarm whose time, label or ringtone is being changed; 0 with a `pick` for a new one."""
    pick: TimePick | None = None
    label: str | None = None
    ringtone: bool = False

    def fab(self, system: System) -> ui.Fab:
        return ui.Fab(key="fab", icon="plus", description="Add alarm", on_tap=lambda: self._add(system))

    def body(self, system: System) -> ui.Widget:
        alarms = all_alarms(system)
        if not alarms:
            return empty_state("alarm", "No Alarms")
        cards = tuple(self._card(system, alarm) for alarm in alarms)
        return ui.Scroll(
            key="alarm_recycler_view",
            children=(*cards, ui.Spacer(height=96)),
            gap=12,
            padding=(16, 8, 16, 0),
            height="fill",
        )

    def dialog(self, system: System) -> ui.Dialog | None:
        if self.pick is not None:
            return time_dialog(system, self.pick, on_ok=lambda: self._picked(system), on_cancel=self._close)
        if self.label is not None:
            label = self.label.strip()
            return prompt_dialog(
                "Label",
                self.label,
                key="label_edit",
                hint="Label",
                on_change=writer(self, "label"),
                on_ok=lambda: self._change(system, label=label),
                on_cancel=self._close,
            )
        if self.ringtone:
            alarm = self._edited(system)
            options = [(name, name) for name in RINGTONES]
            current = alarm.ringtone if alarm else ""
            return choice_dialog(
                "Alarm sound", options, current, lambda name: self._change(system, ringtone=name), self._close
            )
        return None

    # --- cards -----------------------------------------------------------------------------------------------------

    def _card(self, system: System, alarm: Alarm) -> ui.Widget:
        open_ = alarm.id == self.expanded
        turn = setter(self, expanded=0 if open_ else alarm.id)
        time = format_time(system, alarm.hour, alarm.minute)
        color = "on_surface" if alarm.enabled else "outline"
        arrow = ui.IconButton(
            key="arrow",
            icon="chevron-up" if open_ else "chevron-down",
            description=f"{'Collapse' if open_ else 'Expand'} alarm {time}",
            container="surface_container_highest",
            diameter=36,
            on_tap=turn,
        )
        edit = setter(self, editing=alarm.id, pick=TimePick(hour=alarm.hour, minute=alarm.minute))
        clock = ui.Text(key="digital_clock", text=time, style="display_large", color=color, on_tap=edit)
        on_off = ui.Switch(
            key="onoff",
            description=f"Alarm {time}",
            checked=alarm.enabled,
            on_change=lambda on: self._enable(system, alarm, on),
        )
        when = ui.Text(text=_when(system, alarm), style="body_medium", color=color, weight=1)
        return ui.Column(
            key="alarm",
            children=(
                ui.Row(children=(self._label_line(alarm, open_=open_), arrow), width="fill"),
                ui.Row(children=(clock, ui.Spacer(weight=1)), width="fill"),
                ui.Row(children=(when, on_off), width="fill"),
                *(self._details(system, alarm) if open_ else ()),
            ),
            padding=(20, 12, 16, 12),
            background="surface_container_high" if open_ else "surface_container",
            radius=28,
            width="fill",
            on_tap=None if open_ else turn,
        )

    def _label_line(self, alarm: Alarm, *, open_: bool) -> ui.Widget:
        label, weight = (alarm.label or "Add label", 0) if open_ else (alarm.label, 1)
        text = ui.Text(text=label, style="title_medium", color="on_surface_variant", max_lines=1, weight=weight)
        if not open_:
            return text
        return ui.Row(
            key="edit_label",
            children=(ui.Icon(icon="label-outline", size=20), text),
            gap=12,
            height=44,
            weight=1,
            on_tap=setter(self, editing=alarm.id, label=alarm.label),
        )

    def _details(self, system: System, alarm: Alarm) -> tuple[ui.Widget, ...]:
        days = ui.Row(
            children=tuple(_day(system, alarm, day) for day in WEEK_FROM_SUNDAY),
            justify="space_between",
            width="fill",
            padding=(0, 12, 0, 8),
        )
        checkbox = ui.Checkbox(
            description="Vibrate", checked=alarm.vibrate, on_change=lambda on: _save(system, replace(alarm, vibrate=on))
        )
        turn = lambda: _save(system, replace(alarm, vibrate=not alarm.vibrate))  # noqa: E731
        return (
            days,
            _line(
                "choose_ringtone", "bell-ring-outline", alarm.ringtone, setter(self, editing=alarm.id, ringtone=True)
            ),
            _line("vibrate_onoff", "vibrate", "Vibrate", turn, checkbox),
            _line("delete", "delete-outline", "Delete", lambda: self._delete(system, alarm)),
        )

    # --- events ----------------------------------------------------------------------------------------------------

    def _add(self, system: System) -> None:
        now = system.now()
        self.editing, self.pick = 0, TimePick(hour=now.hour, minute=now.minute)

    def _edited(self, system: System) -> Alarm | None:
        return next((alarm for alarm in all_alarms(system) if alarm.id == self.editing), None)

    def _picked(self, system: System) -> None:
        pick, alarm = self.pick, self._edited(system)
        self._close()
        if pick is not None:
            chosen = replace(alarm or Alarm(hour=0, minute=0), hour=pick.hour, minute=pick.minute, enabled=True)
            self.expanded = save_alarm(system, chosen)
            _announce(system, chosen)

    def _change(self, system: System, **changes: Any) -> None:
        """Change the alarm whose dialog is open."""
        alarm = self._edited(system)
        self._close()
        if alarm is not None:
            save_alarm(system, replace(alarm, **changes))

    def _enable(self, system: System, alarm: Alarm, on: bool) -> None:
        save_alarm(system, replace(alarm, enabled=on))
        if on:
            _announce(system, alarm)

    def _delete(self, system: System, alarm: Alarm) -> None:
        delete_alarm(system, alarm.id)
        self.expanded = 0
        system.toast("Alarm deleted")

    def _close(self) -> None:
        self.pick, self.label, self.ringtone = None, None, False


def _save(system: System, alarm: Alarm) -> None:
    save_alarm(system, alarm)


def _line(key: str, icon: str, text: str, on_tap: ui.Callback, *end: ui.Widget) -> ui.Widget:
    children = (ui.Icon(icon=icon), ui.Text(text=text, weight=1), *end)
    return ui.Row(key=key, children=children, gap=16, height=48, width="fill", on_tap=on_tap)


def _day(system: System, alarm: Alarm, day: int) -> ui.Widget:
    chosen = bool(alarm.days >> day & 1)
    color = "on_primary" if chosen else "on_surface"
    return ui.Centered(
        key=f"day_{DAYS[day].lower()}",
        description=DAYS[day],
        children=(ui.Text(text=DAYS[day][0], style="label_large", color=color, text_align="center"),),
        width=40,
        height=40,
        radius=20,
        background="primary" if chosen else None,
        border=None if chosen else "outline",
        selected=chosen,
        on_tap=lambda: _save(system, replace(alarm, days=alarm.days ^ 1 << day)),
    )


def _when(system: System, alarm: Alarm) -> str:
    """Return the line that says when it rings: days, or today or tomorrow."""
    if alarm.days == EVERY_DAY:
        return "Every day"
    if alarm.days:
        return ", ".join(DAYS[day][:3] for day in WEEK_FROM_SUNDAY if alarm.days >> day & 1)
    if not alarm.enabled:
        return "Not scheduled"
    now = system.now()
    return "Today" if alarm.next_time(now).date() == now.date() else "Tomorrow"


def _announce(system: System, alarm: Alarm) -> None:
    """Say how long it is until the alarm rings."""
    ahead = alarm.next_time(system.now()) - system.now()
    minutes = max(int(ahead.total_seconds() + 59) // 60, 1)
    parts = [(minutes // 1440, "day"), (minutes // 60 % 24, "hour"), (minutes % 60, "minute")]
    system.toast(f"Alarm set for {', '.join(plural(count, unit) for count, unit in parts if count)} from now.")
