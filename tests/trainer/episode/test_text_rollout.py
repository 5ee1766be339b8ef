"""The episode loop on tasks without a phone: a model of each text family searches, answers and is paid."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from rlfactory.envs.api.types import EpisodeState, SessionOptions, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.search_qa import SEARCH_QA_TASKS
from rlfactory.envs.tasks.search_qa.made import Chain
from rlfactory.trainer.dialects import Dialect, get_dialect
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.episode.conversation import Reply
from rlfactory.trainer.episode.rollout import Dropped, RolloutConfig, converse, play, session_options
from rlfactory.trainer.episode.session import EpisodeSpec

REGISTRY = TaskRegistry(SEARCH_QA_TASKS)
SPEC = EpisodeSpec(id="0", task="search_qa.birthplace", seed=7, split="train")
SPECIAL = re.compile(r"<\|[a-z_]+\|>|<｜[^｜]+｜>|\[[A-Z_]+\]|</s>")


class Reader:
    """A model that looks the person up, then says the town that the passage names."""

    def __init__(self, dialect: Dialect, person: str, town: str) -> None:
        self.dialect = dialect
        self.person = person
        self.town = town
        self.told: list[str] = []

    async def reply(self, messages: Sequence[Message]) -> Reply:
        self.told += [message.text for message in messages]
        if len(self.told) <= 2:
            call = ToolCall(id="0", name="search", arguments={"query": self.person})
        else:
            said = self.town if self.town in self.told[-1] else "nowhere"
            call = ToolCall(id="0", name="finish", arguments={"status": "success", "answer": said})
        written = self.dialect.render([call], thought="hm")
        return Reply(text=SPECIAL.sub("", written), complete=True, model_text=written)


@pytest.mark.parametrize("name", ["qwen3", "qwen2_5", "llama3", "mistral", "deepseek_v3", "deepseek_v3_1", "gpt_oss"])
async def test_a_model_of_each_family_searches_and_answers(client: EnvClient, name: str) -> None:
    dialect = get_dialect(name)
    task = REGISTRY.draw(SPEC.task, seed=SPEC.seed, split=SPEC.split)
    assert isinstance(task, Chain)
    options = session_options(dialect, SessionOptions())
    reader = Reader(dialect, task.start.name, task.golds[0])
    played = await play(
        SPEC,
        lambda session: converse(session, reader, dialect, generate_timeout_s=60),
        open_session=lambda spec: client.session(spec.task, seed=spec.seed, split=spec.split, options=options),
        config=RolloutConfig(),
    )
    assert not isinstance(played, Dropped), played.failure
    episode, _ = played
    assert episode.state is EpisodeState.FINISHED
    assert (episode.malformed, episode.reward.total, episode.reward.parts["support"]) == (0, 1.0, 1.0)
    assert "search" in reader.told[0]
    assert task.goal in reader.told[1]
    assert "Doc 1(Title:" in reader.told[2]
