"""The suite's four tasks, one for each level of questions, on databases drawn from the seed."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Self

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.task import variant
from rlfactory.envs.tasks.text2sql.base import Question, Text2SqlTask
from rlfactory.envs.tasks.text2sql.domains import DOMAINS, Domain
from rlfactory.envs.tasks.text2sql.generate import database, pointed
from rlfactory.envs.tasks.text2sql.questions import LEVELS
from rlfactory.envs.tools.sql.database import SqliteBytes

HIDDEN: Final = 3
"""Databases that only the verdict sees."""
POINTED: Final = 16
"""More of them, pointed at the question's query."""
MAX_DRAWS: Final = 50


@dataclass(frozen=True, kw_only=True)
class GeneratedTask(Text2SqlTask):
    """A question of one level. On its databases the answer is never empty, and never the same on all."""

    level: ClassVar[int]

    domain: Domain
    question: Question
    seed: int

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        for _ in range(MAX_DRAWS):
            domain = rng.choice(DOMAINS[split])
            question = rng.choice(LEVELS[cls.level - 1]).about(domain, rng)
            task = cls(domain=domain, question=question, seed=rng.randrange(2**32))
            if task.tells_apart():
                return task
        raise RuntimeError(f"{cls.name}: no question of {MAX_DRAWS} has answers that differ")

    @property
    def schema(self) -> str:
        return self.domain.ddl

    @cached_property
    def databases(self) -> Sequence[SqliteBytes]:
        at_it = (pointed(self.domain, self.question.gold, f"{self.seed}/{number}") for number in range(POINTED))
        return (*self._alike, *at_it)

    def more_databases(self, count: int) -> Sequence[SqliteBytes]:
        return tuple(
            each
            for number in range(count)
            for each in (
                database(self.domain, f"more/{number}"),
                pointed(self.domain, self.question.gold, f"more/{number}"),
            )
        )

    @cached_property
    def _alike(self) -> Sequence[SqliteBytes]:
        return tuple(database(self.domain, f"{self.seed}/{number}") for number in range(1 + HIDDEN))

    def tells_apart(self) -> bool:
        """Tell whether an answer that was read off the first database fails on another."""
        answers = [_rows(each, self.question.gold) for each in self._alike]
        return bool(answers[0]) and any(answer != answers[0] for answer in answers[1:])


def _rows(where: SqliteBytes, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(where.data)
        return connection.execute(sql).fetchall()


_DESCRIPTIONS: Final = {
    "text2sql.select": "A question about one table: conditions, missing values, order",
    "text2sql.summarize": "Counts, totals and averages, by group",
    "text2sql.join": "A question about several tables, also about rows without a partner",
    "text2sql.nested": "Queries in queries: comparisons with groups, ranks, shares, running totals",
}
TEXT2SQL_TASKS: Final[tuple[type[GeneratedTask], ...]] = tuple(
    variant(GeneratedTask, name, level=level, description=said)
    for level, (name, said) in enumerate(_DESCRIPTIONS.items(), start=1)
)
