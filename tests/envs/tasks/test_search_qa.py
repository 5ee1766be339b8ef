"""The suite search_qa: every question is solvable by searching, and what only looks right is wrong."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rlfactory.envs.api.errors import JudgeError, TaskError
from rlfactory.envs.api.types import EpisodeState, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.search_qa import SEARCH_QA_TASKS
from rlfactory.envs.tasks.search_qa.files import question_task, read_questions
from rlfactory.envs.tasks.search_qa.made import Chain, MadeCorpus
from rlfactory.envs.tasks.search_qa.options import QuestionOptions
from rlfactory.envs.tasks.search_qa.question import read_documents
from rlfactory.envs.tasks.search_qa.world import COUNTS, World, made_world, main
from rlfactory.envs.tools.search.index import SearchIndex, build_index
from rlfactory.envs.tools.search.passages import SearchMode, read_passages
from rlfactory.envs.tools.search.retriever import LocalRetriever

REGISTRY = TaskRegistry(SEARCH_QA_TASKS)
SEEDS = range(4)


async def test_the_oracle_solves_every_question_of_every_split_by_searching(client: EnvClient):
    for info in REGISTRY.infos():
        for split in info.splits:
            for seed in SEEDS:
                record = await play(client, info.name, seed=seed, split=split, registry=REGISTRY)
                assert record.stuck == ""
                assert record.reward.success, f"{info.name} {split} {seed}: {record.goal}"
                assert record.reward.total == 1.0
                assert record.reward.parts["support"] == record.reward.parts["format"] == 1.0
                assert len(record.steps) <= 5


async def test_answers_that_only_look_right_fail(client: EnvClient):
    task = REGISTRY.draw("search_qa.setting_currency", seed=3, split="train")
    assert isinstance(task, Chain)
    gold = task.golds[0]
    wrong = [*task.support, gold[:-1], f"{gold} or not", "", f"not {gold}"]
    for answer in wrong:
        async with client.session(task.name, seed=3, split="train") as session:
            call = ToolCall(id="0", name="finish", arguments={"answer": answer} if answer else {})
            result = await session.step([call])
            assert result.state is EpisodeState.FINISHED
            assert not result.reward.success
            assert result.reward.total == 0.0
            assert result.reward.parts["support"] == 0


async def test_bad_form_costs_a_little(client: EnvClient):
    task = REGISTRY.draw("search_qa.birthplace", seed=1, split="train")
    assert isinstance(task, Chain)
    gold = task.golds[0]
    async with client.session("search_qa.birthplace", seed=1, split="train") as session:
        refused = await session.step([ToolCall(id="0", name="search", arguments={"words": "x"})])
        assert "unknown argument 'words'" in refused.results[0].text
        await session.step([])  # a malformed message is a turn without a call
        result = await session.step([ToolCall(id="0", name="finish", arguments={"answer": gold.upper()})])
        assert result.reward.success
        assert result.reward.total == 0.8
        assert result.reward.parts["format"] == pytest.approx(1 / 3)


def test_splits_ask_about_different_things_and_differ_in_template():
    for task in SEARCH_QA_TASKS:
        pools = {split: {thing.name for thing in task.things(split)} for split in ("train", "validation", "test")}
        assert not pools["train"] & pools["test"]
        assert not pools["validation"] & (pools["train"] | pools["test"])
    assert {task.name for task in SEARCH_QA_TASKS if task.splits == ("test",)} == {
        "search_qa.office_sea",
        "search_qa.teacher_birthplace",
    }


def test_the_world_is_the_same_every_time_and_can_be_written(tmp_path: Path):
    assert main([str(tmp_path / "corpus.jsonl")]) == 0
    passages = list(read_passages(tmp_path / "corpus.jsonl"))
    assert passages == made_world().passages()
    assert len(passages) == len({passage.title for passage in passages}) == sum(COUNTS.values())
    again = World(random.Random("search_qa world 1"))
    assert again.passages() == passages


async def test_three_passages_of_a_name_hold_the_one_it_names():
    corpus = MadeCorpus()
    names = [thing.name for things in made_world().things.values() for thing in things]
    found = await corpus.retriever.retrieve(names, top_k=3, timeout_s=30)
    recalled = sum(name in [hit.passage.title for hit in hits] for name, hits in zip(names, found, strict=True))
    assert recalled == len(names)
    await corpus.close()


QUESTIONS = [
    {"id": "1", "question": "capital of norway", "golden_answers": ["Oslo", "Christiania"], "split": "train"},
    {"_id": "2", "question": "Is it big?", "answer": "yes", "supporting_facts": [["Oslo", 0], ["Oslo", 1]]},
    {"question": "river?", "answer": ["Tagus"], "split": "test"},
]


def test_question_files_of_several_formats_are_read(tmp_path: Path):
    path = tmp_path / "nq.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n\n")
    first, second, third = read_questions(path)
    assert (first.golds, first.split) == (("Oslo", "Christiania"), "train")
    assert (second.golds, second.support) == (("yes",), ("Oslo",))
    assert third.split == "test"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "holds no questions"),
        ("nonsense", ":1: "),
        ("[1]", "a question is"),
        ('{"question": "a"}', "the answers must be"),
        ('{"question": "a", "answer": []}', "the answers must be"),
        ('{"question": "a", "answer": [" "]}', "the answers must be"),
        ('{"question": "a", "answer": "b", "split": "dev"}', "'dev' is none of train"),
    ],
)
def test_a_bad_question_file_is_refused_by_line(tmp_path: Path, line: str, words: str):
    path = tmp_path / "nq.jsonl"
    path.write_text(line)
    with pytest.raises(TaskError, match=words):
        read_questions(path)


async def test_questions_of_a_file_are_played_over_an_index(tmp_path: Path, client_of: Any):
    path = tmp_path / "My NQ.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)))
    index = SearchIndex.in_memory(made_world().passages())
    registry = TaskRegistry([question_task(path, LocalRetriever(index))])
    [info] = registry.infos()
    assert info.name == "search_qa.my_nq"
    async with client_of(tasks=registry) as client:
        record = await play(client, info.name, seed=0, split="test", registry=registry)
        assert record.reward.total == 1.0
        assert "support" not in record.reward.parts


def test_documents_are_read_as_the_tool_writes_them():
    assert read_documents("Doc 1(Title: A) one\nDoc 2(Title: B) two (three)") == [("A", "one"), ("B", "two (three)")]


@pytest.mark.parametrize(("model", "total"), [("right", 1.0), ("wrong", 0.0), ("prose", None)])
async def test_a_judge_decides_on_answers_in_other_words(
    tmp_path: Path, chat_stub: str, client_of: Any, model: str, total: float | None
):
    path = tmp_path / "nq.jsonl"
    path.write_text(json.dumps(QUESTIONS[0]))
    build_index(world_corpus(tmp_path), tmp_path / "index")
    options = QuestionOptions(questions=path, index=str(tmp_path / "index"), judge=f"{chat_stub}/v1,{model}")
    finish = ToolCall(id="0", name="finish", arguments={"answer": "It is the city of Oslo."})
    async with (
        client_of(tasks=options.registry(), services=options.services()) as client,
        client.session("search_qa.nq", seed=0, split="train") as session,
    ):
        if total is None:
            with pytest.raises(JudgeError, match="no verdict"):
                await session.step([finish])
            return
        result = await session.step([finish])
        assert result.reward.total == result.reward.parts["judged"] == total
        assert result.reward.success is (total == 1.0)


def world_corpus(folder: Path) -> Path:
    assert main([str(folder / "corpus.jsonl")]) == 0
    return folder / "corpus.jsonl"


def test_options_that_cannot_be_used_say_why(tmp_path: Path):
    path = tmp_path / "nq.jsonl"
    path.write_text(json.dumps(QUESTIONS[0]))
    index = tmp_path / "index"
    build_index(world_corpus(tmp_path), index)
    assert QuestionOptions().registry() is None
    for options, words in (
        (QuestionOptions(index="x"), "give --questions, too"),
        (QuestionOptions(questions=tmp_path / "no.jsonl", index="x"), "no questions"),
        (QuestionOptions(questions=path), "needs --search-index"),
        (QuestionOptions(questions=path, index=str(tmp_path)), "holds no index"),
        (QuestionOptions(questions=path, index=str(index), mode=SearchMode.HYBRID), "rlfactory index --dense"),
    ):
        with pytest.raises(TaskError, match=words):
            options.registry()
    with pytest.raises(TaskError, match="URL,MODEL"):
        QuestionOptions(judge="http://127.0.0.1:1/v1").services()
    remote = QuestionOptions(questions=path, index="http://127.0.0.1:1").registry()
    assert remote is not None
    assert remote.get("search_qa.nq").splits == ("train",)
