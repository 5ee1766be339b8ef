"""Data sets laid out as Spider and BIRD are, from their files to a reward."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("sqlglot")

from rlfactory.envs.api.errors import EnvironmentFault, TaskError
from rlfactory.envs.client.oracle import play
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.text2sql.spider import SpiderTask, spider_task


def make_database(path: Path, *names: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO singer (name) VALUES (?)", [(name,) for name in names])
    connection.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "songs"
    make_database(place / "database" / "concert" / "concert.sqlite", "Ann", "Bo")
    make_database(place / "database" / "concert" / "concert_2.sqlite", "Cy")
    spider = {"db_id": "concert", "question": "Who sings?", "query": "SELECT name FROM singer ORDER BY name"}
    bird = {"db_id": "concert", "question": "How many?", "SQL": "SELECT count(*) FROM singer", "evidence": "singers"}
    (place / "train_spider.json").write_text(json.dumps([spider]))
    (place / "dev.json").write_text(json.dumps([bird]))
    return place


def draw(folder: Path, split: str) -> SpiderTask:
    drawn = TaskRegistry((spider_task(folder),)).draw("text2sql.songs", seed=1, split=split)  # type: ignore[arg-type]
    assert isinstance(drawn, SpiderTask)
    return drawn


async def test_its_questions_are_played_and_judged_on_all_databases(folder, client_of):
    registry = TaskRegistry((spider_task(folder),))
    async with client_of(tasks=registry) as client:
        for split in ("train", "validation"):
            record = await play(client, "text2sql.songs", seed=1, split=split, registry=registry)
            assert (record.stuck, record.reward.total) == ("", 1.0)
        with pytest.raises(TaskError, match="no split 'test'"):
            await play(client, "text2sql.songs", seed=1, split="test", registry=registry)


def test_what_the_agent_is_told(folder):
    train, validation = draw(folder, "train"), draw(folder, "validation")
    assert train.goal.startswith("Who sings?\n\nCREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT);")
    assert validation.goal.startswith("How many?\n(singers)\n")
    assert (train.question.comparison.rows, validation.question.comparison.rows) == ("ordered", "multiset")
    assert len(train.databases) == 2


def test_files_that_are_wrong_are_named(folder, tmp_path):
    with pytest.raises(TaskError, match=r"has none of train_spider\.json"):
        spider_task(tmp_path)
    (folder / "dev.json").write_text('[{"question": "?"}]')
    with pytest.raises(TaskError, match=r"dev\.json is no file of questions: KeyError: 'db_id'"):
        spider_task(folder)
    (folder / "dev.json").write_text("[]")
    with pytest.raises(TaskError, match="has no questions"):
        spider_task(folder)
    (folder / "dev.json").write_text(json.dumps([{"db_id": "gone", "question": "?", "query": "SELECT 1"}]))
    with pytest.raises(EnvironmentFault, match="no database 'gone'"):
        assert draw(folder, "validation").goal
