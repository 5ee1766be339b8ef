"""What each template asks for as acts on things, from its parameters alone: an opinion beside that of its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.trust.things import Alarm, File, Missing, Person, Shown, Stopwatch, Thing, Timer, Value
from rlfactory.emulators.simulator.apps.clock.data import load_stopwatch
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.envs.tasks.mixed import both, querying, searching
from rlfactory.envs.tasks.mixed.base import MixedTask
from rlfactory.envs.tasks.phone import clock, compound, contacts, files, notes, preferences, settings, steps, tiny
from rlfactory.envs.tasks.phone.pools import Person as Someone
from rlfactory.envs.tasks.phone.reading import NOTES_FOLDER
from rlfactory.envs.tasks.phone.seeding import SeedAlarm
from rlfactory.envs.tasks.task import Task

CONTACTS: Final = "com.google.android.contacts"


@dataclass(frozen=True)
class Act:
    """One deed: some things go, others come."""

    gone: tuple[Thing, ...] = ()
    come: tuple[Thing, ...] = ()

    def do(self, phone: Phone) -> None:
        """Raises: Missing: what was to go is not there."""
        for thing in self.gone:
            thing.take(phone)
        for thing in self.come:
            thing.put(phone)

    @property
    def undone(self) -> Act:
        return Act(gone=self.come, come=self.gone)


def effect(acts: Iterable[Act]) -> Counter[Thing]:
    """Return what the acts come to: +1 for each thing more, -1 for each thing less.

    Of most things there is one or none: to put one that is there changes nothing. A file or a setting takes the place
    of what was there.
    """
    total: Counter[Thing] = Counter()
    was_there: dict[Thing, bool] = {}
    first, last = dict[str, Thing | None](), dict[str, Thing | None]()
    for act in acts:
        for thing in act.gone:
            if place := _place(thing):
                first.setdefault(place, thing)
                last[place] = None
                continue
            was_there.setdefault(thing, True)
            total[thing] -= 1
        for thing in act.come:
            if place := _place(thing):
                first.setdefault(place, None)
                last[place] = thing
                continue
            most = 0 if was_there.setdefault(thing, False) else 1
            total[thing] = total[thing] + 1 if thing.several else min(total[thing] + 1, most)
    for place, now in last.items():
        before = first[place]
        if now is not None and now != before:
            total[now] += 1
        elif now is None and before is not None:
            total[before] -= 1
    return Counter({thing: count for thing, count in total.items() if count})


def _place(thing: Thing) -> str:
    """Return where a thing is of which there is one at a time, "" of another."""
    match thing:
        case File():
            return thing.path
        case Value():
            return thing.key
        case _:
            return ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What fulfils a goal."""

    acts: tuple[Act, ...] = ()
    answer: str = ""
    bystanders: tuple[Thing, ...] = ()
    """On the phone at the start, and none of the goal's business."""
    by_times: bool = False
    """The goal goes by when files were changed."""


def plan_of(task: Task, phone: Phone) -> Plan | None:
    """Return what fulfils this goal on a phone that was set up for it; None: nobody has written that down."""
    for part in (_clock, _contacts, _files, _notes, _settings, _compound, _mixed, _steps, _tiny):
        plan = part(task, phone)
        if plan is not None:
            return plan
    return None


def do(acts: Iterable[Act], phone: Phone) -> bool:
    """Carry out acts; tell whether that was possible."""
    try:
        for act in acts:
            act.do(phone)
    except Missing:
        return False
    return True


def changes(phone: Phone, values: Mapping[str, object]) -> tuple[Act, ...]:
    """Return the acts that give settings (`global/wifi_on`) their values; none for one that has it."""
    acts = []
    for key, value in values.items():
        namespace, _, name = key.partition("/")
        before = phone.system.settings.get(namespace, name)
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if before != text:
            acts.append(Act((Value(key=key, value=before),), (Value(key=key, value=text),)))
    return tuple(acts)


def person(who: Someone) -> Person:
    return Person(name=who.full_name, number=who.number)


def _alarm(seeded: SeedAlarm) -> Alarm:
    return Alarm(time=seeded.time.text, label=seeded.label, on=seeded.on)


def _note(note: notes.Note, *, name: str = "", text: str | None = None) -> File:
    said = f"{note.text}\n" if text is None else text
    return File(path=f"{NOTES_FOLDER}/{name or note.name}", text=said)


