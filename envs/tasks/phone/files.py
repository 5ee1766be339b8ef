"""Tasks in Files: delete, rename, move, copy, sort and count files on the shared storage."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.hand import Hand
from rlfactory.envs.tasks.phone import file_flows
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, literal, pick, same_answer, sample
from rlfactory.envs.tasks.phone.pools import FILE_STEMS, FILE_TYPES, FOLDERS
from rlfactory.envs.tasks.phone.reading import file_key, holds_text
from rlfactory.envs.tasks.phone.seeding import SeedFile, seed_files
from rlfactory.envs.tasks.task import Check, Outcome

DOWNLOAD = "Download"
PLACES: Pool[str] = {"train": ("Documents", "Music"), "validation": ("Pictures",), "test": ("Movies", "Podcasts")}
"""Folders of the shared storage that files are moved or copied to."""


@dataclass(frozen=True, kw_only=True)
class FilesTask(PhoneTask):
    """One file in Download matters; the others are there to be left alone."""

    apps: ClassVar[tuple[str, ...]] = (file_flows.FILES,)
    max_turns: ClassVar[int] = 20

    file: str
    """File name in Download."""
    others: tuple[str, ...]
    place: str
    folder: str
    """A folder that does not exist at the start."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        file, *others = draw_files(rng, split, rng.randint(4, 6))
        return cls(
            wording=pick(rng, cls.wordings, split),
            file=file,
            others=tuple(others),
            place=pick(rng, PLACES, split),
            folder=pick(rng, FOLDERS, split),
        )

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        files = [
            SeedFile(path=f"{DOWNLOAD}/{name}", text=content(name), modified=f"2023-10-{day:02d} 10:00")
            for day, name in enumerate(sorted((self.file, *self.others)), start=1)
        ]
        await seed_files(device, files, emptied=(DOWNLOAD, self.place), timeout_s=timeout_s)

    @property
    def source_key(self) -> str:
        return file_key(f"{DOWNLOAD}/{self.file}")

    @property
    def target_key(self) -> str:
        return file_key(f"{self.place}/{self.file}")

    def may_change(self) -> Sequence[str]:
        return (literal(self.source_key),)


def draw_files(rng: random.Random, split: Split, count: int) -> tuple[str, ...]:
    """Draw at least 4 file names: the first two differ in their type only, the third has the first one's type."""
    stems = sample(rng, FILE_STEMS, split, count - 1)
    first, second = rng.sample(FILE_TYPES, 2)
    types = (first, *(rng.choice(FILE_TYPES) for _ in stems[2:]))
    rest = (f"{stem}.{kind}" for stem, kind in zip(stems[1:], types, strict=True))
    return f"{stems[0]}.{first}", f"{stems[0]}.{second}", *rest


def content(name: str) -> str:
    return f"This is {name}."


class DeleteFile(FilesTask):
    name: ClassVar[str] = "files.delete"
    description: ClassVar[str] = "Delete one file from Download"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Delete the file {file} from the Download folder.",
            "Use Files to remove {file} from Download.",
        ),
        "validation": ("Erase {file}, which is in the Download folder.",),
        "test": ("Free some space: the file {file} in Download can go.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name=f"{self.file} is gone", holds=self.source_key not in outcome.state),)

    async def solve(self, hand: Hand) -> None:
        await file_flows.open_folder(hand, DOWNLOAD)
        await file_flows.delete(hand, self.file)
        await hand.finish()


@dataclass(frozen=True, kw_only=True)
class RenameFile(FilesTask):
    name: ClassVar[str] = "files.rename"
    description: ClassVar[str] = "Rename a file in Download"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Rename the file {file} in Download to {new_name}.",),
        "validation": ("In the Download folder, give {file} the name {new_name}.",),
        "test": ("The file {file} in Download should be called {new_name}; rename it.",),
    }

    new_name: str

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        file, other, spare, *others = draw_files(rng, split, 5)
        return cls(
            wording=pick(rng, cls.wordings, split),
            file=file,
            others=(other, *others),
            place=pick(rng, PLACES, split),
            folder=pick(rng, FOLDERS, split),
            new_name=f"{spare.partition('.')[0]}.{file.partition('.')[2]}",
        )

    @property
    def new_key(self) -> str:
        return file_key(f"{DOWNLOAD}/{self.new_name}")

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        renamed = holds_text(outcome.state, self.new_key, content(self.file))
        return (
            Check(name=f"{self.new_name} is what {self.file} was", holds=renamed),
            Check(name=f"{self.file} is gone", holds=self.source_key not in outcome.state),
        )

    def may_change(self) -> Sequence[str]:
        return literal(self.source_key), literal(self.new_key)

    async def solve(self, hand: Hand) -> None:
        await file_flows.open_folder(hand, DOWNLOAD)
        await file_flows.rename(hand, self.file, self.new_name)
        await hand.finish()


