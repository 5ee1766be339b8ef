"""How the oracles get about in Clock."""

from __future__ import annotations

from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone.flows import find_and_tap
from rlfactory.envs.tasks.phone.times import Time

CLOCK = "com.google.android.deskclock"


async def add_alarm(hand: Hand, time: Time, *, label: str = "") -> None:
    await open_alarms(hand)
    await hand.tap("Add alarm")
    await _pick(hand, time)
    if label:
        await find_and_tap(hand, "Add label")
        await hand.type(label)
        await hand.tap("OK")


async def toggle_alarm(hand: Hand, time: Time) -> None:
    await open_alarms(hand)
    await find_and_tap(hand, f"Alarm {time}")


async def delete_alarm(hand: Hand, time: Time) -> None:
    await open_alarms(hand)
    await find_and_tap(hand, f"Expand alarm {time}")
    await find_and_tap(hand, "Delete")


async def move_alarm(hand: Hand, time: Time, new: Time) -> None:
    """Give the alarm at `time` another time."""
    await open_alarms(hand)
    await find_and_tap(hand, time.text)
    await _pick(hand, new)


async def start_timer(hand: Hand, digits: str) -> None:
    """Start a timer by the digits of its length; the tab shows its keypad while there is no timer."""
    await open_tab(hand, "Timer")
    for digit in digits:
        await hand.tap(resource_id=f"timer_setup_digit_{digit}")
    await hand.tap("Start")


async def start_stopwatch(hand: Hand) -> None:
    await open_tab(hand, "Stopwatch")
    await hand.tap("Start")


async def open_alarms(hand: Hand) -> None:
    await open_tab(hand, "Alarm")


async def open_tab(hand: Hand, name: str) -> None:
    """Open Clock at one of its tabs; the tab bar comes after the title, which may have the same text."""
    await hand.open("Clock")
    await hand.tap(name, index=-1)


async def _pick(hand: Hand, time: Time) -> None:
    await hand.tap(resource_id=f"hour_{time.hour}")
    await hand.tap(resource_id=f"minute_{time.minute}")
    await hand.tap("OK")