def _clock(task: Task, phone: Phone) -> Plan | None:
    if not isinstance(task, clock.ClockTask):
        return None
    seeded = Alarm(time=task.time.text, label=task.label, on=bool(task.seeded))
    runs = load_stopwatch(phone.system).since_ms is not None
    acts: tuple[Act, ...]
    match task:
        case clock.AddAlarm():
            acts = (Act(come=(Alarm(time=task.time.text),)),)
        case clock.AddLabelledAlarm():
            acts = (Act(come=(Alarm(time=task.time.text, label=task.label),)),)
        case clock.SwitchAlarmOff():
            wanted = Alarm(time=task.time.text, label=task.label, on=task.wanted)
            acts = (Act((seeded,), (wanted,)),) if wanted != seeded else ()
        case clock.DeleteAlarm():
            acts = (Act(gone=(seeded,)),)
        case clock.MoveAlarm():
            acts = (Act((seeded,), (Alarm(time=task.other_time.text, label=task.label),)),)
        case clock.StartTimer():
            acts = (Act(come=(Timer(seconds=task.length.seconds),)),)
        case clock.PauseStopwatch():
            acts = (Act(come=(Stopwatch(running=False),)),) if runs else ()
        case clock.StartStopwatch():
            acts = () if runs else (Act(come=(Stopwatch(running=True),)),)
        case _:
            return None
    watch = (Stopwatch(running=runs),) if isinstance(task, clock.StartStopwatch) and not acts else ()
    return Plan(acts=acts, bystanders=(*(_alarm(each) for each in task.others), *watch))


def _contacts(task: Task, phone: Phone) -> Plan | None:
    if not isinstance(task, contacts.ContactsTask):
        return None
    who, bystanders = person(task.person), tuple(person(each) for each in task.others)
    acts: tuple[Act, ...] = ()
    answer = ""
    match task:
        case contacts.AddTwoContacts():
            acts = Act(come=(who,)), Act(come=(person(task.second),))
        case contacts.AddContact():
            acts = (Act(come=(who,)),)
        case contacts.DeleteContact():
            acts = (Act(gone=(who,)),)
        case contacts.ChangeNumber():
            acts = (Act((who,), (person(task.changed),)),)
        case contacts.RenameContact():
            acts = (Act((who,), (person(task.new),)),)
        case contacts.FindNumber():
            answer = who.number
        case contacts.WhoseNumber():
            answer = who.name
        case _:
            return None
    return Plan(acts=acts, answer=answer, bystanders=bystanders)


def _files(task: Task, phone: Phone) -> Plan | None:
    if not isinstance(task, files.FilesTask):
        return None

    def file(name: str, *, at: str = files.DOWNLOAD, of: str = "") -> File:
        return File(path=f"{at}/{name}", text=f"{files.content(of or name)}\n")

    own = file(task.file)
    bystanders = tuple(file(name) for name in task.others)
    acts: tuple[Act, ...] = ()
    answer = ""
    match task:
        case files.CountFiles():
            answer = str(len(task.victims))
        case files.DeleteFilesOfType():
            acts = tuple(Act(gone=(file(name),)) for name in task.victims)
            bystanders = tuple(each for each in bystanders if each.path.rpartition("/")[2] not in task.victims)
        case files.DeleteFile():
            acts = (Act(gone=(own,)),)
        case files.RenameFile():
            acts = (Act((own,), (file(task.new_name, of=task.file),)),)
        case files.MoveFile():
            acts = (Act((own,), (file(task.file, at=task.place),)),)
        case files.CopyFile():
            acts = (Act(come=(file(task.file, at=task.place),)),)
        case files.CreateFolder():
            acts = (Act(come=(File(path=f"{task.place}/{task.folder}/"),)),)
        case _:
            return None
    return Plan(acts=acts, answer=answer, bystanders=bystanders)


def _notes(task: Task, phone: Phone) -> Plan | None:
    if not isinstance(task, notes.NotesTask):
        return None
    own, bystanders = _note(task.note), tuple(_note(each) for each in task.others)
    acts: tuple[Act, ...] = ()
    answer = ""
    match task:
        case notes.CreateNote():
            acts = (Act(come=(_note(task.note, text=task.note.text),)),)
        case notes.AppendToNote():
            acts = (Act((own,), (_note(task.note, text=f"{own.text}{task.text}"),)),)
        case notes.RewriteNote():
            acts = (Act((own,), (_note(task.note, text=task.text),)),)
        case notes.RenameNote():
            acts = (Act((own,), (_note(task.note, name=task.new.name),)),)
        case notes.CreateNoteFolder():
            acts = (Act(come=(File(path=f"{NOTES_FOLDER}/{task.folder}/"),)),)
        case notes.MoveNote():
            acts = (Act((own,), (_note(task.note, name=f"{task.folder}/{task.note.name}"),)),)
        case notes.DeleteOldNotes():
            acts = tuple(Act(gone=(_note(each),)) for each in task.victims)
            bystanders = tuple(_note(each) for each in task.others if each not in task.victims)
        case notes.DeleteNote() | notes.DeleteNewestNote():
            acts = (Act(gone=(own,)),)
        case notes.FindNote():
            answer = task.note.name
        case _:
            return None
    by_times = isinstance(task, notes.DeleteOldNotes | notes.DeleteNewestNote)
    return Plan(acts=acts, answer=answer, bystanders=bystanders, by_times=by_times)


