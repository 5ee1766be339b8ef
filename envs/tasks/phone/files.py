"""Tasks in Files: delete, rename, move, copy, sort and count files on the shared storage."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import Number
from rlfactory.envs.tasks.phone.base import PhoneTask, Pool, Want, pick, sample
from rlfactory.envs.tasks.phone.flows import files as file_flows
from rlfactory.envs.tasks.phone.pools import FILE_STEMS, FILE_TYPES, POOLS, draw_folder
from rlfactory.envs.tasks.phone.reading import file_key
from rlfactory.envs.tasks.phone.seeding import SeedFile, files_beside, seed_files
from rlfactory.envs.tasks.phone.wants import file_copied, file_moved, file_removed, folder_made
from rlfactory.envs.tasks.task import Outcome
from rlfactory.envs.tasks.ui_driver import UiDriver

DOWNLOAD = "Download"
MOST_COUNTED: Final = 40
PARTED: Final = 4
PARTS: Final = 50
"""The files that are counted are parts of a few: "bank_letter_7.pdf"."""
PLACES: Pool[str] = POOLS["storage_folders"]
"""Folders of the shared storage that files are moved or copied to."""


@dataclass(frozen=True, kw_only=True)
class FilesTask(PhoneTask):
    """One file in Download matters; the others are there to be left alone."""

    apps: ClassVar[tuple[str, ...]] = (file_flows.FILES,)
    max_turns: ClassVar[int] = 24

    file: str
    """File name in Download."""
    others: tuple[str, ...]
    place: str
    folder: str
    """A folder that does not exist at the start."""

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        file, *others = draw_files(rng, split, rng.randint(4, 6))
        return {"file": file, "others": tuple(others)}

    @classmethod
    def draw_rest(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return {"place": pick(rng, PLACES, split), "folder": draw_folder(rng, split)}

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        files = [
            SeedFile(path=f"{DOWNLOAD}/{name}", text=content(name), modified=f"2023-10-{1 + number % 14:02d} 10:00")
            for number, name in enumerate(sorted((self.file, *self.others)))
        ]
        beside = files_beside(self.look, DOWNLOAD)
        await seed_files(device, (*files, *beside), emptied=(DOWNLOAD, self.place), timeout_s=timeout_s)

    @property
    def source_key(self) -> str:
        return file_key(f"{DOWNLOAD}/{self.file}")

    @property
    def target_key(self) -> str:
        return file_key(f"{self.place}/{self.file}")


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
    name = "files.delete"

    def wants(self) -> Sequence[Want]:
        return (file_removed(self.source_key),)

    async def perform(self, ui: UiDriver) -> None:
        await file_flows.open_folder(ui, DOWNLOAD)
        await file_flows.delete(ui, self.file)


@dataclass(frozen=True, kw_only=True)
class RenameFile(FilesTask):
    name = "files.rename"

    new_name: str

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        file, other, spare, *others = draw_files(rng, split, 5)
        new_name = f"{spare.partition('.')[0]}.{file.partition('.')[2]}"
        return {"file": file, "others": (other, *others), "new_name": new_name}

    @property
    def new_key(self) -> str:
        return file_key(f"{DOWNLOAD}/{self.new_name}")

    def wants(self) -> Sequence[Want]:
        return (file_moved(self.source_key, self.new_key),)

    async def perform(self, ui: UiDriver) -> None:
        await file_flows.open_folder(ui, DOWNLOAD)
        await file_flows.rename(ui, self.file, self.new_name)


class MoveFile(FilesTask):
    name = "files.move"

    def wants(self) -> Sequence[Want]:
        return (file_moved(self.source_key, self.target_key),)

    async def perform(self, ui: UiDriver) -> None:
        await file_flows.open_folder(ui, DOWNLOAD)
        await file_flows.transfer(ui, self.file, "Move to…", self.place)


class CopyFile(FilesTask):
    name = "files.copy"

    def wants(self) -> Sequence[Want]:
        return (file_copied(self.source_key, self.target_key),)

    async def perform(self, ui: UiDriver) -> None:
        await file_flows.open_folder(ui, DOWNLOAD)
        await file_flows.transfer(ui, self.file, "Copy to…", self.place)


class CreateFolder(FilesTask):
    name = "files.create_folder"

    @property
    def folder_key(self) -> str:
        return file_key(f"{self.place}/{self.folder}/")

    def wants(self) -> Sequence[Want]:
        return (folder_made(self.folder_key),)

    async def perform(self, ui: UiDriver) -> None:
        await file_flows.open_folder(ui, self.place)
        await file_flows.create_folder(ui, self.folder)


class DeleteFilesOfType(FilesTask):
    name = "files.delete_type"

    @property
    def goal(self) -> str:
        return self.wording.format(type=self.type)

    @property
    def type(self) -> str:
        return self.file.partition(".")[2]

    @property
    def victims(self) -> tuple[str, ...]:
        return tuple(name for name in (self.file, *self.others) if name.endswith(f".{self.type}"))

    def wants(self) -> Sequence[Want]:
        return tuple(file_removed(file_key(f"{DOWNLOAD}/{name}")) for name in self.victims)

    async def perform(self, ui: UiDriver) -> str | None:
        await file_flows.open_folder(ui, DOWNLOAD)
        for name in self.victims:
            await file_flows.delete(ui, name)
        return None


class CountFiles(DeleteFilesOfType):
    name = "files.count"

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        return cls._counted(rng, sample(rng, FILE_STEMS, split, PARTED), rng.choice(FILE_TYPES))

    def redraw(self, rng: random.Random) -> dict[str, Any]:
        stems = sorted({name.rpartition("_")[0] for name in (self.file, *self.others)})
        return self._counted(rng, stems, self.type)

    @staticmethod
    def _counted(rng: random.Random, stems: Sequence[str], kind: str) -> dict[str, Any]:
        """Draw files of this type, and a few of others, as parts of these."""
        count, beside = rng.randint(1, MOST_COUNTED), rng.randint(0, 2)
        names = rng.sample([f"{stem}_{part}" for stem in stems for part in range(1, PARTS + 1)], count + beside)
        types = (*[kind] * count, *(rng.choice([each for each in FILE_TYPES if each != kind]) for _ in range(beside)))
        file, *others = (f"{name}.{each}" for name, each in zip(names, types, strict=True))
        return {"file": file, "others": tuple(others)}

    def sub_goals(self, outcome: Outcome) -> dict[str, bool]:
        after = ("files", "file", f".{self.type} files", f"{self.type} files")
        number = Number(value=len(self.victims), after=after)
        return {"the number is right": number.accepts(outcome.answer)}

    def wants(self) -> Sequence[Want]:
        return ()

    async def perform(self, ui: UiDriver) -> str:
        await file_flows.open_folder(ui, DOWNLOAD)
        names: set[str] = set()
        while new := {*await file_flows.listed(ui)} - names:
            names |= new
            await ui.swipe("up")
        return str(sum(name.endswith(f".{self.type}") for name in names))


TASKS: tuple[type[PhoneTask], ...] = (
    DeleteFile,
    RenameFile,
    MoveFile,
    CopyFile,
    CreateFolder,
    DeleteFilesOfType,
    CountFiles,
)
