"""A task that needs a search and a query before the phone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.mixed import databases, directory
from rlfactory.envs.tasks.mixed.base import CLOCK, MixedTask
from rlfactory.envs.tasks.mixed.databases import Ride
from rlfactory.envs.tasks.mixed.directory import DirectoryIndex, Entry, made_directory
from rlfactory.envs.tasks.mixed.querying import SQL, first_train
from rlfactory.envs.tasks.mixed.searching import LOOKUP
from rlfactory.envs.tasks.phone.base import Want
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.wants import alarm_added
from rlfactory.envs.tasks.search_qa.question import SEARCH
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.search.tool import SearchTool
from rlfactory.envs.tools.sql.tool import sql_tool
from rlfactory.envs.tools.tool import ToolFactory


@dataclass(frozen=True, kw_only=True)
class TrainToPerson(MixedTask):
    """Search for the town of a person, query the trains that go there, set an alarm."""

    name = "mixed.train_to_person"
    tools: ClassVar[tuple[str, ...]] = ("phone", SEARCH, SQL, "finish")
    apps: ClassVar[tuple[str, ...]] = (CLOCK,)
    lookup: ClassVar[str] = f"{LOOKUP} The tool `sql` queries this SQLite database:"

    entry: Entry
    ride: Ride

    @classmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        entry = rng.choice(made_directory().entries[split])
        return {"entry": entry, "ride": databases.draw_ride(rng, split, destination=entry.town)}

    @property
    def goal(self) -> str:
        return f"{super().goal}\n\n{self.ride.timetable.ddl}"

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {
            SEARCH: lambda context: SearchTool(context.services.of(DirectoryIndex).retriever),
            SQL: sql_tool(self.ride.timetable.database),
        }

    def wants(self) -> Sequence[Want]:
        return (alarm_added(self.ride.leaves.text),)

    async def perform(self, ui: UiDriver) -> None:
        town = await directory.town_of(ui, self.entry.person.full_name, self.entry.trade)
        await clock_flows.add_alarm(ui, await first_train(ui, self.ride.origin, town, self.ride.after))


BOTH: tuple[type[MixedTask], ...] = (TrainToPerson,)
