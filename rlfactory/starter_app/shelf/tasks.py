"""Two tasks over the app: one adds an item, one asks where an item is. Each has its solution by taps."""

from __future__ import annotations

import random
import shlex
from collections.abc import Sequence
from fnmatch import fnmatch
from typing import ClassVar, Final, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import UiDriver
from shelf.app import PACKAGE

URI: Final = f"content://{PACKAGE}/items"
COLORS: Final = {
    "train": ("Blue", "Green", "Old", "Red", "Small", "Thick", "Thin", "White"),
    "validation": ("Brown", "Heavy", "Large", "New", "Silver", "Torn", "Wide", "Yellow"),
    "test": ("Black", "Golden", "Gray", "Long", "Orange", "Pink", "Purple", "Round"),
}
THINGS: Final = ("album", "almanac", "box", "dictionary", "globe", "logbook", "map", "songbook")
ROOMS: Final = {
    "train": ("Hall", "Bedroom", "Office", "Landing"),
    "validation": ("Attic", "Garage", "Library", "Parlour"),
    "test": ("Cellar", "Loft", "Porch", "Workshop"),
}
ROWS: Final = ("first row", "second row", "third row", "top")
ADDED: Final = f"app/{PACKAGE}/items/[4-9]"
"""Keys of the rows that come after the three of a new phone. A change to those three is a side effect."""


class _ItemTask(Task):
    suite: ClassVar[str] = "shelf"
    apps: ClassVar[tuple[str, ...]] = (PACKAGE,)

    def __init__(self, title: str, place: str) -> None:
        self.title, self.place = title, place

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        title = f"{rng.choice(COLORS[split])} {rng.choice(THINGS)}"
        return cls(title, f"{rng.choice(ROOMS[split])}, {rng.choice(ROWS)}")


class AddItem(_ItemTask):
    name: ClassVar[str] = "shelf.add"
    description: ClassVar[str] = "Add an item with its place"

    @property
    def goal(self) -> str:
        return f'In Shelf, add the item "{self.title}" with the place "{self.place}" and no details.'

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        rows = [row for key, row in outcome.state.items() if fnmatch(key, ADDED)]
        wanted = f"'{self.title}','{self.place}',''"
        return (Check(name="added", holds=[row.partition(",")[2] for row in rows] == [wanted]),)

    def allowed(self) -> Sequence[str]:
        return (ADDED,)

    async def solve(self, ui: UiDriver) -> None:
        await ui.open("Shelf")
        await ui.tap("New item")
        await ui.type(self.title, into="title_field")
        await ui.type(self.place, into="place_field")
        await ui.tap("SAVE")
        await ui.finish()


class WhereIs(_ItemTask):
    name: ClassVar[str] = "shelf.where"
    description: ClassVar[str] = "Say where an item is"

    @property
    def goal(self) -> str:
        return f'Where is the item "{self.title}" by the app Shelf? Answer with its place alone.'

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        values = (f"title:s:{self.title}", f"place:s:{self.place}", "details:s:")
        binds = " ".join(f"--bind {shlex.quote(value)}" for value in values)
        await device.shell(f"content insert --uri {URI} {binds}", timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="answer", holds=outcome.answer.strip().casefold() == self.place.casefold()),)

    async def solve(self, ui: UiDriver) -> None:
        await ui.open("Shelf")
        await ui.tap(self.title)
        await ui.finish(answer=self.place)
