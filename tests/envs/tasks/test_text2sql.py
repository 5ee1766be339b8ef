"""The suite text2sql: its oracle, answers that look right, and what differs between splits."""

from __future__ import annotations

import itertools
import random
import sqlite3
from contextlib import closing

import pytest

from rlfactory.envs.api.types import EpisodeState, Split, ToolCall, ToolStatus
from rlfactory.envs.client.oracle import play
from rlfactory.envs.rewards.sql import EXECUTES, RIGHT, SEEN_RIGHT
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Outcome, Task
from rlfactory.envs.tasks.text2sql import TEXT2SQL_TASKS
from rlfactory.envs.tasks.text2sql.domains import DOMAINS
from rlfactory.envs.tasks.text2sql.generate import database
from rlfactory.envs.tasks.text2sql.levels import GeneratedTask
from rlfactory.envs.tasks.text2sql.questions import LEVELS
from rlfactory.envs.tasks.validation.sql_mutants import told_apart
from rlfactory.envs.tools.sql.database import SqliteBytes
from rlfactory.envs.tools.sql.workers import SqlWorkers

REGISTRY = TaskRegistry(TEXT2SQL_TASKS)
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def draw(task: type[Task], seed: int, split: Split = "train") -> GeneratedTask:
    drawn = REGISTRY.draw(task.name, seed=seed, split=split)
    assert isinstance(drawn, GeneratedTask)
    return drawn


def read(where: SqliteBytes, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(where.data)
        return connection.execute(sql).fetchall()


def answered(answer: str) -> Outcome:
    return Outcome(state={}, initial={}, finished=True, claimed_success=True, answer=answer)


async def test_oracles_solve_every_level_and_split_over_the_service(client):
    for task, split, seed in itertools.product(TEXT2SQL_TASKS, SPLITS, range(3)):
        record = await play(client, task.name, seed=seed, split=split)
        assert record.stuck == ""
        assert (record.reward.total, record.reward.success, record.state) == (1.0, True, EpisodeState.FINISHED)
        assert record.reward.parts == {"success": 1.0, EXECUTES: 1.0, SEEN_RIGHT: 1.0, RIGHT: 1.0}


async def test_an_agent_sees_rows_refusals_and_its_reward(client):
    async with client.session("text2sql.select", seed=1) as session:
        assert "CREATE TABLE" in session.goal and "finish" in session.goal
        calls = [
            ToolCall(id="0", name="sql", arguments={"query": "SELECT count(*) AS tables FROM sqlite_schema"}),
            ToolCall(id="1", name="sql", arguments={"query": "CREATE TABLE mine (a)"}),
        ]
        results = (await session.step(calls)).results
        assert (results[0].status, results[0].text) == (ToolStatus.OK, "tables\n3\n(1 row)")
        assert (results[1].status, "the schema is not allowed" in results[1].text) == (ToolStatus.REJECTED, True)
        ending = ToolCall(id="0", name="finish", arguments={"answer": "SELECT 1"})
        reward = (await session.step([ending])).reward
        assert (reward.total, reward.parts[EXECUTES], reward.parts[RIGHT]) == (0.0, 1.0, 0.0)


async def test_what_was_read_off_the_first_database_fails_on_the_others():
    async with Services() as services:
        for task in TEXT2SQL_TASKS:
            for seed in range(4):
                drawn = draw(task, seed)
                rows = read(drawn.databases[0], drawn.question.gold)
                lucky = " UNION ALL ".join(
                    f"SELECT {', '.join(repr(value) if value is not None else 'NULL' for value in row)}" for row in rows
                )
                scores = await drawn.verify(answered(lucky), services=services, timeout_s=10)
                assert (scores[EXECUTES], scores[SEEN_RIGHT], scores[RIGHT]) == (1.0, 1.0, 0.0), drawn.question.text


@pytest.mark.parametrize("task", TEXT2SQL_TASKS)
def test_databases_tell_every_wrong_mutant_of_a_query_from_it(task):
    """Wrong is what gives other rows on any of many databases. `python -m benchmarks.trust --only sql` tries more."""
    told = [told_apart(draw(task, seed, split), others=8) for split in SPLITS for seed in range(2)]
    assert sum(each.wrong for each in told) > 40
    assert [query for each in told for query in each.accepted] == []


async def test_another_way_to_write_it_is_right():
    many = (draw(TEXT2SQL_TASKS[2], seed) for seed in range(50))
    drawn = next(each for each in many if "NOT EXISTS" in each.question.gold)
    d = drawn.domain
    year = drawn.question.gold.partition("LIKE '")[2][:4]
    other = (
        f"```sql\nSELECT m.name, t.name FROM {d.maker.table} m JOIN {d.thing.table} t ON t.{d.maker_key} = m.id\n"
        f"LEFT JOIN {d.event.table} e ON e.{d.thing_key} = t.id AND strftime('%Y', e.day) = '{year}'\n"
        "WHERE e.id IS NULL;\n```"
    )
    async with Services() as services:
        assert (await drawn.verify(answered(other), services=services, timeout_s=10))[RIGHT] == 1.0
        assert services.of(SqlWorkers).started <= 2


@pytest.mark.parametrize("split", SPLITS)
def test_every_question_has_an_answer_in_every_world(split):
    for domain in DOMAINS[split]:
        where = database(domain, "test")
        assert where.data == database(domain, "test").data
        for level in LEVELS:
            for template in level:
                question = template.about(domain, random.Random(1))
                assert question.text.endswith((".", "?"))
                read(where, question.gold)


def test_splits_share_no_words():
    def words(split: Split) -> set[str]:
        domains = DOMAINS[split]
        return {
            word for d in domains for word in (d.name, d.maker.table, d.thing.table, *d.makers, *d.places, *d.things)
        }

    for first, second in itertools.combinations(SPLITS, 2):
        assert not words(first) & words(second)


def test_the_same_seed_gives_the_same_task():
    for task in TEXT2SQL_TASKS:
        assert draw(task, 5).goal == draw(task, 5).goal != draw(task, 6).goal
        assert [each.key for each in draw(task, 5).databases] == [each.key for each in draw(task, 5).databases]