def _settings(task: Task, phone: Phone) -> Plan | None:
    answer = ""
    values: dict[str, object] = {}
    match task:
        case settings.AirplaneTask():
            start, on = task.start, task.airplane
            values = {
                "global/airplane_mode_on": on,
                "global/wifi_on": start.wifi and not on,
                "global/bluetooth_on": start.bluetooth and not on,
            }
        case settings.BrightnessTask():
            values = {"system/screen_brightness": task.wanted}
        case settings.SettingsTask():
            wanted = {"global/wifi_on": task.wifi, "global/bluetooth_on": task.bluetooth}
            values = {key: on for key, on in wanted.items() if on is not None}
        case preferences.FlipSwitch():
            values = {f"{task.switch.namespace}/{task.switch.setting}": task.on}
        case preferences.ScreenTimeout():
            values = {"system/screen_off_timeout": task.milliseconds}
        case preferences.RenameDevice():
            values = {"global/device_name": task.new_name}
        case preferences.ReadDeviceName():
            answer = task.device_name
        case _:
            return None
    return Plan(acts=changes(phone, values), answer=answer)


def _compound(task: Task, phone: Phone) -> Plan | None:
    if not isinstance(task, compound.CompoundTask):
        return None
    who = person(task.person)
    alarm = Act(come=(Alarm(time=task.time.text),))
    bystanders: tuple[Thing, ...] = tuple(person(each) for each in task.other_people)
    acts: tuple[Act, ...] = ()
    answer = ""
    match task:
        case compound.NoteToContact():
            acts = (Act(come=(who,)),)
        case compound.NoteToAlarm():
            acts = (alarm,)
        case compound.ContactToNote():
            acts = (Act(come=(_note(task.note, text=task.person.number),)),)
            bystanders = (who, *bystanders)
        case compound.NoteAndContactAnswer():
            answer = task.person.number
            bystanders = (who, *bystanders)
        case compound.DeleteNotedContacts():
            acts = tuple(Act(gone=(person(victim),)) for victim in task.victims)
            bystanders = tuple(person(each) for each in task.other_people if each not in task.victims)
        case compound.OfflineAlarm():
            acts = (*changes(phone, {"global/wifi_on": False}), alarm)
            bystanders = ()
        case compound.WifiOnAndOpenApp():
            acts = (*changes(phone, {"global/wifi_on": True}), Act(come=(Shown(package=CONTACTS),)))
            bystanders = ()
        case _:
            return None
    return Plan(acts=acts, answer=answer, bystanders=bystanders)


def _mixed(task: Task, phone: Phone) -> Plan | None:
    if not isinstance(task, MixedTask):
        return None
    thing: Thing
    before: Sequence[Thing] = ()
    match task:
        case searching.ChangedNumber():
            thing, before = person(task.entry.person), (person(task.before),)
        case searching.NumberToContact():
            thing = person(task.entry.person)
        case searching.OpeningAlarm():
            thing = Alarm(time=task.entry.opens.text)
        case searching.AddressNote():
            thing = _note(task.note, text=task.entry.address)
        case querying.TrainAlarm() | both.TrainToPerson():
            thing = Alarm(time=task.ride.leaves.text)
        case querying.TotalNote():
            thing = _note(task.note, text=task.spending.total)
        case querying.CustomerTask():
            thing = person(task.person)
        case _:
            return None
    return Plan(acts=(Act(tuple(before), (thing,)),), bystanders=tuple(person(each) for each in task.contacts))


def _steps(task: Task, phone: Phone) -> Plan | None:
    if not isinstance(task, steps.StepsTask):
        return None
    acts: list[Act] = []
    for (kind, index), want, start in zip(task.controls, task.wanted, task.start, strict=True):
        match kind:
            case steps.Kind.THEME:
                acts += changes(phone, {"secure/ui_night_mode": 2 if want else 1})
                continue
            case steps.Kind.ALARM:
                before: Thing = Alarm(time=task.looks.times[index], on=start)
                after: Thing = Alarm(time=task.looks.times[index], on=want)
            case steps.Kind.STAR:
                who = Person(name=task.looks.people[index], number=f"415-555-010{index}")
                before, after = replace(who, starred=start), replace(who, starred=want)
            case steps.Kind.FILE:
                if start:
                    acts.append(Act(gone=(File(path=f"Download/{task.looks.files[index]}", text="gone soon\n"),)))
                continue
        if want != start:
            acts.append(Act((before,), (after,)))
    return Plan(acts=tuple(acts))


def _tiny(task: Task, phone: Phone) -> Plan | None:
    if not isinstance(task, tiny.KnobTask):
        return None
    knob, on = task.knob, task.wanted
    values: dict[str, object] = {knob.key: knob.on if on else knob.off}
    looks = {look.key: was for look, was in zip(task.looks, task.look, strict=True)}
    values |= {each.key: not on and looks.get(each.key, True) for each in knob.takes}
    return Plan(acts=changes(phone, {key.removeprefix("settings/"): value for key, value in values.items()}))
