"""Tasks in Notes (Markor): write, change, order and find notes."""

from __future__ import annotations

import random
from calendar import day_name
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import Name
from rlfactory.envs.tasks.phone.base import PhoneTask, Want, sample
from rlfactory.envs.tasks.phone.flows import notes as note_flows
from rlfactory.envs.tasks.phone.look import Look
from rlfactory.envs.tasks.phone.pools import MONTHS, NOTE_NAMES, NOTE_TEXTS, draw_folder
from rlfactory.envs.tasks.phone.reading import NOTES_FOLDER, note_key
from rlfactory.envs.tasks.phone.seeding import SeedFile, seed_files
from rlfactory.envs.tasks.phone.wants import file_moved, file_removed, folder_made, note_says, times_kept
from rlfactory.envs.tasks.task import Outcome
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver

BESIDE: Final = (8, 24)
FOLDERS: Final = (0, 18)
"""Beside a note that is to be found: in shorter lists one who does not look would hit it too often."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """A note of one line."""

    name: str
    """File name, as "picnic.md"."""
    text: str
    modified: str
    """As "2023-10-02 09:30"."""

    @property
    def key(self) -> str:
        return note_key(self.name)


def draw_notes(rng: random.Random, split: Split, count: int) -> tuple[Note, ...]:
    """Draw notes no two of which share a name, a text or a day, all from before the phone's clock."""
    names = [f"{name}_{rng.choice(MONTHS)}" for name in sample(rng, NOTE_NAMES, split, count)]
    texts = [text.format(day=rng.choice(day_name)) for text in sample(rng, NOTE_TEXTS, split, count)]
    days = rng.sample(range(1, 15), count)
    return tuple(
        Note(name=f"{name}.md", text=text, modified=f"2023-10-{day:02d} {rng.randrange(8, 20):02d}:15")
        for name, text, day in zip(names, texts, days, strict=True)
    )


@dataclass(frozen=True, kw_only=True)
class NotesTask(PhoneTask):
    """One note matters; the others are there to be left alone."""

    apps: ClassVar[tuple[str, ...]] = (note_flows.NOTES,)
    max_turns: ClassVar[int] = 24

    note: Note
    others: tuple[Note, ...]
    folder: str
    """A folder among the notes, empty."""

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        note, *others = draw_notes(rng, split, 4)
        return {"note": note, "others": tuple(others)}

    @classmethod
    def draw_rest(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"folder": draw_folder(rng, split)}

    def start_notes(self) -> tuple[Note, ...]:
        return (self.note, *self.others)

    def start_folders(self) -> tuple[str, ...]:
        return (self.folder,)

    def notes_beside(self) -> tuple[Note, ...]:
        return notes_beside(self.look)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        notes, folders = (*self.start_notes(), *self.notes_beside()), self.start_folders()
        await seed_notes(device, notes, look=self.look, folders=folders, timeout_s=timeout_s)


def notes_beside(look: Look) -> tuple[Note, ...]:
    """Return the notes of this world that no goal names, all older than those that one does."""
    return look.things(
        lambda rng, word: Note(
            name=f"{word}_{rng.randrange(100)}.md",
            text=f"Nothing new about {word}.",
            modified=f"2023-09-{rng.randint(1, 30):02d} 12:15",
        )
    )


async def seed_notes(
    device: Device, notes: Sequence[Note], *, look: Look, folders: Sequence[str] = (), timeout_s: float
) -> None:
    """Make these, and the folders of this world, all that is among the phone's notes."""
    files = [SeedFile(path=f"{NOTES_FOLDER}/{note.name}", text=note.text, modified=note.modified) for note in notes]
    beside = (f"Box {number}" for number in range(1, look.folders + 1))
    emptied = (NOTES_FOLDER, *(f"{NOTES_FOLDER}/{folder}" for folder in (*folders, *beside)))
    await seed_files(device, files, emptied=emptied, timeout_s=timeout_s)


class CreateNote(NotesTask):
    name = "notes.create"

    def start_notes(self) -> tuple[Note, ...]:
        return self.others

    def wants(self) -> Sequence[Want]:
        return (note_says(self.note.key, self.note.text, new=True),)

    async def perform(self, ui: UiDriver) -> None:
        await note_flows.create(ui, self.note.name, self.note.text)


class OneOfManyNotes(NotesTask):
    """A note that has to be found: among longer lists than elsewhere, for the taps are few once it is."""

    @classmethod
    def draw_world(cls, rng: random.Random) -> dict[str, Any]:
        look = replace(Look.draw(rng), beside=rng.randint(*BESIDE), folders=rng.randint(*FOLDERS))
        return {"look": look}


class DeleteNote(OneOfManyNotes):
    name = "notes.delete"

    def wants(self) -> Sequence[Want]:
        return (file_removed(self.note.key),)

    async def perform(self, ui: UiDriver) -> None:
        await note_flows.delete(ui, self.note.name)


