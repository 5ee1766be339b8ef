"""Questions for a model of a million parameters. The table has to be looked up before a query can be right.

A database has two tables, drawn from the seed like their columns, and only one has the column that the question asks
about. The goal names no table, so whoever answers without looking guesses. Splits differ in which column is asked for
beside which two tables, and in how the goal is worded; every word of the validation and test splits is one of the train
split.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Self

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.table import filled
from rlfactory.envs.tasks.task import Task, variant
from rlfactory.envs.tasks.text2sql.base import Question, Text2SqlTask
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tasks.wordings import draw_wording, split_of
from rlfactory.envs.tools.sql.database import SqliteBytes

TABLES: Final = ("boat", "chair", "drum", "lamp", "coat", "ring", "cup", "door")
COLUMNS: Final = ("weight", "price", "age", "length", "speed", "width")
COLORS: Final = ("red", "blue", "green", "black", "white", "brown")
NUMBERS: Final = (1, 999)
HIDDEN: Final = 3
"""Databases that only the verdict sees."""
LOOK: Final = "SELECT tbl_name FROM sqlite_schema WHERE sql LIKE '%{column}%'"

BEGINNINGS: Final = ("What is", "Tell me", "Say", "I ask for")
ENDS: Final = ("Give the query.", "Answer with the query.", "Write the query.", "The query, please.")


@dataclass(frozen=True, kw_only=True)
class TinySqlTask(Text2SqlTask):
    """One question about one column."""

    suite: ClassVar[str] = "tiny_text2sql"
    max_turns: ClassVar[int] = 3
    wording: ClassVar[str]
    query: ClassVar[str]

    column: str
    table: str
    """That has the column."""
    tables: Sequence[tuple[str, Sequence[str]]]
    """Each with its columns, as they stand in the database."""
    color: str
    asking: tuple[str, str]
    """How the goal begins and ends."""
    seed: int

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        while True:
            column = rng.randrange(len(COLUMNS))
            table, other = rng.sample(range(len(TABLES)), 2)
            if split_of(column, table, other) == split:  # the same whichever of the tables has the column
                break
        second, *others = rng.sample([each for each in COLUMNS if each != COLUMNS[column]], 3)
        tables = [(TABLES[table], rng.sample((COLUMNS[column], second), 2)), (TABLES[other], others)]
        return cls(
            column=COLUMNS[column],
            table=TABLES[table],
            tables=rng.sample(tables, 2),
            color=rng.choice(COLORS),
            asking=draw_wording(rng, split, BEGINNINGS, ENDS),
            seed=rng.randrange(2**32),
        )

    @property
    def question(self) -> Question:  # type: ignore[override]
        words = {"column": self.column, "table": self.table, "color": self.color}
        text = f"{self.asking[0]} {self.wording.format(**words)}"
        return Question(text=text, gold=self.query.format(**words))

    @property
    def goal(self) -> str:
        return f"{self.question.text} {self.asking[1]}"

    @property
    def schema(self) -> str:
        return "\n".join(
            f"CREATE TABLE {table} (color TEXT, {', '.join(f'{column} INTEGER' for column in columns)});"
            for table, columns in self.tables
        )

    @cached_property
    def databases(self) -> Sequence[SqliteBytes]:
        return tuple(self._database(number) for number in range(1 + HIDDEN))

    def more_databases(self, count: int) -> Sequence[SqliteBytes]:
        return tuple(self._database(1 + HIDDEN + number) for number in range(count))

    def _database(self, number: int) -> SqliteBytes:
        rng = random.Random(f"{self.seed}/{number}")
        rows = (
            (table, (color, *(rng.randint(*NUMBERS) for _ in columns)))
            for table, columns in self.tables
            for color in COLORS
        )
        return filled(self.schema, rows)

    async def solve(self, ui: UiDriver) -> None:
        await ui.call("sql", query=LOOK.format(column=self.column))
        await ui.finish(answer=self.question.gold)


_TEMPLATES: Final = (
    (
        "highest",
        "The highest value of a column",
        "the highest {column}.",
        "SELECT max({column}) FROM {table}",
    ),
    (
        "lowest",
        "The lowest value of a column",
        "the lowest {column}.",
        "SELECT min({column}) FROM {table}",
    ),
    (
        "total",
        "The total of a column",
        "the total {column}.",
        "SELECT sum({column}) FROM {table}",
    ),
)
TINY_TEXT2SQL_TASKS: tuple[type[Task], ...] = (
    *(
        variant(
            *(TinySqlTask, f"tiny_text2sql.{name}"),
            description=f"{what} whose table is to be found",
            wording=wording,
            query=query,
        )
        for name, what, wording, query in _TEMPLATES
    ),
    variant(
        *(TinySqlTask, "tiny_text2sql.of_color"),
        description="The value of a column in the row of a colour, its table to be found",
        wording="the {column} of the {color} one.",
        query="SELECT {column} FROM {table} WHERE color = '{color}'",
    ),
)