class MoveFile(FilesTask):
    name: ClassVar[str] = "files.move"
    description: ClassVar[str] = "Move a file from Download to another folder"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Move {file} from Download to {place}.", "The file {file} in Download belongs to {place}; move it."),
        "validation": ("Take the file {file} out of Download and put it into {place}.",),
        "test": ("Relocate {file} from the Download folder to the {place} folder.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        arrived = holds_text(outcome.state, self.target_key, content(self.file))
        return (
            Check(name=f"{self.file} is in {self.place}", holds=arrived),
            Check(name="it is no longer in Download", holds=self.source_key not in outcome.state),
        )

    def may_change(self) -> Sequence[str]:
        return literal(self.source_key), literal(self.target_key)

    async def solve(self, hand: Hand) -> None:
        await file_flows.open_folder(hand, DOWNLOAD)
        await file_flows.transfer(hand, self.file, "Move to…", self.place)
        await hand.finish()


class CopyFile(FilesTask):
    name: ClassVar[str] = "files.copy"
    description: ClassVar[str] = "Copy a file from Download to another folder"
    wordings: ClassVar[Pool[str]] = {
        "train": ("Copy {file} from Download to {place}.",),
        "validation": ("Put a copy of {file}, which is in Download, into {place}; leave the original where it is.",),
        "test": ("I want {file} in the {place} folder as well as in Download.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        arrived = holds_text(outcome.state, self.target_key, content(self.file))
        return (Check(name=f"{self.file} is in {self.place}", holds=arrived),)

    def may_change(self) -> Sequence[str]:
        return (literal(self.target_key),)

    async def solve(self, hand: Hand) -> None:
        await file_flows.open_folder(hand, DOWNLOAD)
        await file_flows.transfer(hand, self.file, "Copy to…", self.place)
        await hand.finish()


class CreateFolder(FilesTask):
    name: ClassVar[str] = "files.create_folder"
    description: ClassVar[str] = "Make a folder in another folder"
    wordings: ClassVar[Pool[str]] = {
        "train": (
            "Create a folder named {folder} in {place}.",
            "Use Files to make the folder {folder} inside {place}.",
        ),
        "validation": ("Add a new folder called {folder} to the {place} folder.",),
        "test": ("The {place} folder needs a folder {folder}; create it with Files.",),
    }

    @property
    def folder_key(self) -> str:
        return file_key(f"{self.place}/{self.folder}/")

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name=f"{self.place}/{self.folder} exists", holds=self.folder_key in outcome.state),)

    def may_change(self) -> Sequence[str]:
        return (literal(self.folder_key),)

    async def solve(self, hand: Hand) -> None:
        await file_flows.open_folder(hand, self.place)
        await file_flows.create_folder(hand, self.folder)
        await hand.finish()


class DeleteFilesOfType(FilesTask):
    name: ClassVar[str] = "files.delete_type"
    description: ClassVar[str] = "Delete every file of one type from Download"
    max_turns: ClassVar[int] = 30
    wordings: ClassVar[Pool[str]] = {
        "train": ("Delete all files ending in .{type} from Download.",),
        "validation": ("Remove every .{type} file from the Download folder.",),
        "test": ("Clear the Download folder of all its .{type} files, and of nothing else.",),
    }

    @property
    def goal(self) -> str:
        return self.wording.format(type=self.type)

    @property
    def type(self) -> str:
        return self.file.partition(".")[2]

    @property
    def victims(self) -> tuple[str, ...]:
        return tuple(name for name in (self.file, *self.others) if name.endswith(f".{self.type}"))

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return tuple(
            Check(name=f"{name} is gone", holds=file_key(f"{DOWNLOAD}/{name}") not in outcome.state)
            for name in self.victims
        )

    def may_change(self) -> Sequence[str]:
        return tuple(literal(file_key(f"{DOWNLOAD}/{name}")) for name in self.victims)

    async def solve(self, hand: Hand) -> None:
        await file_flows.open_folder(hand, DOWNLOAD)
        for name in self.victims:
            await file_flows.delete(hand, name)
        await hand.finish()


class CountFiles(DeleteFilesOfType):
    name: ClassVar[str] = "files.count"
    description: ClassVar[str] = "Say how many files of one type Download holds"
    wordings: ClassVar[Pool[str]] = {
        "train": ("How many files ending in .{type} are in Download? Answer with a number in digits.",),
        "validation": ("Count the .{type} files in the Download folder; answer with the number in digits only.",),
        "test": ("Tell me the number of .{type} files in Download, as digits only.",),
    }

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="the number is right", holds=same_answer(outcome.answer, str(len(self.victims)))),)

    def may_change(self) -> Sequence[str]:
        return ()

    async def solve(self, hand: Hand) -> None:
        await file_flows.open_folder(hand, DOWNLOAD)
        names = await file_flows.listed(hand)
        await hand.finish(answer=str(sum(name.endswith(f".{self.type}") for name in names)))


TASKS: tuple[type[PhoneTask], ...] = (
    DeleteFile,
    RenameFile,
    MoveFile,
    CopyFile,
    CreateFolder,
    DeleteFilesOfType,
    CountFiles,
)