@dataclass(frozen=True, kw_only=True)
class RewriteNote(OneOfManyNotes):
    name = "notes.rewrite"

    text: str

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        note, spare, *others = draw_notes(rng, split, 4)
        return {"note": note, "others": tuple(others), "text": spare.text}

    def wants(self) -> Sequence[Want]:
        return (note_says(self.note.key, self.text),)

    async def perform(self, ui: UiDriver) -> None:
        await note_flows.rewrite(ui, self.note.name, self.text)


class AppendToNote(RewriteNote):
    name = "notes.append"

    def wants(self) -> Sequence[Want]:
        return (note_says(self.note.key, f"{self.note.text}\n{self.text}"),)

    async def perform(self, ui: UiDriver) -> None:
        await note_flows.rewrite(ui, self.note.name, f"{self.note.text}\n{self.text}")


@dataclass(frozen=True, kw_only=True)
class RenameNote(NotesTask):
    name = "notes.rename"

    new: Note
    """The name it gets; its other fields do not matter."""

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        note, new, *others = draw_notes(rng, split, 4)
        return {"note": note, "others": tuple(others), "new": new}

    def wants(self) -> Sequence[Want]:
        return (file_moved(self.note.key, self.new.key),)

    async def perform(self, ui: UiDriver) -> None:
        await note_flows.rename(ui, self.note.name, self.new.name)


class CreateNoteFolder(NotesTask):
    name = "notes.create_folder"

    def start_folders(self) -> tuple[str, ...]:
        return ()

    def wants(self) -> Sequence[Want]:
        return (folder_made(note_key(f"{self.folder}/")),)

    async def perform(self, ui: UiDriver) -> None:
        await note_flows.create_folder(ui, self.folder)


class MoveNote(NotesTask):
    name = "notes.move"

    @property
    def target_key(self) -> str:
        return note_key(f"{self.folder}/{self.note.name}")

    def wants(self) -> Sequence[Want]:
        return (file_moved(self.note.key, self.target_key),)

    async def perform(self, ui: UiDriver) -> None:
        await note_flows.move(ui, self.note.name, self.folder)


class DeleteNewestNote(OneOfManyNotes):
    name = "notes.delete_newest"

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        notes = draw_notes(rng, split, 5)
        newest = max(notes, key=lambda note: note.modified)
        return {"note": newest, "others": tuple(note for note in notes if note is not newest)}

    def wants(self) -> Sequence[Want]:
        return file_removed(self.note.key), times_kept([note.key for note in self.others])

    async def perform(self, ui: UiDriver) -> None:
        await note_flows.delete(ui, self.note.name)


@dataclass(frozen=True, kw_only=True)
class DeleteOldNotes(NotesTask):
    name = "notes.delete_old"

    cutoff_day: int
    """In October 2023; at least one note is older, at least two are not."""

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        notes = sorted(draw_notes(rng, split, 4), key=lambda note: note.modified)
        first_kept = notes[rng.randint(1, 2)]
        others = tuple(reversed([note for note in notes if note is not first_kept]))
        return {"note": first_kept, "others": others, "cutoff_day": int(first_kept.modified[8:10])}

    def notes_beside(self) -> tuple[Note, ...]:
        return tuple(replace(note, modified="2023-10-15 07:15") for note in notes_beside(self.look))  # none of the old

    @property
    def victims(self) -> tuple[Note, ...]:
        return tuple(note for note in self.others if note.modified < self.note.modified)

    def wants(self) -> Sequence[Want]:
        kept = [note.key for note in (self.note, *self.others) if note not in self.victims]
        return *(file_removed(note.key) for note in self.victims), times_kept(kept)

    async def perform(self, ui: UiDriver) -> None:
        for note in self.victims:
            await note_flows.delete(ui, note.name)


class FindNote(NotesTask):
    name = "notes.find"

    @classmethod
    def draw_world(cls, rng: random.Random) -> dict[str, Any]:
        world = super().draw_world(rng)
        return {**world, "look": replace(world["look"], folders=0)}  # all notes are in view

    def redraw(self, rng: random.Random) -> dict[str, Any]:
        notes = self.start_notes()
        stems = rng.sample([note.name.rpartition("_")[0] for note in notes], len(notes))
        names = [f"{stem}_{rng.choice(MONTHS)}.md" for stem in stems]
        note, *others = (replace(note, name=name) for note, name in zip(notes, names, strict=True))
        return {"note": note, "others": tuple(others)}

    def notes_beside(self) -> tuple[Note, ...]:
        return ()  # each would have to be read

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        name = Name(text=self.note.name, also=(self.note.name.removesuffix(".md"),), before=("the note", "in"))
        return {"the answer names the note": name.accepts(outcome.answer)}

    async def perform(self, ui: UiDriver) -> str:
        names = [name for name in await note_flows.listed(ui) if name.endswith(".md")]
        for name in names:
            if await note_flows.read(ui, name) == self.note.text:
                return name
        raise OracleStuck(f"no note says {self.note.text!r}")


TASKS: tuple[type[PhoneTask], ...] = (
    CreateNote,
    DeleteNote,
    RewriteNote,
    AppendToNote,
    RenameNote,
    CreateNoteFolder,
    MoveNote,
    DeleteNewestNote,
    DeleteOldNotes,
    FindNote,
)
