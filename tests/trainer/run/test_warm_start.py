"""Demonstrations are real episodes in the words of the model; the sloppy and the guessing fail as they should."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the train extra")

import pyarrow.parquet

from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import ImageFormat, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.tasks.search_qa.tiny import TINY_SEARCH_TASKS
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.episodes import EpisodeSource
from rlfactory.trainer.run.settings import RolloutSettings
from rlfactory.trainer.run.warm_start import IMAGE, Demonstration, record, taught, write_parquet, written

pytestmark = pytest.mark.train

DIALECT = get_dialect("qwen3_vl")
NAMES = tuple(task.name for task in TINY_SEARCH_TASKS)


def settings(address: str, dialect: str, max_pixels: int | None) -> RolloutSettings:
    return RolloutSettings.from_config(
        {
            "address": address,
            "run_folder": "",
            "dialect": dialect,
            "turn_tokens": 24,
            "image": {"format": ImageFormat.PNG, "quality": 80, "max_pixels": max_pixels},
            "record": {"every_train": 0, "every_eval": 0},
            "deadlines": {},
        }
    )


async def play(lesson: dict[str, float], count: int = 40) -> tuple[list[Demonstration], list[Demonstration]]:
    """Return what the oracles did and what the lesson shows: of phones where somebody is sloppy, else of searches."""
    phones = "sloppiness" in lesson
    dialect = get_dialect("qwen3_vl" if phones else "qwen3")
    tasks = ("tiny.wifi", "tiny.dialog") if phones else NAMES
    episodes = EpisodeSource(tasks=tasks, split="train", count=count, first_seed=0).rows()
    source = DirectSource(PhoneConfig(width_px=480, height_px=800)) if phones else None
    pool = PoolConfig(phones=4) if phones else None
    async with (
        serving(ServerConfig(drain_s=0.5), phones=source, pool=pool) as server,
        EnvClient(server.address) as client,
    ):
        asked = settings(server.address, dialect.name, 24576 if phones else None)
        solved = await record(client, episodes, settings=asked, dialect=dialect)
        return solved, await taught(client, solved, lesson, settings=asked, dialect=dialect)


async def test_a_demonstration_is_the_conversation_a_model_would_have_held(tmp_path: Path) -> None:
    solved, _ = await play({"sloppiness": 0.0})
    assert all(each.success for each in solved)
    for each in solved:
        written = [message for message in each.messages if message.role == "assistant"]
        assert [DIALECT.parse(message.text).calls for message in written] == list(each.calls)
        assert all(message.image for message in each.messages if message.role == "user")
        assert each.messages[1].text == f"The user query: {each.goal}"
        assert each.messages[-1].role == "assistant"
    write_parquet(tmp_path / "d.parquet", solved)
    rows = pyarrow.parquet.read_table(tmp_path / "d.parquet").to_pylist()
    assert len(rows) == len(solved)
    for row, each in zip(rows, solved, strict=True):
        shown = [message.image.data for message in each.messages if message.image]
        assert [image["bytes"] for image in row["images"]] == shown
        assert sum(message["content"].count(IMAGE) for message in row["messages"]) == len(shown)


async def test_who_is_sloppy_acts_where_nothing_was_to_be_done_and_fails() -> None:
    solved, shown = await play({"sloppiness": 0.5})
    assert sorted(each.episode for each in shown) == sorted(each.episode for each in solved)
    before = {each.episode: each for each in solved}
    sloppy = [each for each in shown if not each.success]
    idle = [each for each in solved if len(each.calls) == 1]
    assert idle and sloppy
    for each in sloppy:
        oracle = before[each.episode]
        assert each.calls[-1] == oracle.calls[-1]
        assert each.calls[:-2] == oracle.calls[:-1]
    assert all(each.calls == before[each.episode].calls for each in shown if each.success)
    with pytest.raises(ValueError, match=r"within 0\.\.1"):
        await play({"sloppiness": 1.5}, count=2)


async def test_who_guesses_searches_nothing_and_mostly_fails(tmp_path: Path) -> None:
    solved, shown = await play({"guesses": 0.5}, count=60)
    assert sorted(each.episode for each in shown) == sorted(each.episode for each in solved)
    guesses = [each for each in shown if len(each.calls) == 1]
    assert len(guesses) == 30
    assert all(sum(each.task == name for each in guesses) == 10 for name in NAMES)
    assert sum(each.success for each in guesses) < 10
    assert all(each.success for each in shown if len(each.calls) == 2)
    endings = [each.calls[-1] for each in solved]
    assert all(each.calls[-1] in endings for each in guesses)
    write_parquet(tmp_path / "d.parquet", shown)
    table = pyarrow.parquet.read_table(tmp_path / "d.parquet")
    assert table.column_names == ["messages"], "verl takes a column of images for a model that sees"


async def test_a_lesson_without_guesses_shows_the_solved_episodes() -> None:
    solved, shown = await play({"guesses": 0.0}, count=60)
    assert [each.calls for each in shown] == [each.calls for each in solved]
    assert all(each.success for each in shown)
    with pytest.raises(ValueError, match=r"guesses must be within 0\.\.1"):
        await play({"guesses": 1.5}, count=2)


def test_what_a_dialect_cannot_say_is_told_with_the_task_and_what_to_do() -> None:
    opened = ToolCall(id="0", name="phone", arguments={"action": "open_app", "app": "Contacts"})
    assert "Contacts" in written(get_dialect("qwen2_5_vl"), [opened], "mine.star")
    with pytest.raises(TaskError, match=r"oracle of mine\.star .*qwen3_vl .*'Contacts'.*rlfactory\.dialect"):
        written(DIALECT, [opened], "mine.star")
