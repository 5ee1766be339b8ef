"""Tasks in Notes (Markor): write, change, order and find notes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand, OracleStuck
from rlfactory.envs.tasks.phone import note_flows
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, literal, pick, same_answer, sample
from rlfactory.envs.tasks.phone.pools import FOLDERS, NOTE_NAMES, NOTE_TEXTS
from rlfactory.envs.tasks.phone.reading import NOTES_FOLDER, holds_text, note_key
from rlfactory.envs.tasks.phone.seeding import SeedFile, seed_files
from rlfactory.envs.tasks.task import Check, Outcome


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
    names = sample(rng, NOTE_NAMES, split, count)
    texts = sample(rng, NOTE_TEXTS, split, count)
    days = rng.sample(range(1, 15), count)
    return tuple(
        Note(name=f"{name}.md", text=text, modified=f"2023-10-{day:02d} {rng.randrange(8, 20):02d}:15")
        for name, text, day in zip(names, texts, days, strict=True)
    )


@dataclass(frozen=True, kw_only=True)
class NotesTask(PhoneTask):
    """One note matters; the others are there to be left alone."""

    apps: ClassVar[tuple[str, ...]] = (note_flows.NOTES,)
    max_turns: ClassVar[int] = 20

    note: Note
    others: tuple[Note, ...]
    folder: str
    """A folder among the notes, empty."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        note, *others = draw_notes(rng, split, 4)
        return cls(
            wording=pick(rng, cls.wordings, split),
            note=note,
            others=tuple(others),
            folder=pick(rng, FOLDERS, split),
        )

    def start_notes(self) -> tuple[Note, ...]:
        return (self.note, *self.others)

    def start_folders(self) -> tuple[str, ...]:
        return (self.folder,)

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await seed_notes(device, self.start_notes(), folders=self.start_folders(), timeout_s=timeout_s)

    def may_change(self) -> Sequence[str]:
        return (literal(self.note.key),)


async def seed_notes(device: Device, notes: Sequence[Note], *, folders: Sequence[str] = (), timeout_s: float) -> None:
    """Make these the only notes of the phone."""
    files = [SeedFile(path=f"{NOTES_FOLDER}/{note.name}", text=note.text, modified=note.modified) for note in notes]
    emptied = (NOTES_FOLDER, *(f"{NOTES_FOLDER}/{folder}" for folder in folders))
    await seed_files(device, files, emptied=emptied, timeout_s=timeout_s)


class CreateNote(NotesTask):
    name: ClassVar[str] = "notes.create"
    description: ClassVar[str] = "Write a new note"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            'Create a note named {note.name} in Markor with this text: "{note.text}"',
            'In Markor, make a new note {note.name} that says "{note.text}"',
        ),
        "validation": ('Write "{note.text}" into a new Markor note called {note.name}.',),
        "test": ('Jot this down in Markor as {note.name}: "{note.text}"',),
    }

    def start_notes(self) -> tuple[Note, ...]:
        return self.others

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (
            Check(name=f"{self.note.name} exists", holds=self.note.key in outcome.state),
            Check(name="it has the text asked for", holds=holds_text(outcome.state, self.note.key, self.note.text)),
        )

    async def solve(self, hand: Hand) -> None:
        await note_flows.create(hand, self.note.name, self.note.text)
        await hand.finish()


