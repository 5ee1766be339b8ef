"""Two apps for the tests of the phone itself: notes, kept in a database, and a viewer of links."""

from __future__ import annotations

from dataclasses import field

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.content import BroadcastResult
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.view.widgets import Column, Scaffold, Text, Widget

NOTES = "org.example.notes"


class NoteList(Activity):
    name = ".NoteList"
    seen: list[str] = field(default_factory=list)

    def on_create(self, system: System) -> None:
        self.seen.append("create")

    def on_resume(self, system: System) -> None:
        self.seen.append("resume")

    def on_pause(self, system: System) -> None:
        self.seen.append("pause")

    def build(self, system: System) -> Widget:
        return Scaffold(body=Column(children=(Text(text="Notes"),)))


class NoteEditor(Activity):
    name = "org.example.notes.edit.NoteEditor"
    dirty: bool = False

    def build(self, system: System) -> Widget:
        return Scaffold(body=Text(text=str(self.intent.extras.get("title", "untitled"))))

    def on_back(self, system: System) -> bool:
        was_dirty, self.dirty = self.dirty, False
        return was_dirty


class Viewer(Activity):
    name = ".Viewer"

    def build(self, system: System) -> Widget:
        return Scaffold(body=Text(text=self.intent.data))


class _Notes(App):
    def install(self, system: System) -> None:
        super().install(system)
        system.files.make_dirs(f"/data/data/{NOTES}/databases")
        with system.database(f"/data/data/{NOTES}/databases/n.db") as db:
            db.execute("CREATE TABLE note (title TEXT)")

    def on_launch(self, system: System) -> None:
        system.files.make_dirs(f"/data/data/{NOTES}/cache")


def _shout(system: System, intent: Intent) -> BroadcastResult:
    system.clipboard = str(intent.extras.get("text", ""))
    return BroadcastResult(code=-1, data=system.clipboard.upper())


NOTES_APP = _Notes(
    package=NOTES,
    label="Notes",
    icon="note",
    color="#123456",
    activities=(NoteList, NoteEditor),
    system=False,
    receivers={"org.example.SHOUT": _shout},
)
VIEWER_APP = App(
    package="org.example.viewer",
    label="Viewer",
    icon="eye",
    color="#654321",
    activities=(Viewer,),
    filters={
        "android.intent.action.VIEW https:": Viewer,
        "android.intent.action.VIEW content://notes": Viewer,
        "android.intent.action.SEND text/*": Viewer,
    },
)
