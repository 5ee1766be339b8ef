"""Every control of every app, used after every goal: whatever it changes on the phone has to spoil the verdict.

What changed is read from inside the phone (`changed_inside`), not by what the verdict goes by.
"""

from __future__ import annotations

import fnmatch
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.trust.check import Check, Finding, Size, in_processes
from benchmarks.trust.mutants import SUITES, goals
from benchmarks.trust.plans import plan_of
from benchmarks.trust.stage import Stage
from rlfactory.emulators.device.ui import UiNode
from rlfactory.emulators.simulator.apps.clock import data as clock
from rlfactory.emulators.simulator.apps.contacts import data as contacts
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.machine.databases import read_rows
from rlfactory.emulators.simulator.machine.state import PhoneSnapshot
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.task import Task

SQLITE: Final = b"SQLite format 3"
TALL_PX: Final = 4_000
"""Height of the screen: nothing has to be scrolled to."""
MAX_DEPTH: Final = 7
MAX_OF_A_KIND: Final = 3
"""Screens of one layout (pages of contacts, say) that are gone through."""
CONTROLS_PER_SAMPLE: Final = 100
CONFIRMS: Final = ("save", "ok", "done", "connect", "set", "button1", "add")
"""What is pressed on a screen after something was typed."""
HARMLESS: Final = {
    "*/sort_by": "how a list is sorted is part of looking",
    "*/sort_reverse": "how a list is sorted is part of looking",
    "*/sort": "how a list is sorted is part of looking",
    "*/grid": "how a list is laid out is part of looking",
    "*/show_hidden": "what a list shows is part of looking",
    "*/show_completed": "what a list shows is part of looking",
    "*/timer_start_time_*": "a timer that was paused and goes on runs as before; its length and state are compared",
    "*/timer_time_left_*": "as its start",
    "*/sw_start_time": "a stopwatch that was stopped and goes on runs as before; its state and laps are compared",
    "*/sw_accum_time": "as its start",
    "*/rows/sqlite_sequence/*": "SQLite counts the keys that it gave, those of rows that are gone, too",
    "*/rows/Media/*": "VLC lists the storage's videos when it is opened",
    "*/rows/notes_normalized/*": "Joplin's notes, once more, for its search",
    "*/rows/event_types/*": "the calendar makes its one kind of events when it is opened",
    "*/rows/threads/*": "messages, once more, by conversation",
    "*/rows/canonical_addresses/*": "as the conversations",
}
"""What controls may change without a verdict's minding it, by pattern of what is inside the phone; and why."""
_IS_HARMLESS: Final = tuple(HARMLESS)


def inside(phone: Phone) -> dict[str, object]:
    """Return what the phone keeps: settings, files, rows and preferences, without what only tells when."""
    kept: dict[str, object] = {}
    for namespace in ("system", "secure", "global"):
        kept |= {f"settings/{namespace}/{key}": value for key, value in phone.state.settings.items(namespace)}
    for folder in ("/data", "/sdcard"):
        for path, entry in phone.system.files.walk_entries(folder):
            if path in {clock.DATABASE, contacts.DATABASE} or "/cache" in path:
                continue
            if path.endswith(".xml"):
                values = Preferences(phone.system, path).all()
                kept |= {f"{path}/{key}": value for key, value in values.items() if value}
            elif entry.data is not None and entry.data.startswith(SQLITE):
                kept |= {f"{path}/{name}": row for name, row in _rows(entry.data)}
            elif entry.data is not None or not path.startswith("/data/"):  # a folder of an app's own says nothing
                kept[path] = "folder" if entry.data is None else phone.system.files.md5(path)
    for number, alarm in enumerate(clock.all_alarms(phone.system)):
        kept[f"alarm/{number}"] = alarm
    if phone.system.files.is_file(contacts.DATABASE):
        image = phone.system.files.read(contacts.DATABASE)
        people = read_rows(image, "SELECT _id, display_name, starred, deleted FROM raw_contacts")
        data = read_rows(image, "SELECT raw_contact_id, mimetype, data1, data2, data3 FROM view_data")
        kept |= {f"contact/{row[0]}": row for row in people}
        kept |= {f"contact data/{number}": row for number, row in enumerate(sorted(data, key=repr))}
    kept["clock"] = phone.state.clock.wall_offset_ns // 10**9
    return kept


def _rows(image: bytes) -> Iterator[tuple[str, object]]:
    """Yield name and content of each row of a database; of one without rows, nothing: apps make them when opened."""
    for (table,) in read_rows(image, "SELECT name FROM sqlite_schema WHERE type = 'table'"):
        for number, row in enumerate(read_rows(image, f'SELECT * FROM "{table}"')):
            yield f"rows/{table}/{number}", row


