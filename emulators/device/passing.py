"""What a phone does by itself while time passes: the one kind of change that is nobody's doing."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Final

from rlfactory.emulators.device.probes import record
from rlfactory.emulators.device.state import Change, DeviceState

MAX_DRIFT: Final = timedelta(minutes=2)
"""By which a phone may correct its clock; who sets it by hand moves it further."""


def untouched(before: DeviceState, after: DeviceState) -> dict[str, str | None]:
    """Return what of `before` is another value by the time of `after`, had nobody touched the phone: key -> value.

    An alarm that does not repeat is off once it has rung, or gone if it was to be deleted then (None). A timer that
    runs ends; no touch does that.
    """
    changed: dict[str, str | None] = {}
    for key, value in before.items():
        if key.startswith("alarms/"):
            alarm = json.loads(value)
            if alarm["on"] and not alarm["days"] and has_come(before, after, key.split("/")[1]):
                changed[key] = None if alarm["once"] else record(**alarm | {"on": False})
        elif key.startswith("timers/"):
            timer = json.loads(value)
            if timer["state"] == "running":
                changed[key] = record(**timer | {"state": "expired"})
    return changed


def has_come(before: DeviceState, after: DeviceState, time: str) -> bool:
    """Tell whether this time of day ("07:25") has come between two states."""
    if "clock/now" not in before or "clock/now" not in after:
        return False
    start, end = (datetime.fromisoformat(state["clock/now"]) for state in (before, after))
    hour, minute = (int(part) for part in time.split(":"))
    first = start.replace(hour=hour, minute=minute, second=0)
    return (first if first > start else first + timedelta(days=1)) <= end


def clock_set(before: DeviceState, after: DeviceState) -> tuple[Change, ...]:
    """Return the change that somebody set the phone's clock by hand, if so."""
    boots = before.get("clock/boot"), after.get("clock/boot")
    if boots[0] is None or boots[1] is None:
        return ()
    moved = datetime.fromisoformat(boots[1]) - datetime.fromisoformat(boots[0])
    return (Change(key="clock/boot", before=boots[0], after=boots[1]),) if abs(moved) > MAX_DRIFT else ()
