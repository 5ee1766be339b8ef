"""The exact changes that tasks of the phone want: each says which keys it is about and what holds of them afterwards.

Whatever a want is not about has to stay as it was. A want compares before and after, so one alarm too many, a contact
saved twice or a label that nobody asked for is as wrong as nothing done. What a person would take for the same is the
same: case and spaces of names, labels and texts, how a phone number is written, blank lines in a note.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from rlfactory.emulators.device.state import DeviceState, has_come
from rlfactory.envs.tasks.phone.base import Want, literal, setting_is
from rlfactory.envs.tasks.phone.pools import Person, digits_of

Record = Mapping[str, Any]


def any_case(text: str) -> str:
    """Return the fnmatch pattern that matches this text in any case."""
    return "".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else literal(c) for c in text)


# --- what a person takes for the same --------------------------------------------------------------------------------

_IN_A_NUMBER: Final = re.compile(r"\+?\(?\d[\d\s().\-/\u2010-\u2015]*\d")


def same_words(given: str, wanted: str) -> bool:
    """Compare names and labels: case and spaces do not matter."""
    return given.casefold().split() == wanted.casefold().split()


def same_text(given: str, wanted: str) -> bool:
    """Compare texts line by line, as `same_words`; blank lines do not matter."""
    return _lines(given) == _lines(wanted)


def _lines(text: str) -> list[list[str]]:
    return [words for line in text.splitlines() if (words := line.casefold().split())]


def same_number(given: str, wanted: str) -> bool:
    """Compare phone numbers, however they are grouped, with the country's code (+1) or without."""
    digits, own = digits_of(given), digits_of(wanted)
    return bool(_IN_A_NUMBER.fullmatch(given.strip())) and digits in {own, f"1{own}"}


# --- records before and after ----------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _fields(value: str) -> Record:
    fields: Record = json.loads(value)
    return fields


def exchanged(before: DeviceState, after: DeviceState, area: str) -> tuple[list[Record], list[Record]]:
    """Return the records below `area` ("contacts/") that are gone, and those that have come instead."""
    old, new = (Counter(value for key, value in state.items() if key.startswith(area)) for state in (before, after))
    return [_fields(each) for each in (old - new).elements()], [_fields(each) for each in (new - old).elements()]


# --- contacts --------------------------------------------------------------------------------------------------------


def _contact_keys(*names: str) -> tuple[str, ...]:
    return tuple(f"contacts/{any_case(name)}{end}" for name in names for end in ("", "#*"))


def _of_names(records: Sequence[Record], *names: str) -> list[Record]:
    return [each for each in records if any(same_words(each["name"], name) for name in names)]


def _fits(contact: Record, person: Person, **others: object) -> bool:
    """Tell whether a contact has this name and one number, and else what `others` says, nothing by default."""
    plain = {"company": "", "emails": [], "other": [], "starred": False, **others}
    numbers = [number for number, _ in contact["phones"]]
    return (
        same_words(contact["name"], person.full_name)
        and same_words(f"{contact['given']} {contact['family']}", person.full_name)
        and len(numbers) == 1
        and same_number(numbers[0], person.number)
        and contact["phones"][0][1] == "mobile"
        and all(contact[name] == value for name, value in plain.items())
    )


def contact_added(person: Person) -> Want:
    """A new contact with this name and number, and nothing more."""

    def holds(before: DeviceState, after: DeviceState) -> bool:
        gone, come = exchanged(before, after, "contacts/")
        come = _of_names(come, person.full_name)
        return not _of_names(gone, person.full_name) and len(come) == 1 and _fits(come[0], person)

    name = f"{person.full_name} is saved once, with {person.number} and no other number"
    return Want(name=name, keys=_contact_keys(person.full_name), holds=holds)


def contact_removed(person: Person) -> Want:
    def holds(before: DeviceState, after: DeviceState) -> bool:
        gone, come = (_of_names(each, person.full_name) for each in exchanged(before, after, "contacts/"))
        return not come and len(gone) == 1 and _fits(gone[0], person)

    return Want(name=f"{person.full_name} is gone", keys=_contact_keys(person.full_name), holds=holds)