class DeleteNote(NotesTask):
    name: ClassVar[str] = "notes.delete"
    description: ClassVar[str] = "Delete one note"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Delete the note {note.name} in Markor.", "Remove {note.name} from my Markor notes."),
        "validation": ("Erase the Markor note {note.name}.",),
        "test": ("The Markor note {note.name} is out of date; delete it.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name=f"{self.note.name} is gone", holds=self.note.key not in outcome.state),)

    async def solve(self, hand: Hand) -> None:
        await note_flows.delete(hand, self.note.name)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class RewriteNote(NotesTask):
    name: ClassVar[str] = "notes.rewrite"
    description: ClassVar[str] = "Replace the text of a note"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            'Replace the whole text of the Markor note {note.name} with "{text}"',
            'Change the Markor note {note.name} so that it only says "{text}"',
        ),
        "validation": ('Overwrite {note.name} in Markor; the new text is "{text}"',),
        "test": ('The Markor note {note.name} is wrong. All it should say is "{text}"',),
    }

    text: str

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        note, spare, *others = draw_notes(rng, split, 4)
        return cls(
            wording=pick(rng, cls.wordings, split),
            note=note,
            others=tuple(others),
            folder=pick(rng, FOLDERS, split),
            text=spare.text,
        )

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="the text is replaced", holds=holds_text(outcome.state, self.note.key, self.text)),)

    async def solve(self, hand: Hand) -> None:
        await note_flows.rewrite(hand, self.note.name, self.text)
        await hand.finish()


