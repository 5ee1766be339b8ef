"""How the oracles get about in Clock."""

from __future__ import annotations

from rlfactory.envs.tasks.phone.flows.common import find_and_tap, find_clear
from rlfactory.envs.tasks.phone.times import Time
from rlfactory.envs.tasks.ui_driver import UiDriver

CLOCK = "com.google.android.deskclock"


async def add_alarm(ui: UiDriver, time: Time, *, label: str = "") -> None:
    await open_alarms(ui)
    await ui.tap("Add alarm")
    await _pick(ui, time)
    if label:
        await find_and_tap(ui, "Add label")
        await ui.type(label)
        await ui.tap("OK")


async def see_to_alarm(ui: UiDriver, time: Time, *, change: bool) -> None:
    """Look at the switch of an alarm, and tap it if it has to change."""
    await open_alarms(ui)
    await find_clear(ui, f"Alarm {time}")
    if change:
        await ui.tap(f"Alarm {time}")


async def delete_alarm(ui: UiDriver, time: Time) -> None:
    await open_alarms(ui)
    for control in (f"Expand alarm {time}", "Delete"):
        await find_clear(ui, control)
        await ui.tap(control)


async def move_alarm(ui: UiDriver, time: Time, new: Time) -> None:
    """Give the alarm at `time` another time."""
    await open_alarms(ui)
    await find_clear(ui, time.text)
    await ui.tap(time.text)
    await _pick(ui, new)


async def start_timer(ui: UiDriver, digits: str) -> None:
    """Start a timer by the digits of its length; the tab shows its keypad while there is no timer."""
    await open_tab(ui, "Timer")
    for digit in digits:
        await ui.tap(resource_id=f"timer_setup_digit_{digit}")
    await ui.tap("Start")


async def start_stopwatch(ui: UiDriver) -> None:
    await open_tab(ui, "Stopwatch")
    await ui.tap("Start")


async def open_alarms(ui: UiDriver) -> None:
    await open_tab(ui, "Alarm")


async def open_tab(ui: UiDriver, name: str) -> None:
    """Open Clock at one of its tabs; the tab bar comes after the title, which may have the same text."""
    await ui.open("Clock")
    await ui.tap(name, index=-1)


async def _pick(ui: UiDriver, time: Time) -> None:
    await ui.tap(resource_id=f"hour_{time.hour}")
    await ui.tap(resource_id=f"minute_{time.minute}")
    await ui.tap("OK")