def contact_changed(old: Person, new: Person) -> Want:
    """The contact has the new name and number; what else was saved of it stays."""
    names = tuple(dict.fromkeys((old.full_name, new.full_name)))

    def holds(before: DeviceState, after: DeviceState) -> bool:
        gone, come = (_of_names(each, *names) for each in exchanged(before, after, "contacts/"))
        return len(gone) == len(come) == 1 and _fits(gone[0], old) and _fits(come[0], new)

    name = f"{old.full_name} is now {new.full_name}, with {new.number} and no other number"
    return Want(name=name, keys=_contact_keys(*names), holds=holds)


def contact_starred(name: str, *, on: bool) -> Want:
    """A contact that is there is starred, or not, and else as it was."""
    key = f"contacts/{name}"

    def holds(before: DeviceState, after: DeviceState) -> bool:
        both = key in before and key in after
        return both and {**_fields(before[key]), "starred": on} == _fields(after[key])

    return Want(name=f"{name} {'starred' if on else 'not starred'}", keys=(literal(key),), holds=holds)


# --- Clock -----------------------------------------------------------------------------------------------------------

_AS_NEW: Final = {"days": 0, "vibrate": True, "sound": "default"}
"""An alarm as it is when one has chosen its time."""


def _at(records: Sequence[Record], *times: str) -> list[Record]:
    return [each for each in records if each["time"] in times]


def alarm_added(time: str, *, label: str = "") -> Want:
    """A new alarm at "07:25" that rings once; it may have rung already."""

    def holds(before: DeviceState, after: DeviceState) -> bool:
        gone, come = (_at(each, time) for each in exchanged(before, after, "alarms/"))
        return (
            not gone
            and len(come) == 1
            and all(come[0][name] == value for name, value in _AS_NEW.items())
            and (come[0]["on"] or has_come(before, after, time))
            and same_words(come[0]["label"], label)
        )

    name = f"one new alarm at {time} is on" + (f" and called {label}" if label else "")
    return Want(name=name, keys=(f"alarms/{time}/*",), holds=holds)


def alarm_is(time: str, label: str, *, on: bool) -> Want:
    """An alarm that is there is on, or off, and else as it was."""
    key = f"alarms/{time}/{label}"

    def holds(before: DeviceState, after: DeviceState) -> bool:
        if key not in before or key not in after:
            return False
        old, new = _fields(before[key]), _fields(after[key])
        is_right = new["on"] == on or (on and not new["days"] and has_come(before, after, time))
        return is_right and {**old, "on": on} == {**new, "on": on}

    return Want(name=f"the alarm at {time} is {'on' if on else 'off'}", keys=(literal(key),), holds=holds)


def alarm_removed(time: str, label: str) -> Want:
    def holds(before: DeviceState, after: DeviceState) -> bool:
        gone, come = (_at(each, time) for each in exchanged(before, after, "alarms/"))
        return not come and [each["label"] for each in gone] == [label]

    return Want(name=f"no alarm at {time}", keys=(f"alarms/{time}/*",), holds=holds)


def alarm_moved(time: str, label: str, to: str) -> Want:
    """The alarm is at another time, on, and else as it was."""

    def holds(before: DeviceState, after: DeviceState) -> bool:
        gone, come = (_at(each, time, to) for each in exchanged(before, after, "alarms/"))
        if len(gone) != 1 or len(come) != 1:
            return False
        old, new = gone[0], come[0]
        moved = {**old, "time": to, "on": new["on"], "label": new["label"]} == new
        named = old["label"] == label and same_words(new["label"], label)
        return moved and named and (new["on"] or has_come(before, after, to))

    name = f"{label} rings at {to} and no longer at {time}"
    return Want(name=name, keys=(f"alarms/{time}/*", f"alarms/{to}/*"), holds=holds)


RUNS: Final = frozenset({"running", "expired"})


def timer_started(seconds: int, text: str) -> Want:
    """One new timer of this length runs; it may have run out already."""
    key = f"timers/{seconds}"

    def holds(before: DeviceState, after: DeviceState) -> bool:
        exchange = exchanged(before, after, "timers/")
        gone, come = ([each for each in records if each["length"] == seconds] for records in exchange)
        return not gone and len(come) == 1 and come[0]["state"] in RUNS and come[0]["total"] == seconds

    return Want(name=f"one timer of {text} runs", keys=(key, f"{key}#*"), holds=holds)


