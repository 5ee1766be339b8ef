"""Demonstrations without a phone, and of somebody who looks nothing up."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the train extra")

import pyarrow.parquet

from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.tasks.registry import default_registry
from rlfactory.envs.tasks.search_qa.tiny import TINY_SEARCH_TASKS
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.episodes import EpisodeSource
from rlfactory.trainer.run.settings import RolloutSettings
from rlfactory.trainer.run.warm_start import Demonstration, record, taught, with_guesses, write_parquet

pytestmark = pytest.mark.train

DIALECT = get_dialect("qwen3")
NAMES = tuple(task.name for task in TINY_SEARCH_TASKS)


def settings(address: str) -> RolloutSettings:
    return RolloutSettings.from_config(
        {
            "address": address,
            "run_folder": "",
            "dialect": "qwen3",
            "turn_tokens": 24,
            "image": {"format": "png", "quality": 80, "max_pixels": None},
            "record": {"every_train": 0, "every_eval": 0},
            "deadlines": {},
        }
    )


async def play(guesses: float) -> tuple[list[Demonstration], list[Demonstration]]:
    episodes = EpisodeSource(tasks=NAMES, split="train", count=60, first_seed=0).rows()
    async with (
        serving(ServerConfig(drain_s=0.5), tasks=default_registry()) as server,
        EnvClient(server.address) as client,
    ):
        asked = settings(server.address)
        solved = await record(client, episodes, settings=asked, dialect=DIALECT)
        return solved, await taught(client, solved, {"guesses": guesses}, settings=asked, dialect=DIALECT)


async def test_who_guesses_searches_nothing_and_mostly_fails(tmp_path: Path) -> None:
    solved, shown = await play(0.5)
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
    solved, shown = await play(0.0)
    assert [each.calls for each in shown] == [each.calls for each in solved]
    assert all(each.success for each in shown)
    with pytest.raises(ValueError, match=r"guesses must be within 0\.\.1"):
        await with_guesses(None, solved, share=1.5, settings=settings(""), dialect=DIALECT)  # type: ignore[arg-type]
