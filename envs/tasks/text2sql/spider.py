"""Data sets laid out as Spider and BIRD are: files of questions, and a folder of SQLite databases for each.

    FOLDER/train_spider.json or train.json, dev.json, test.json     the splits train, validation and test
    FOLDER/database/NAME/NAME.sqlite                                (or databases, {train,dev,test}_databases)
    FOLDER/database/NAME/*.sqlite                                   others with the same tables, for the verdict alone

A question is an object with `db_id`, `question`, `query` (Spider) or `SQL` (BIRD), and perhaps `evidence`.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Self
from urllib.parse import quote

from rlfactory.envs.api.errors import EnvironmentFault, TaskError
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.task import Task, variant
from rlfactory.envs.tasks.text2sql.base import Question, Text2SqlTask
from rlfactory.envs.tools.sql.database import Database, sqlite_database
from rlfactory.envs.tools.sql.statement import is_ordered

FILES: Final[Mapping[Split, Sequence[str]]] = {
    "train": ("train_spider.json", "train.json"),
    "validation": ("dev.json",),
    "test": ("test.json",),
}
FOLDERS: Final = ("database", "databases", "train_databases", "dev_databases", "test_databases", "test_database")


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """One question of a file."""

    database: str
    question: str
    gold: str


@dataclass(frozen=True, kw_only=True)
class SpiderTask(Text2SqlTask):
    """One question of a data set. `spider_task` makes the template of a folder."""

    description: ClassVar[str] = "A question of a data set laid out as Spider or BIRD"
    folder: ClassVar[Path]
    examples: ClassVar[Mapping[Split, Sequence[Example]]]

    example: Example

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(example=rng.choice(cls.examples[split]))

    @cached_property
    def question(self) -> Question:  # type: ignore[override]
        gold = self.example.gold
        try:
            ordered = is_ordered(gold, "sqlite")
        except ValueError:
            ordered = False
        return Question(text=self.example.question, gold=gold, ordered=ordered)

    @cached_property
    def paths(self) -> Sequence[Path]:
        """The database of the question, then others with the same tables."""
        name = self.example.database
        for folder in FOLDERS:
            place = self.folder / folder / name
            main = place / f"{name}.sqlite"
            if main.is_file():
                return (main, *sorted(each for each in place.glob("*.sqlite") if each != main))
        raise EnvironmentFault(f"{self.folder} has no database {name!r} in any of {', '.join(FOLDERS)}")

    @cached_property
    def databases(self) -> Sequence[Database]:
        return tuple(map(sqlite_database, self.paths))

    @cached_property
    def schema(self) -> str:
        where = f"file:{quote(str(self.paths[0].resolve()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(where, uri=True)) as connection:
            rows = connection.execute("SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND sql NOT NULL")
            return ";\n".join(sql for (sql,) in rows) + ";"


def spider_task(folder: Path) -> type[Task]:
    """Return the template of a data set; it is called `text2sql.<name of the folder>`.

    Raises: TaskError: the folder has no questions, or its files are not laid out so. sqlglot is needed, too.
    """
    found = {split: path for split, names in FILES.items() for path in _first(folder, names)}
    if not found:
        raise TaskError(f"{folder} has none of {', '.join(name for names in FILES.values() for name in names)}")
    examples = {split: _read(path) for split, path in found.items()}
    return variant(
        SpiderTask, f"text2sql.{folder.resolve().name}", splits=tuple(found), examples=examples, folder=folder
    )


def _first(folder: Path, names: Sequence[str]) -> list[Path]:
    return [folder / name for name in names if (folder / name).is_file()][:1]


def _read(path: Path) -> Sequence[Example]:
    """Raises: TaskError."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        examples = tuple(map(_example, listed))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(f"{path} is no file of questions: {type(error).__name__}: {error}") from None
    if not examples:
        raise TaskError(f"{path} has no questions")
    return examples


def _example(entry: Mapping[str, Any]) -> Example:
    evidence = str(entry.get("evidence") or "").strip()
    question = str(entry["question"]).strip()
    return Example(
        database=str(entry["db_id"]),
        question=f"{question}\n({evidence})" if evidence else question,
        gold=str(entry["query"] if "query" in entry else entry["SQL"]),
    )