def stopwatch_is(state: str, *, name: str) -> Want:
    """It is "running" or "paused", without laps, and was not reset: then it has counted no less than before.

    Gap: one who resets it and waits longer than it showed is not found out.
    """

    def holds(before: DeviceState, after: DeviceState) -> bool:
        was_ms, is_ms = (int(each.get("clock/stopwatch", "0")) for each in (before, after))
        return after.get("stopwatch") == state and is_ms >= was_ms

    return Want(name=name, keys=("stopwatch",), holds=holds)


# --- files and notes -------------------------------------------------------------------------------------------------


def text_of(state: DeviceState, key: str) -> str | None:
    """Return what a note says, given its key in `files/`; None: there is no such file."""
    return state.get(key.replace("files/", "text/", 1), "") if key in state else None


def note_says(key: str, text: str, *, new: bool = False, same: Callable[[str, str], bool] = same_text) -> Want:
    """A note has this text, or another that is the `same`; `new`: it was not there before."""

    def holds(before: DeviceState, after: DeviceState) -> bool:
        said = text_of(after, key)
        return said is not None and same(said, text) and (key in before) is not new

    name = f"{key.rpartition('/')[2]} {'is there and ' if new else ''}says what it should"
    return Want(name=name, keys=(literal(key),), holds=holds)


def file_removed(key: str) -> Want:
    def holds(before: DeviceState, after: DeviceState) -> bool:
        return key in before and key not in after

    return Want(name=f"{key.rpartition('/')[2]} is gone", keys=(literal(key),), holds=holds)


def file_gone(key: str) -> Want:
    """It is not there, whether it was or not."""
    return Want(name=f"{key} is not there", keys=(literal(key),), holds=lambda before, after: key not in after)


def file_moved(key: str, to: str) -> Want:
    """The file is under another path, with the content that it had."""

    def holds(before: DeviceState, after: DeviceState) -> bool:
        return key not in after and to not in before and before.get(key) == after.get(to) is not None

    name = f"{key.removeprefix('files/')} is now {to.removeprefix('files/')}"
    return Want(name=name, keys=(literal(key), literal(to)), holds=holds)


def file_copied(key: str, to: str) -> Want:
    def holds(before: DeviceState, after: DeviceState) -> bool:
        return to not in before and before.get(key) == after.get(to) == after.get(key) is not None

    return Want(name=f"{to.removeprefix('files/')} is there", keys=(literal(to),), holds=holds)


def folder_made(key: str) -> Want:
    def holds(before: DeviceState, after: DeviceState) -> bool:
        return key not in before and after.get(key) == "dir"

    return Want(name=f"the folder {key.removeprefix('files/').rstrip('/')} exists", keys=(literal(key),), holds=holds)


def times_kept(keys: Sequence[str]) -> Want:
    """These notes were last changed when they were: a task that goes by their times must not find them younger."""
    times = [key.replace("files/", "times/", 1) for key in keys]

    def holds(before: DeviceState, after: DeviceState) -> bool:
        return all(before.get(time) == after[time] for time in times if time in after)

    return Want(name="the others are as old as they were", keys=(), holds=holds)


# --- settings, and what is shown -------------------------------------------------------------------------------------


WIFI: Final = "settings/global/wifi_on"
BLUETOOTH: Final = "settings/global/bluetooth_on"
AIRPLANE: Final = "settings/global/airplane_mode_on"
OFF_IN_THE_AIR: Final = {WIFI: ("0", "3"), BLUETOOTH: ("0",)}
"""What the radios are in airplane mode; 3 is how newer phones say that it took Wi-Fi with it."""


def setting_says(key: str, words: str, *, name: str) -> Want:
    return Want(name=name, keys=(key,), holds=lambda before, after: same_words(after.get(key, ""), words))


def airplane_is(*, on: bool, radios: Mapping[str, str]) -> tuple[Want, ...]:
    """Airplane mode is on and the radios off; or it is off and they are what it puts back, `radios`."""
    values = OFF_IN_THE_AIR if on else {key: (value,) for key, value in radios.items()}
    return setting_is(AIRPLANE, str(int(on))), *(setting_is(key, *each) for key, each in values.items())


def in_front(package: str, name: str) -> Want:
    def holds(before: DeviceState, after: DeviceState) -> bool:
        return after.get("foreground", "").partition("/")[0] == package

    return Want(name=f"{name} is in front", keys=(), holds=holds)