def changed_inside(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Return the names of what differs and is not harmless."""
    names = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    return sorted(name for name in names if not any(fnmatch.fnmatchcase(name, each) for each in _IS_HARMLESS))


# --- going through the apps ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Control:
    """Something on a screen that can be used."""

    screen: PhoneSnapshot
    path: str
    """How one gets there, in words."""
    x_px: int
    y_px: int
    how: str
    """tap, hold, type."""

    def use(self, phone: Phone) -> None:
        phone.restore(self.screen)
        match self.how:
            case "hold":
                phone.long_press(self.x_px, self.y_px)
            case "type":
                phone.tap(self.x_px, self.y_px)
                phone.key("MOVE_END")
                phone.type_text("zq")
            case _:
                phone.tap(self.x_px, self.y_px)


def _label(node: UiNode) -> str:
    words = [part.text or part.description for part in node.walk() if part.text or part.description]
    return (words or [node.resource_id.rpartition("/")[2] or node.class_name])[0]


def _controls(phone: Phone, path: str, *, confirm: bool) -> Iterator[Control]:
    """Yield what can be used on the screen; `confirm`: only what closes a form."""
    screen = phone.snapshot()
    for node in phone.ui_tree().walk():
        if node.package == "com.android.systemui" or not node.enabled:
            continue
        word = f"{_label(node)} {node.resource_id.rpartition('/')[2]}".casefold()
        if confirm and not any(each in word.split() or each in word for each in CONFIRMS):
            continue
        is_field = node.class_name.endswith("EditText")
        ways = [("tap", node.clickable and not is_field), ("hold", node.long_clickable and not is_field)]
        ways.append(("type", is_field and not confirm))
        for how in (how for how, there in ways if there):
            x_px, y_px = node.bounds.center
            yield Control(screen=screen, path=f"{path} > {how} {_label(node)!r}", x_px=x_px, y_px=y_px, how=how)


@dataclass(kw_only=True)
class Walk:
    """One way through all apps after a goal."""

    stage: Stage
    before: Mapping[str, object]
    limit: int
    """Controls that are used at most; 0 for all."""
    answer: str = ""
    foreground: str = ""
    tried: int = 0
    """Uses of controls that changed something."""
    used: int = 0
    faults: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    kinds: Counter[int] = field(default_factory=Counter)

    def go(self) -> None:
        phone = self.stage.phone
        phone.key("HOME")
        start = phone.snapshot()
        apps = [app for app in phone.system.apps() if not app.hidden]
        random.Random(self.stage.task.name).shuffle(apps)  # where not all is tried, not always the same
        for app in apps:
            phone.restore(start)
            phone.system.open_app(app.package)
            self._explore(app.label, MAX_DEPTH, confirm=False)
        phone.restore(start)
        phone.swipe(phone.width_px // 2, 4, phone.width_px // 2, phone.height_px // 2)
        self._explore("shade", 2, confirm=False)

    def _explore(self, path: str, depth: int, *, confirm: bool) -> None:
        phone = self.stage.phone
        if not self._is_new(phone, confirm=confirm):
            return
        for control in list(_controls(phone, path, confirm=confirm)):
            if self.limit and self.used >= self.limit:
                return
            self.used += 1
            control.use(phone)
            there = phone.snapshot()
            phone.navigator.home()  # what is left is written
            if self._judged(control.path) or depth <= 1:
                continue
            phone.restore(there)
            self._explore(control.path, depth - 1, confirm=control.how == "type")

    def _is_new(self, phone: Phone, *, confirm: bool) -> bool:
        nodes = [node for node in phone.ui_tree().walk() if node.package != "com.android.systemui"]
        shown = hash((confirm, phone.foreground, *((n.resource_id, n.text, n.description, n.checked) for n in nodes)))
        kind = hash((confirm, phone.foreground, *sorted({(n.resource_id, n.class_name) for n in nodes})))
        if shown in self.seen or self.kinds[kind] >= MAX_OF_A_KIND:
            return False
        self.seen.add(shown)
        self.kinds[kind] += 1
        return True

    def _judged(self, path: str) -> bool:
        """Judge, if anything changed; tell whether it did."""
        changed = changed_inside(self.before, inside(self.stage.phone))
        if not changed:
            return False
        self.tried += 1
        if self.stage.verdict(answer=self.answer, foreground=self.foreground).success:
            self.faults.append(f"{self.stage.task.name}: accepted though {', '.join(changed[:3])} changed by {path}")
        return True


def walk(task: Task, *, limit: int) -> Walk | str:
    """Fulfil a goal, then use every control; return what was found, or why that was not possible."""
    stage = Stage(task, height_px=TALL_PX)
    plan = plan_of(task, stage.phone)
    if plan is None or not stage.rehearse(plan.acts):
        return f"{task.name}: nobody has written down what fulfils it (benchmarks/trust/plans.py)"
    foreground = stage.state()["foreground"]
    verdict = stage.verdict(answer=plan.answer)
    if not verdict.success:
        return f"{task.name}: what fulfils it is refused: {json.dumps(verdict.holds)} {verdict.side_effects}"
    found = Walk(stage=stage, before=inside(stage.phone), limit=limit, answer=plan.answer, foreground=foreground)
    found.go()
    return found


def _walked(case: tuple[str, int, Split, int]) -> tuple[int, list[str]]:
    """Return how many uses of controls changed something after this goal, and the faults found."""
    name, seed, split, limit = case
    found = walk(default_registry().draw(name, seed=seed, split=split), limit=limit)
    return (0, [found]) if isinstance(found, str) else (found.tried, found.faults)


def run(size: Size) -> Finding:
    registry = default_registry()
    first = {name: (name, seed, split) for name, seed, split in reversed(goals(registry, (*SUITES, "steps")))}
    cases = size.share(CONTROLS_PER_SAMPLE).of(sorted(first.values()))
    limit = CONTROLS_PER_SAMPLE if size.sample else 0
    found = in_processes(_walked, [(*case, limit) for case in cases])
    tried, faults = sum(number for number, _ in found), [fault for _, faults in found for fault in faults]
    return Finding(figures={"damage_tried": tried, "damage_accepted": len(faults)}, faults=faults)


CHECK: Final = Check(
    name="damage",
    what="Of all uses of a control after a goal that change something (`damage_tried`), the verdict accepts none "
    "(`damage_accepted`).",
    run=run,
)
