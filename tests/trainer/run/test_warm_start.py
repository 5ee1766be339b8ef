"""Demonstrations are real episodes, in the words of the model; the sloppy ones fail as they should."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the train extra")

import pyarrow.parquet

from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.types import ImageFormat
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.episodes import EpisodeSource
from rlfactory.trainer.episode.rollout import RolloutConfig
from rlfactory.trainer.run.settings import RolloutSettings
from rlfactory.trainer.run.warm_start import IMAGE, Demonstration, record, with_bad_habits, write_parquet

pytestmark = pytest.mark.train

DIALECT = get_dialect("qwen3_vl")


def settings(address: str) -> RolloutSettings:
    return RolloutSettings.from_config(
        {
            "address": address,
            "run_folder": "",
            "dialect": "qwen3_vl",
            "turn_tokens": 24,
            "image": {"format": ImageFormat.PNG, "quality": 80, "max_pixels": 24576},
            "record": {"every_train": 0, "every_eval": 0},
            "deadlines": {"step_timeout_s": RolloutConfig().step_timeout_s},
        }
    )


async def play(share: float, count: int = 40) -> tuple[list[Demonstration], list[Demonstration]]:
    source = DirectSource(PhoneConfig(width_px=480, height_px=800))
    episodes = EpisodeSource(tasks=("tiny.wifi", "tiny.dialog"), split="train", count=count, first_seed=0).rows()
    async with (
        serving(ServerConfig(), phones=source, pool=PoolConfig(phones=4)) as server,
        EnvClient(server.address) as client,
    ):
        asked = settings(server.address)
        solved = await record(client, episodes, settings=asked, dialect=DIALECT)
        return solved, await with_bad_habits(client, solved, share=share, settings=asked, dialect=DIALECT)


async def test_a_demonstration_is_the_conversation_a_model_would_have_held(tmp_path: Path) -> None:
    solved, _ = await play(0.0)
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
    solved, shown = await play(0.5)
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
        await play(1.5, count=2)
