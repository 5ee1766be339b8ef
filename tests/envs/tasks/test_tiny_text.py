"""The tiny suites without a phone: solvable by looking things up, and by nothing else."""

from __future__ import annotations

import itertools

from rlfactory.envs.api.types import EpisodeState, Split, ToolCall, ToolStatus
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.rewards.sql import EXECUTES
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.search_qa.tiny import FACTS, TINY_SEARCH_TASKS, TinyQuestion, people, village
from rlfactory.envs.tasks.text2sql.tiny import LOOK, TINY_TEXT2SQL_TASKS, TinySqlTask

REGISTRY = TaskRegistry((*TINY_TEXT2SQL_TASKS, *TINY_SEARCH_TASKS))
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def drawn(name: str, seed: int, split: Split = "train") -> TinySqlTask:
    task = REGISTRY.draw(name, seed=seed, split=split)
    assert isinstance(task, TinySqlTask)
    return task


async def test_oracles_look_up_and_solve_every_split(client: EnvClient) -> None:
    for info, split, seed in itertools.product(REGISTRY.infos(), SPLITS, range(5)):
        record = await play(client, info.name, seed=seed, split=split, registry=REGISTRY)
        assert record.stuck == ""
        assert (record.reward.success, record.reward.total) == (True, 1.0)
        assert [len(step.calls) for step in record.steps] == [1, 1]
        assert len(record.goal.split()) < 14


async def test_the_right_query_on_the_wrong_table_fails(client: EnvClient) -> None:
    for seed in range(6):
        task = drawn("tiny_text2sql.highest", seed)
        [other] = [table for table, _ in task.tables if table != task.table]
        wrong = [task.question.gold.replace(task.table, other), task.question.gold.replace("max", "min"), "SELECT 999"]
        for answer in wrong:
            async with client.session(task.name, seed=seed) as session:
                look = ToolCall(id="0", name="sql", arguments={"query": LOOK.format(column=task.column)})
                [looked] = (await session.step([look])).results
                assert (looked.status, looked.text) == (ToolStatus.OK, f"tbl_name\n{task.table}\n(1 row)")
                result = await session.step([ToolCall(id="0", name="finish", arguments={"answer": answer})])
                assert (result.state, result.reward.success) == (EpisodeState.FINISHED, False)
                assert result.reward.parts[EXECUTES] == float(other not in answer)


def test_the_goal_names_no_table_and_only_one_has_the_column() -> None:
    for info, seed in itertools.product(REGISTRY.infos(suite="tiny_text2sql"), range(50)):
        task = drawn(info.name, seed)
        assert [table for table, columns in task.tables if task.column in columns] == [task.table]
        assert not any(table in task.goal for table, _ in task.tables)
        assert len({each.key for each in task.databases}) == 4


def test_splits_ask_about_different_tables_and_people_in_the_same_words() -> None:
    asked = {
        split: {
            (task.column, frozenset(table for table, _ in task.tables))
            for task in (drawn("tiny_text2sql.total", seed, split) for seed in range(300))
        }
        for split in SPLITS
    }
    words = {split: {name for person in people(split) for name in person.name.split()} for split in SPLITS}
    for one, other in itertools.combinations(SPLITS, 2):
        assert not asked[one] & asked[other]
        assert not set(people(one)) & set(people(other))
    assert words["validation"] | words["test"] <= words["train"]


def test_what_is_known_of_some_tells_nothing_of_others() -> None:
    everyone = village()
    assert len({person.name for person in everyone}) == len(everyone) == 144
    for fact, values in FACTS.items():
        for split in SPLITS:
            counts = [sum(getattr(person, fact) == value for person in people(split)) for value in values]
            assert max(counts) <= len(people(split)) // 3, "always saying one word must not pay"


async def test_search_shows_the_person_first_and_pays_as_search_r1(client: EnvClient) -> None:
    task = REGISTRY.draw("tiny_search.animal", seed=3, split="validation")
    assert isinstance(task, TinyQuestion)
    async with client.session(task.name, seed=3, split="validation") as session:
        call = ToolCall(id="0", name="search", arguments={"query": task.person.name})
        [found] = (await session.step([call])).results
        assert found.text.startswith(f"Doc 1(Title: {task.person.name}) ")
        assert found.text.count("Doc ") == 2
        wrong = next(word for word in FACTS["animal"] if word != task.person.animal)
        ending = await session.step([ToolCall(id="0", name="finish", arguments={"answer": wrong})])
        assert (ending.reward.total, ending.reward.parts["support"]) == (0.0, 1.0)
