"""Bringing contacts, notes, files and alarms onto a phone before an episode, by what adb offers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rlfactory.emulators.device.device import Device
from rlfactory.envs.tasks.phone.base import run
from rlfactory.envs.tasks.phone.look import Look
from rlfactory.envs.tasks.phone.pools import Person
from rlfactory.envs.tasks.phone.reading import NOTES_FOLDER
from rlfactory.envs.tasks.phone.times import Time

CLOCK = "com.google.android.deskclock"
ALARMS_DATABASE = f"/data/data/{CLOCK}/databases/alarms.db"
ALARM_COLUMNS = "hour, minutes, daysofweek, enabled, vibrate, label, delete_after_use"
CONTACTS_URI = "content://com.android.contacts"
STOPWATCH_MS = 2_843_000
"""What had passed when the stopwatch was last started: more than anybody waits for who has reset it."""
MOBILE = 2
"""The phone label "Mobile" of ContactsContract."""


async def seed_contacts(device: Device, persons: Sequence[Person], *, timeout_s: float) -> None:
    """Save these people as contacts through the contacts provider."""
    new_row = f"content insert --uri {CONTACTS_URI}/raw_contacts --bind account_type:n: --bind account_name:n:"
    listing = await run(
        device,
        [new_row] * len(persons) + [f"content query --uri {CONTACTS_URI}/raw_contacts --projection _id"],
        timeout_s=timeout_s,
    )
    ids = sorted(int(line.rpartition("=")[2]) for line in listing.splitlines() if line.startswith("Row:"))
    commands: list[str] = []
    for raw_id, person in zip(ids[-len(persons) :], persons, strict=True):
        commands.append(_data_row(raw_id, "name", f"data1:s:{person.full_name}"))
        commands.append(_data_row(raw_id, "phone_v2", f"data1:s:{person.number}", f"data2:i:{MOBILE}"))
    await run(device, commands, timeout_s=timeout_s)


def _data_row(raw_id: int, kind: str, *values: str) -> str:
    binds = (f"raw_contact_id:i:{raw_id}", f"mimetype:s:vnd.android.cursor.item/{kind}", *values)
    arguments = " ".join(f"--bind {shlex.quote(bind)}" for bind in binds)
    return f"content insert --uri {CONTACTS_URI}/data {arguments}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedFile:
    """A file to be put below /sdcard."""

    path: str
    """As "Download/a.txt"."""
    text: str
    modified: str = ""
    """As "2023-10-02 09:30"; "" for the phone's present time."""


async def seed_files(
    device: Device, files: Sequence[SeedFile], *, emptied: Sequence[str] = (), timeout_s: float
) -> None:
    """Empty these folders (made if missing), then write the files."""
    commands: list[str] = []
    for folder in dict.fromkeys((*emptied, *(file.path.rpartition("/")[0] for file in files))):
        commands.append(f"mkdir -p {shlex.quote(f'/sdcard/{folder}')}")
    for folder in emptied:
        quoted = shlex.quote(f"/sdcard/{folder}")
        commands.insert(0, f"rm -rf {quoted}")
        if NOTES_FOLDER.startswith(f"{folder}/"):
            # Notes makes its folder when it is missing: that is no doing of who writes the first note.
            commands.append(f"mkdir -p /sdcard/{NOTES_FOLDER}")
    for file in files:
        quoted = shlex.quote(f"/sdcard/{file.path}")
        commands.append(f"printf '%s\\n' {shlex.quote(file.text)} > {quoted}")
        if file.modified:
            stamp = file.modified.replace("-", "").replace(":", "").replace(" ", "")
            commands.append(f"touch -t {stamp} {quoted}")
    await run(device, commands, timeout_s=timeout_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedAlarm:
    """An alarm of Clock."""

    time: Time
    label: str
    on: bool


def alarms_beside(look: Look) -> tuple[SeedAlarm, ...]:
    """Return the alarms of this world that no goal names: few, for each is large, and at minutes of their own."""
    alarms = look.things(
        lambda rng, word: SeedAlarm(
            time=Time(rng.randrange(24), 5 * rng.randrange(12) + 3), label=word.capitalize(), on=rng.random() < 0.5
        )
    )
    return alarms[: len(alarms) // 3]


def files_beside(look: Look, folder: str) -> tuple[SeedFile, ...]:
    """Return the files of this world in a folder, of types that no goal is about."""
    return look.things(
        lambda rng, word: SeedFile(
            path=f"{folder}/{word}_{rng.randrange(100)}.{rng.choice(('apk', 'log', 'zip'))}",
            text=word,
            modified=f"2023-09-{rng.randint(1, 30):02d} 12:00",
        )
    )


async def seed_alarms(device: Device, alarms: Sequence[SeedAlarm], *, timeout_s: float) -> None:
    """Make these the only alarms of the phone."""
    statements = ["DELETE FROM alarm_instances", "DELETE FROM alarm_templates"]
    for alarm in alarms:
        label = alarm.label.replace("'", "''")
        values = f"{alarm.time.hour}, {alarm.time.minute}, 0, {int(alarm.on)}, 1, '{label}', 0"
        statements.append(f"INSERT INTO alarm_templates ({ALARM_COLUMNS}) VALUES ({values})")
    command = f"sqlite3 {ALARMS_DATABASE} {shlex.quote('; '.join(statements) + ';')}"
    await run(device, [f"am force-stop {CLOCK}", command], timeout_s=timeout_s)


async def seed_stopwatch(device: Device, *, running: bool, timeout_s: float) -> None:
    """Let the stopwatch run, or be paused; timers of Clock go."""
    state = '<int name="sw_state" value="1" /><long name="sw_start_time" value="1" />'
    if not running:
        state = '<int name="sw_state" value="2" />'
    text = f'<map>{state}<long name="sw_accum_time" value="{STOPWATCH_MS}" /></map>'
    folder = f"/data/data/{CLOCK}/shared_prefs"
    file = f"{folder}/{CLOCK}_preferences.xml"
    await run(
        device,
        [f"am force-stop {CLOCK}", f"mkdir -p {folder}", f"printf '%s\\n' {shlex.quote(text)} > {file}"],
        timeout_s=timeout_s,
    )