class AppendToNote(RewriteNote):
    name: ClassVar[str] = "notes.append"
    description: ClassVar[str] = "Add a line at the end of a note"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            'Add the line "{text}" at the end of the Markor note {note.name}.',
            'In Markor, append a new last line to {note.name}: "{text}"',
        ),
        "validation": ('Keep the text of the Markor note {note.name} and add below it the line "{text}"',),
        "test": ('My Markor note {note.name} lacks a second line. It should say "{text}"',),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        wanted = f"{self.note.text}\n{self.text}"
        return (Check(name="the line stands below the text", holds=holds_text(outcome.state, self.note.key, wanted)),)

    async def solve(self, hand: Hand) -> None:
        await note_flows.rewrite(hand, self.note.name, f"{self.note.text}\n{self.text}")
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class RenameNote(NotesTask):
    name: ClassVar[str] = "notes.rename"
    description: ClassVar[str] = "Rename a note"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Rename the Markor note {note.name} to {new.name}.",),
        "validation": ("Give the Markor note {note.name} the new name {new.name}.",),
        "test": ("The Markor note {note.name} should be called {new.name} instead.",),
    }

    new: Note
    """The name it gets; its other fields do not matter."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        note, new, *others = draw_notes(rng, split, 4)
        return cls(
            wording=pick(rng, cls.wordings, split),
            note=note,
            others=tuple(others),
            folder=pick(rng, FOLDERS, split),
            new=new,
        )

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (
            Check(name=f"{self.new.name} has the text", holds=holds_text(outcome.state, self.new.key, self.note.text)),
            Check(name=f"{self.note.name} is gone", holds=self.note.key not in outcome.state),
        )

    def may_change(self) -> Sequence[str]:
        return literal(self.note.key), literal(self.new.key)

    async def solve(self, hand: Hand) -> None:
        await note_flows.rename(hand, self.note.name, self.new.name)
        await hand.finish()


class CreateNoteFolder(NotesTask):
    name: ClassVar[str] = "notes.create_folder"
    description: ClassVar[str] = "Make a folder among the notes"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Create a folder named {folder} in Markor.", "Make a new Markor folder called {folder}."),
        "validation": ("Add the folder {folder} to my Markor notes.",),
        "test": ("I want to sort my notes: create a {folder} folder in Markor.",),
    }

    def start_folders(self) -> tuple[str, ...]:
        return ()

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name=f"the folder {self.folder} exists", holds=note_key(f"{self.folder}/") in outcome.state),)

    def may_change(self) -> Sequence[str]:
        return (literal(note_key(f"{self.folder}/")),)

    async def solve(self, hand: Hand) -> None:
        await note_flows.create_folder(hand, self.folder)
        await hand.finish()


class MoveNote(NotesTask):
    name: ClassVar[str] = "notes.move"
    description: ClassVar[str] = "Move a note into a folder"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Move the Markor note {note.name} into the folder {folder}.",
            "In Markor, put {note.name} into {folder}.",
        ),
        "validation": ("File the Markor note {note.name} under the folder {folder}.",),
        "test": ("{note.name} belongs into Markor's {folder} folder; move it there.",),
    }

    @property
    def target_key(self) -> str:
        return note_key(f"{self.folder}/{self.note.name}")

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        moved = holds_text(outcome.state, self.target_key, self.note.text)
        return (
            Check(name=f"{self.note.name} is in {self.folder}", holds=moved),
            Check(name="it is no longer at its old place", holds=self.note.key not in outcome.state),
        )

    def may_change(self) -> Sequence[str]:
        return literal(self.note.key), literal(self.target_key)

    async def solve(self, hand: Hand) -> None:
        await note_flows.move(hand, self.note.name, self.folder)
        await hand.finish()


class DeleteNewestNote(NotesTask):
    name: ClassVar[str] = "notes.delete_newest"
    description: ClassVar[str] = "Delete the note changed last"
    splits: ClassVar[tuple[Split, ...]] = ("test",)
    wordings: ClassVar[Pool[str]] = {"test": ("Delete the Markor note that was changed most recently.",)}

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        notes = draw_notes(rng, split, 5)
        newest = max(notes, key=lambda note: note.modified)
        others = tuple(note for note in notes if note is not newest)
        return cls(wording=pick(rng, cls.wordings, split), note=newest, others=others, folder=pick(rng, FOLDERS, split))

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="the newest note is gone", holds=self.note.key not in outcome.state),)

    async def solve(self, hand: Hand) -> None:
        await note_flows.delete(hand, self.note.name)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class DeleteOldNotes(NotesTask):
    name: ClassVar[str] = "notes.delete_old"
    description: ClassVar[str] = "Delete every note older than a date"
    max_turns: ClassVar[int] = 30
    wordings: ClassVar[Pool[str]] = {
        "train": ("Delete every Markor note that was last changed before {cutoff_day} October 2023.",),
        "validation": (
            "Tidy up Markor: delete the notes last changed before {cutoff_day} October 2023, keep the rest.",
        ),
        "test": ("Keep only those Markor notes that were changed on or after {cutoff_day} October 2023.",),
    }

    cutoff_day: int
    """In October 2023; at least one note is older, at least two are not."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        notes = sorted(draw_notes(rng, split, 4), key=lambda note: note.modified)
        first_kept = notes[rng.randint(1, 2)]
        return cls(
            wording=pick(rng, cls.wordings, split),
            note=first_kept,
            others=tuple(reversed([note for note in notes if note is not first_kept])),
            folder=pick(rng, FOLDERS, split),
            cutoff_day=int(first_kept.modified[8:10]),
        )

    @property
    def victims(self) -> tuple[Note, ...]:
        return tuple(note for note in self.others if note.modified < self.note.modified)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return tuple(Check(name=f"{note.name} is gone", holds=note.key not in outcome.state) for note in self.victims)

    def may_change(self) -> Sequence[str]:
        return tuple(literal(note.key) for note in self.victims)

    async def solve(self, hand: Hand) -> None:
        for note in self.victims:
            await note_flows.delete(hand, note.name)
        await hand.finish()


class FindNote(NotesTask):
    name: ClassVar[str] = "notes.find"
    description: ClassVar[str] = "Say which note has a given text"
    max_turns: ClassVar[int] = 25
    wordings: ClassVar[Pool[str]] = {
        "train": ('Which Markor note says "{note.text}"? Answer with its file name only.',),
        "validation": ('Find the Markor note with the text "{note.text}" and answer with just its file name.',),
        "test": ('I wrote "{note.text}" somewhere in Markor. In which file? Answer with the file name only.',),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        right = any(same_answer(outcome.answer, name) for name in (self.note.name, self.note.name.removesuffix(".md")))
        return (Check(name="the answer names the note", holds=right),)

    def may_change(self) -> Sequence[str]:
        return ()

    async def solve(self, hand: Hand) -> None:
        names = [name for name in await note_flows.listed(hand) if name.endswith(".md")]
        for name in names:
            if await note_flows.read(hand, name) == self.note.text:
                await hand.finish(answer=name)
                return
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
